// A pulse as one line of JSON, without secrets, and back.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "report/pulse.h"

namespace oomdoctor::cli {

/// An object without a line end, in ASCII. The values are free of secrets and control characters before they become
/// JSON: a change of the finished text could break it. `time` is the first value if it is not empty.
std::string pulse_json(const Pulse& pulse, const std::string& time = "");
/// The pulse of such an object; nullopt for any other text.
std::optional<Pulse> read_pulse(std::string_view json);

}  // namespace oomdoctor::cli
