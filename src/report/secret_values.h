// Values that are secret because their name says so: HF_TOKEN=…, "api_key": "…", --password ….
#pragma once

#include <optional>
#include <string_view>

#include "report/secrets.h"

namespace oomdoctor {

/// The value of the name that begins at `at`, where it is a secret. A number, a placeholder and a piece of code is
/// none.
std::optional<Secret> secret_value(std::string_view text, std::size_t at);

}  // namespace oomdoctor
