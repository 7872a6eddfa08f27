// The form or the regex of a user's format, checked before anything is read by it: an Error shows the place inside of
// it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "parse/parser.h"
#include "text/toml_table.h"

namespace oomdoctor {

/// Throws Error where the notation does not parse, names no number or an unknown one, or may cost more than a line.
void check_notation(const TomlTable& table, const LineFormat& gauge);

/// Throws Error where the regex does not parse, has an unknown number, or may cost more than a line.
void check_regex(const TomlTable& table, std::string_view regex);

/// Help for a word that is none of the names: the nearest, or all of them.
std::string nearest_or_all(std::string_view word, std::span<const std::string> names);

}  // namespace oomdoctor
