// One table of a rule file: a TOML table whose texts may be conditions, formulas and phrases. What does not parse is an
// Error that shows the place.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "judge/expr.h"
#include "judge/phrase.h"
#include "text/toml_table.h"

namespace oomdoctor {

class RuleTable : public TomlTable {
 public:
  explicit RuleTable(TomlTable table) : TomlTable(std::move(table)) {}

  Expr need_condition(std::string_view key);
  std::optional<Expr> condition(std::string_view key);
  std::optional<Expr> size(std::string_view key);
  Phrase need_phrase(std::string_view key);
  Phrase phrase(std::string_view key);
  std::vector<RuleTable> tables(std::string_view key);
  std::optional<RuleTable> table(std::string_view key);

  /// Call last: a key that nobody asked for is an Error.
  void finish() const { TomlTable::finish("rules/README.md lists all keys"); }

 private:
  template <typename Parse>
  auto parsed(const TomlNode& node, std::string_view key, Parse parse) const;
};

}  // namespace oomdoctor
