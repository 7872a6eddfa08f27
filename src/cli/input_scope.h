// Which files the words of another program may name: see InputScope in cli/options.h.
#pragma once

#include <string>

#include "cli/options.h"

namespace oomdoctor::cli {

/// Why the scope forbids to read the path; "" if it does not. It resolves links and "..", and opens nothing.
std::string find_refusal(const std::string& path, const InputScope& scope);

}  // namespace oomdoctor::cli
