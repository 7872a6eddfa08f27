// Reads rule files with toml++ into plain trees, and tables of them key by key. An expression's error is shown in the
// file's own line where the expression stands on it.
#include "judge/rule_table.h"

#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "base/edit_distance.h"

namespace oomdoctor {

namespace {

std::string_view line_of(std::string_view text, std::size_t number) {
  for (; number > 1; --number) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find('\n'));
}

RuleNode placed(const toml::source_region& source) {
  RuleNode node;
  node.line = std::max<std::size_t>(source.begin.line, 1);
  node.column = std::max<std::size_t>(source.begin.column, 1);
  return node;
}

// toml++ bounds the nesting of what it reads, so this recursion is bounded too.
RuleNode copied(const toml::node& from) {
  RuleNode node = placed(from.source());
  if (const auto* text = from.as_string())
    node.value = text->get();
  else if (const auto* truth = from.as_boolean())
    node.value = truth->get();
  else if (from.is_number())
    node.value = from.value_or(0.0);
  else if (const auto* array = from.as_array()) {
    RuleNode::List list;
    for (const auto& element : *array) list.push_back(copied(element));
    node.value = std::move(list);
  } else if (const auto* table = from.as_table()) {
    RuleNode::Table entries;
    for (const auto& [key, value] : *table) {
      RuleNode name = placed(key.source());
      name.value = std::string(key.str());
      entries.emplace_back(std::move(name), copied(value));
    }
    node.value = std::move(entries);
  }
  return node;
}

std::string quoted(std::string_view key) { return '"' + std::string(key) + '"'; }

}  // namespace

void RuleText::fail(const RuleNode& where, const std::string& message, const std::string& help, std::string_view inside,
                    std::size_t column) const {
  const std::string_view line = line_of(text, where.line);
  const std::size_t start = inside.empty() ? std::string_view::npos : line.find(inside);
  std::string excerpt = start != std::string_view::npos ? caret_excerpt(line, start + column)
                        : !inside.empty()               ? caret_excerpt(inside, column)
                                                        : caret_excerpt(line, where.column - 1);
  throw Error(std::string(path) + ':' + std::to_string(where.line) + ": " + message, std::move(excerpt), help);
}

RuleNode read_rule_tree(const RuleText& file) {
  try {
    return copied(toml::parse(file.text));
  } catch (const toml::parse_error& error) {
    file.fail(placed(error.source()), std::string(error.description()), {});
  }
}

const RuleNode* RuleTable::get(std::string_view key) const {
  for (const auto& [name, value] : std::get<RuleNode::Table>(node_->value))
    if (std::get<std::string>(name.value) == key) return &value;
  return nullptr;
}

const RuleNode* RuleTable::find(std::string_view key) {
  asked_.emplace_back(key);
  return get(key);
}

const RuleNode& RuleTable::need(std::string_view key) {
  if (const RuleNode* node = find(key)) return *node;
  file_->fail(*node_, "the key " + quoted(key) + " is missing", {});
}

void RuleTable::fail(std::string_view key, const std::string& message, const std::string& help) const {
  const RuleNode* node = get(key);
  file_->fail(node ? *node : *node_, message, help);
}

void RuleTable::finish() const {
  for (const auto& [key, node] : std::get<RuleNode::Table>(node_->value)) {
    const auto& name = std::get<std::string>(key.value);
    if (std::find(asked_.begin(), asked_.end(), name) != asked_.end()) continue;
    const std::string nearest = did_you_mean(name, asked_);
    file_->fail(key, "unknown key " + quoted(name),
                nearest.empty() ? "rules/README.md lists all keys" : "did you mean " + nearest + "?");
  }
}

const std::string& RuleTable::text_of(const RuleNode& node, std::string_view key) const {
  if (const auto* value = std::get_if<std::string>(&node.value)) return *value;
  file_->fail(node, quoted(key) + " must be a text", {});
}

std::string RuleTable::need_text(std::string_view key) { return text_of(need(key), key); }

