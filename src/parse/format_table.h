// One [[format]] of a TOML file as a LineFormat, for the user's files and for the shipped ones in parsers/, and one
// [[setting]] of a shipped file. Each must read its own example; an error shows its position in the file.
#pragma once

#include <deque>
#include <string>
#include <string_view>

#include "parse/setting_format.h"
#include "text/toml_table.h"

namespace oomdoctor {

/// The texts that the formats of a file refer to. They never move.
class TextStore {
 public:
  std::string_view keep(std::string text) { return texts_.emplace_back(std::move(text)); }

 private:
  std::deque<std::string> texts_;
};

/// Throws Error. `source` is empty if the table has none.
LineFormat read_format(TomlTable& table, TextStore& texts);
/// Throws Error. The format of a key is called "family/key".
SettingFormat read_setting(TomlTable& table, std::string_view family, TextStore& texts);

}  // namespace oomdoctor
