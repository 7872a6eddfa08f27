// An error in an expression is shown in the line of the file that contains it.
#include "judge/rule_table.h"

#include "base/error.h"

namespace oomdoctor {

namespace {

std::string quoted(std::string_view key) { return '"' + std::string(key) + '"'; }

}  // namespace

template <typename Parse>
auto RuleTable::parsed(const TomlNode& node, std::string_view key, Parse parse) const {
  const std::string& text = read_text(node, key);
  try {
    return parse(text);
  } catch (const ExprError& error) {
    file().fail(node, error.what(), error.help(), text, error.column());
  } catch (const Error& error) {
    file().fail(node, error.what(), error.help());
  }
}

Expr RuleTable::expression(const TomlNode& node, std::string_view key) const {
  return parsed(node, key, [&](const std::string& text) { return Expr::parse(text, *conditions_); });
}

Expr RuleTable::need_condition(std::string_view key) {
  need(key);
  return *condition(key);
}

std::optional<Expr> RuleTable::condition(std::string_view key) {
  const TomlNode* node = find(key);
  if (!node) return std::nullopt;
  Expr expr = expression(*node, key);
  if (expr.type() != Expr::Type::truth) fail(key, quoted(key) + " must be a condition, not a number or a text");
  return expr;
}

std::optional<Expr> RuleTable::size(std::string_view key) {
  const TomlNode* node = find(key);
  if (!node) return std::nullopt;
  Expr expr = expression(*node, key);
  if (expr.type() != Expr::Type::number || expr.dimension() != 1)
    fail(key, quoted(key) + " must be a size in bytes", "write sizes with a unit: 64 MiB");
  return expr;
}

Phrase RuleTable::need_phrase(std::string_view key) {
  need(key);
  return phrase(key);
}

Phrase RuleTable::phrase(std::string_view key) {
  const TomlNode* node = find(key);
  return node ? parsed(*node, key, Phrase::parse) : Phrase{};
}

std::vector<RuleTable> RuleTable::tables(std::string_view key) {
  std::vector<RuleTable> tables;
  for (TomlTable& table : TomlTable::tables(key)) tables.emplace_back(std::move(table), *conditions_);
  return tables;
}

std::optional<RuleTable> RuleTable::table(std::string_view key) {
  auto table = TomlTable::table(key);
  if (!table) return std::nullopt;
  return RuleTable(std::move(*table), *conditions_);
}

}  // namespace oomdoctor
