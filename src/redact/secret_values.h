// Finds values that are secret by their name: HF_TOKEN=…, "api_key": "…", --password ….
#pragma once

#include <optional>
#include <string_view>

#include "redact/secrets.h"

namespace oomdoctor {

/// The value of the name that begins at byte `at`, if it is a secret. Numbers, placeholders and source code are none.
std::optional<Secret> secret_value(std::string_view text, std::size_t at);

}  // namespace oomdoctor
