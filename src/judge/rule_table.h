// One table of a rule file, read key by key: what is missing, misspelt or of another type is an Error that shows its
// line. The file is a plain tree here, so that the TOML library stays inside one source file.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "judge/expr.h"
#include "judge/phrase.h"

namespace oomdoctor {

struct RuleNode {
  using List = std::vector<RuleNode>;
  using Table = std::vector<std::pair<RuleNode, RuleNode>>;  ///< key (a text with its place) and value

  std::size_t line = 1, column = 1;  ///< 1-based
  std::variant<std::monostate, std::string, double, bool, List, Table> value;
};

/// A rule file's path and text, for errors.
struct RuleText {
  std::string_view path, text;

  /// Throws Error with the file's line; the caret stands `column` bytes into `inside`, where that text is on the line.
  [[noreturn]] void fail(const RuleNode& where, const std::string& message, const std::string& help,
                         std::string_view inside = {}, std::size_t column = 0) const;
};

/// The tree of a rule file. Throws Error where it is no TOML.
RuleNode read_rule_tree(const RuleText& file);

class RuleTable {
 public:
  /// `node` is a table and outlives this.
  RuleTable(const RuleText& file, const RuleNode& node) : file_(&file), node_(&node) {}

  std::string need_text(std::string_view key);
  std::string text(std::string_view key);
  double need_number(std::string_view key, double low, double high);
  double number(std::string_view key, double fallback, double low, double high);
  bool truth(std::string_view key);
  std::vector<std::string> texts(std::string_view key);
  Expr need_condition(std::string_view key);
  std::optional<Expr> condition(std::string_view key);
  std::optional<Expr> size(std::string_view key);
  Phrase need_phrase(std::string_view key);
  Phrase phrase(std::string_view key);
  std::vector<RuleTable> tables(std::string_view key);
  std::optional<RuleTable> table(std::string_view key);

  /// Call last: a key that nobody asked for is an Error.
  void finish() const;
  [[noreturn]] void fail(std::string_view key, const std::string& message, const std::string& help = {}) const;

 private:
  const RuleNode* get(std::string_view key) const;
  const RuleNode* find(std::string_view key);
  const RuleNode& need(std::string_view key);
  const std::string& text_of(const RuleNode& node, std::string_view key) const;
  template <typename Parse>
  auto parsed(const RuleNode& node, std::string_view key, Parse parse) const;

  const RuleText* file_;
  const RuleNode* node_;
  std::vector<std::string> asked_;
};

}  // namespace oomdoctor