std::string RuleTable::text(std::string_view key) {
  const RuleNode* node = find(key);
  return node ? text_of(*node, key) : std::string{};
}

double RuleTable::need_number(std::string_view key, double low, double high) {
  need(key);
  return number(key, 0, low, high);
}

double RuleTable::number(std::string_view key, double fallback, double low, double high) {
  const RuleNode* node = find(key);
  if (!node) return fallback;
  const auto* value = std::get_if<double>(&node->value);
  if (!value || !std::isfinite(*value)) fail(key, quoted(key) + " must be a number");
  if (*value < low || *value > high) {
    // The bounds are short by nature (0, 1, 30): four digits print them.
    std::array<char, 64> range{};
    std::snprintf(range.data(), range.size(), "it must lie between %.4g and %.4g", low, high);
    fail(key, quoted(key) + " is out of its range", range.data());
  }
  return *value;
}

bool RuleTable::truth(std::string_view key) {
  const RuleNode* node = find(key);
  if (!node) return false;
  const bool* value = std::get_if<bool>(&node->value);
  if (!value) fail(key, quoted(key) + " must be true or false");
  return *value;
}

std::vector<std::string> RuleTable::texts(std::string_view key) {
  const RuleNode* node = find(key);
  if (!node) return {};
  const auto* list = std::get_if<RuleNode::List>(&node->value);
  if (!list) fail(key, quoted(key) + " must be a list of texts", "write " + std::string(key) + " = [\"…\"]");
  std::vector<std::string> texts;
  for (const auto& element : *list) texts.push_back(text_of(element, key));
  return texts;
}

template <typename Parse>
auto RuleTable::parsed(const RuleNode& node, std::string_view key, Parse parse) const {
  const std::string& text = text_of(node, key);
  try {
    return parse(text);
  } catch (const ExprError& error) {
    file_->fail(node, error.what(), error.help(), text, error.column());
  } catch (const Error& error) {
    file_->fail(node, error.what(), error.help());
  }
}

Expr RuleTable::need_condition(std::string_view key) {
  need(key);
  return *condition(key);
}

std::optional<Expr> RuleTable::condition(std::string_view key) {
  const RuleNode* node = find(key);
  if (!node) return std::nullopt;
  Expr expr = parsed(*node, key, Expr::parse);
  if (expr.type() != Expr::Type::truth) fail(key, quoted(key) + " must be a condition, not a number or a text");
  return expr;
}

std::optional<Expr> RuleTable::size(std::string_view key) {
  const RuleNode* node = find(key);
  if (!node) return std::nullopt;
  Expr expr = parsed(*node, key, Expr::parse);
  if (expr.type() != Expr::Type::number || expr.dimension() != 1)
    fail(key, quoted(key) + " must be a size in bytes", "write sizes with a unit: 64 MiB");
  return expr;
}

Phrase RuleTable::need_phrase(std::string_view key) {
  need(key);
  return phrase(key);
}

Phrase RuleTable::phrase(std::string_view key) {
  const RuleNode* node = find(key);
  return node ? parsed(*node, key, Phrase::parse) : Phrase{};
}

std::vector<RuleTable> RuleTable::tables(std::string_view key) {
  const RuleNode* node = find(key);
  if (!node) return {};
  const auto* list = std::get_if<RuleNode::List>(&node->value);
  const auto is_table = [](const RuleNode& element) { return std::holds_alternative<RuleNode::Table>(element.value); };
  if (!list || !std::all_of(list->begin(), list->end(), is_table))
    fail(key, quoted(key) + " must be a list of tables", "write [[" + std::string(key) + "]]");
  std::vector<RuleTable> tables;
  for (const auto& element : *list) tables.emplace_back(*file_, element);
  return tables;
}

std::optional<RuleTable> RuleTable::table(std::string_view key) {
  const RuleNode* node = find(key);
  if (!node) return std::nullopt;
  if (!std::holds_alternative<RuleNode::Table>(node->value))
    fail(key, quoted(key) + " must be a table", "write [" + std::string(key) + "]");
  return RuleTable(*file_, *node);
}

}  // namespace oomdoctor
