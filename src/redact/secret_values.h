// Finds values that are secret by their name: HF_TOKEN=…, "api_key": "…", os.environ["X_KEY"] = "…", --password ….
#pragma once

#include <optional>
#include <string_view>

#include "redact/secrets.h"

namespace oomdoctor {

/// The value of the name that begins at byte `at`, if it is a secret. It never contains what surrounds a value:
/// quotation marks, brackets, escaped line ends. `in_string`: the name is inside a text between quotation marks (").
std::optional<Secret> secret_value(std::string_view text, std::size_t at, bool in_string);

/// The text from `begin` up to `end`, or up to an earlier byte that belongs to the text around it: a quotation mark (")
/// that ends the string, a bracket that closes something. `has_escapes`: escapes are no such bytes.
std::string_view within_structure(std::string_view text, std::size_t begin, std::size_t end, bool in_string,
                                  bool has_escapes);

/// Whether byte `at` is inside a text between quotation marks ("), if byte `from` is `in_string`.
bool is_in_string(std::string_view text, std::size_t from, std::size_t at, bool in_string);

/// Whether the byte `at` of a text between quotation marks (") ends it, as JSON goes on after it.
bool ends_string(std::string_view text, std::size_t at);

/// Whether byte `at` begins a name.
bool begins_name(std::string_view text, std::size_t at);

}  // namespace oomdoctor
