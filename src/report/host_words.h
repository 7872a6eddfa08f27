// Host memory in words: what happened, by who reports it and in which form, and the numbers that decide.
#pragma once

#include <string>
#include <string_view>

#include "model/event.h"

namespace oomdoctor {

/// "Slurm ended the job at its memory limit".
std::string host_title(std::string_view agent, std::string_view message_format);

/// "30.18 GiB in python, at the limit of 32.00 GiB"; "" where nothing was printed.
std::string host_numbers(const Oom& oom);

}  // namespace oomdoctor
