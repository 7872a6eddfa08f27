// Host memory failures in words: what happened, by the reporting component and the form of its message, and the
// decisive numbers.
#pragma once

#include <string>
#include <string_view>

#include "model/event.h"

namespace oomdoctor {

/// For example "Slurm ended the job at its memory limit". The message format overrides the agent, because it is more
/// exact.
std::string host_title(std::string_view agent, std::string_view message_format);

/// For example "30.18 GiB in python, at the limit of 32.00 GiB"; "" if the log prints no numbers, or a request.
std::string host_numbers(const Oom& oom);

}  // namespace oomdoctor
