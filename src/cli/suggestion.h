// The help of an error about a name that does not exist.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace oomdoctor::cli {

/// For example "did you mean 'x'?"; "" if no candidate is similar.
std::string suggestion(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace oomdoctor::cli
