// Checks the form or regex of a user's format before anything is matched with it. An Error shows the position within
// it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "read/parser.h"
#include "text/toml_table.h"

namespace oomdoctor {

/// Throws Error if the notation does not parse, contains no number or an unknown one, or may cost too much on a line.
void check_notation(const TomlTable& table, const LineFormat& gauge);

/// Throws Error if the regex does not parse, has an unknown number, or may cost too much on a line.
void check_regex(const TomlTable& table, std::string_view regex);

/// Help for an unknown word: the most similar name, or all names.
std::string nearest_or_all(std::string_view word, std::span<const std::string> names);

}  // namespace oomdoctor
