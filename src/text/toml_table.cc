// Reads files with toml++ into plain trees, and tables of them key by key. An error inside a text is shown in the
// file's own line where the text stands on it.
#include "text/toml_table.h"

// toml++ takes what follows the bracket of a header for a key without a look: "[*" ends in an assertion, and in a build
// without assertions in undefined behaviour. So its assertions are kept in this file, and throw.
namespace oomdoctor {
[[noreturn]] void fail_toml_assertion();
}
#undef NDEBUG
#define TOML_ASSERT(expr) (static_cast<bool>(expr) ? static_cast<void>(0) : oomdoctor::fail_toml_assertion())
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdio>

#include "base/edit_distance.h"
#include "base/error.h"

namespace oomdoctor {

namespace {

struct BrokenHeader {};

std::string_view line_of(std::string_view text, std::size_t number) {
  for (; number > 1; --number) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find('\n'));
}

TomlNode placed(const toml::source_region& source) {
  TomlNode node;
  node.line = std::max<std::size_t>(source.begin.line, 1);
  node.column = std::max<std::size_t>(source.begin.column, 1);
  return node;
}

// toml++ bounds the nesting of what it reads, so this recursion is bounded too.
TomlNode copied(const toml::node& from) {
  TomlNode node = placed(from.source());
  if (const auto* text = from.as_string())
    node.value = text->get();
  else if (const auto* truth = from.as_boolean())
    node.value = truth->get();
  else if (from.is_number())
    node.value = from.value_or(0.0);
  else if (const auto* array = from.as_array()) {
    TomlNode::List list;
    for (const auto& element : *array) list.push_back(copied(element));
    node.value = std::move(list);
  } else if (const auto* table = from.as_table()) {
    TomlNode::Table entries;
    for (const auto& [key, value] : *table) {
      TomlNode name = placed(key.source());
      name.value = std::string(key.str());
      entries.emplace_back(std::move(name), copied(value));
    }
    node.value = std::move(entries);
  }
  return node;
}

/// The first header whose name begins with what no name begins with; the first line when there is none.
TomlNode broken_header(std::string_view text) {
  TomlNode place;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    const std::size_t open = line.find_first_not_of(" \t");
    const std::size_t name = line.find_first_not_of("[ \t", open);
    const bool header = open != std::string_view::npos && line[open] == '[' && name != std::string_view::npos;
    if (header && std::isalnum(static_cast<unsigned char>(line[name])) == 0 &&
        std::string_view("_-\"']").find(line[name]) == std::string_view::npos) {
      place.line = number;
      place.column = name + 1;
      return place;
    }
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return place;
}

/// Where text beyond ASCII stands outside of strings and comments. No TOML has it there, and toml++ may run into
/// undefined behaviour when it asks whether such a character is a blank.
std::optional<TomlNode> stray_character(std::string_view text) {
  static constexpr std::string_view mark = "\xEF\xBB\xBF";
  std::size_t at = text.starts_with(mark) ? mark.size() : 0, line = 1, line_start = 0;
  std::string_view end;  // of the string or comment that `at` is in; empty outside
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '\n') {
      ++line, line_start = at + 1;
      if (end.size() == 1) end = {};
    } else if (!end.empty()) {
      if (c == '\\' && end.front() == '"' && text.substr(at + 1, 1) != "\n")
        ++at;
      else if (text.substr(at).starts_with(end))
        at += end.size() - 1, end = {};
    } else if (c == '#') {
      end = "\n";
    } else if (c == '"' || c == '\'') {
      end = c == '"' ? "\"\"\"" : "\'\'\'";
      if (text.substr(at).starts_with(end))
        at += 2;
      else
        end.remove_suffix(2);
    } else if (static_cast<unsigned char>(c) >= 0x80) {
      TomlNode place;
      place.line = line;
      place.column = at - line_start + 1;
      return place;
    }
  }
  return std::nullopt;
}

std::string quoted(std::string_view key) { return '"' + std::string(key) + '"'; }

}  // namespace

void fail_toml_assertion() { throw BrokenHeader{}; }

void TomlText::fail(const TomlNode& where, const std::string& message, const std::string& help, std::string_view inside,
                    std::size_t column) const {
  const std::string_view line = line_of(text, where.line);
  const std::size_t start = inside.empty() ? std::string_view::npos : line.find(inside);
  std::string excerpt = start != std::string_view::npos ? caret_excerpt(line, start + column)
                        : !inside.empty()               ? caret_excerpt(inside, column)
                                                        : caret_excerpt(line, where.column - 1);
  throw Error(std::string(path) + ':' + std::to_string(where.line) + ": " + message, std::move(excerpt), help);
}

