// One table of a rule file: a TOML table with conditions, formulas and phrases. A parse error is an Error that shows
// its position.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "judge/expr.h"
#include "judge/phrase.h"
#include "text/toml_table.h"

namespace oomdoctor {

/// Reads typed keys. Each getter returns an empty value for a missing key, or throws Error if its name begins with
/// need_.
class RuleTable : public TomlTable {
 public:
  /// `conditions` must outlive this object.
  RuleTable(TomlTable table, const NamedConditions& conditions)
      : TomlTable(std::move(table)), conditions_(&conditions) {}

  Expr need_condition(std::string_view key);
  std::optional<Expr> condition(std::string_view key);
  /// A formula whose value is a size in bytes.
  std::optional<Expr> size(std::string_view key);
  Phrase need_phrase(std::string_view key);
  Phrase phrase(std::string_view key);
  std::vector<RuleTable> tables(std::string_view key);
  std::optional<RuleTable> table(std::string_view key);

  /// Throws Error for a key that no getter asked for. Call it last.
  void finish() const { TomlTable::finish("rules/README.md lists all keys"); }

 private:
  template <typename Parse>
  auto parsed(const TomlNode& node, std::string_view key, Parse parse) const;
  Expr expression(const TomlNode& node, std::string_view key) const;

  const NamedConditions* conditions_;
};

}  // namespace oomdoctor
