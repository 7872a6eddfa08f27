// The tables of a TOML file in parsers/ or of a user's file, checked: [[format]], [[setting]], [[message]], [[table]].
// Each must read its own example; an error shows its position in the file.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "read/oom_template.h"
#include "read/setting_format.h"
#include "text/toml_table.h"

namespace oomdoctor {

/// The texts that the formats of a file refer to. They never move.
class TextStore {
 public:
  std::string_view keep(std::string text) { return texts_.emplace_back(std::move(text)); }

 private:
  std::deque<std::string> texts_;
};

struct Program;

/// A pattern whose functions are still names: those of functions in the family's .cc, or "oomdoctor::name" for one of
/// read/freeform.h. A name is empty if there is no such function.
struct MessageFormat {
  Pattern pattern;
  std::vector<std::string> more_anchors;
  std::optional<OomTemplate> oom;
  std::string emit, accepts, accepts_parsed, may_match;
};

/// A table whose functions are still names. `row` reads a row that does not depend on others, `rows` makes a reader.
struct TableFormat {
  Table table;
  std::string header, sniff, row, rows;
};

inline constexpr std::size_t shortest_anchor = 4;  ///< bytes; a shorter text is on too many lines

/// Whether a format must say what its example gives.
enum class Expect { optional, needed };

/// What the key "unit" may name, and what the keys "kind" and "current" may be.
std::vector<std::string_view> list_units();
std::vector<std::string_view> list_kinds();

/// Throws Error. `source` is empty if the table has none.
LineFormat read_format(TomlTable& table, TextStore& texts, Expect need = Expect::optional);
/// Throws Error. The format of a key is called "family/key".
SettingFormat read_setting(TomlTable& table, std::string_view family, TextStore& texts, Expect need = Expect::optional);
/// A word of a program: the setting "engine" or "program" with its name. Throws Error.
SettingFormat read_word(TomlTable& table, std::string_view family, const Program& program, TextStore& texts);
/// Throws Error.
MessageFormat read_message(TomlTable& table, TextStore& texts);
/// Throws Error.
TableFormat read_table(TomlTable& table, TextStore& texts);

}  // namespace oomdoctor