TomlNode read_toml(const TomlText& file) {
  if (const auto stray = stray_character(file.text))
    file.fail(*stray, "only texts in quotation marks and comments hold letters beyond ASCII", {});
  try {
    return copied(toml::parse(file.text));
  } catch (const toml::parse_error& error) {
    file.fail(placed(error.source()), std::string(error.description()), {});
  } catch (const BrokenHeader&) {
    file.fail(broken_header(file.text), "a table's name begins with a letter, a digit, _, - or a quotation mark", {});
  }
}

const TomlNode* TomlTable::get(std::string_view key) const {
  for (const auto& [name, value] : std::get<TomlNode::Table>(node_->value))
    if (std::get<std::string>(name.value) == key) return &value;
  return nullptr;
}

const TomlNode* TomlTable::find(std::string_view key) {
  asked_.emplace_back(key);
  return get(key);
}

const TomlNode& TomlTable::need(std::string_view key) {
  if (const TomlNode* node = find(key)) return *node;
  std::vector<std::string> others;
  for (const auto& [name, value] : std::get<TomlNode::Table>(node_->value))
    others.push_back(std::get<std::string>(name.value));
  const std::string near = did_you_mean(key, others);
  file_->fail(*node_, "the key " + quoted(key) + " is missing",
              near.empty() ? near : "did you write " + quoted(near) + " for it?");
}

void TomlTable::fail(std::string_view key, const std::string& message, const std::string& help, std::string_view inside,
                     std::size_t column) const {
  const TomlNode* node = get(key);
  file_->fail(node ? *node : *node_, message, help, inside, column);
}

void TomlTable::finish(const std::string& otherwise) const {
  for (const auto& [key, node] : std::get<TomlNode::Table>(node_->value)) {
    const auto& name = std::get<std::string>(key.value);
    if (std::find(asked_.begin(), asked_.end(), name) != asked_.end()) continue;
    const std::string nearest = did_you_mean(name, asked_);
    file_->fail(key, "unknown key " + quoted(name), nearest.empty() ? otherwise : "did you mean " + nearest + "?");
  }
}

const std::string& TomlTable::text_of(const TomlNode& node, std::string_view key) const {
  if (const auto* value = std::get_if<std::string>(&node.value)) return *value;
  file_->fail(node, quoted(key) + " must be a text", {});
}

std::string TomlTable::need_text(std::string_view key) { return text_of(need(key), key); }

std::string TomlTable::text(std::string_view key) {
  const TomlNode* node = find(key);
  return node ? text_of(*node, key) : std::string{};
}

double TomlTable::need_number(std::string_view key, double low, double high) {
  need(key);
  return number(key, 0, low, high);
}

double TomlTable::number(std::string_view key, double fallback, double low, double high) {
  const TomlNode* node = find(key);
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

bool TomlTable::truth(std::string_view key) {
  const TomlNode* node = find(key);
  if (!node) return false;
  const bool* value = std::get_if<bool>(&node->value);
  if (!value) fail(key, quoted(key) + " must be true or false");
  return *value;
}

std::vector<std::string> TomlTable::texts(std::string_view key) {
  const TomlNode* node = find(key);
  if (!node) return {};
  const auto* list = std::get_if<TomlNode::List>(&node->value);
  if (!list) fail(key, quoted(key) + " must be a list of texts", "write " + std::string(key) + " = [\"…\"]");
  std::vector<std::string> texts;
  for (const auto& element : *list) texts.push_back(text_of(element, key));
  return texts;
}

std::vector<TomlTable> TomlTable::tables(std::string_view key) {
  const TomlNode* node = find(key);
  if (!node) return {};
  const auto* list = std::get_if<TomlNode::List>(&node->value);
  const auto is_table = [](const TomlNode& element) { return std::holds_alternative<TomlNode::Table>(element.value); };
  if (!list || !std::all_of(list->begin(), list->end(), is_table))
    fail(key, quoted(key) + " must be a list of tables", "write [[" + std::string(key) + "]]");
  std::vector<TomlTable> tables;
  for (const auto& element : *list) tables.emplace_back(*file_, element);
  return tables;
}

std::optional<TomlTable> TomlTable::table(std::string_view key) {
  const TomlNode* node = find(key);
  if (!node) return std::nullopt;
  if (!std::holds_alternative<TomlNode::Table>(node->value))
    fail(key, quoted(key) + " must be a table", "write [" + std::string(key) + "]");
  return TomlTable(*file_, *node);
}

}  // namespace oomdoctor
