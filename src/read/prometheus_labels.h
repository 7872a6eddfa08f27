// The labels of a sample in Prometheus's text format: gpu="0",Hostname="n1".
#pragma once

#include <string_view>

namespace oomdoctor {

/// The value of `name="…"` among the labels between the braces; empty if it is missing.
std::string_view label_value(std::string_view labels, std::string_view name);

}  // namespace oomdoctor
