// One table of a TOML file, read key by key. A missing or misspelt key or a value of the wrong type is an Error that
// shows its line. The file is a plain tree here, so that only one source file includes the TOML library.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace oomdoctor {

struct TomlEntry;

/// A value with its position in the file.
struct TomlNode {
  using List = std::vector<TomlNode>;
  using TableEntries = std::vector<TomlEntry>;

  std::size_t line = 1, column = 1;  ///< 1-based
  std::variant<std::monostate, std::string, double, bool, List, TableEntries> value;
};

/// One key of a table, a text with its position, and its value.
struct TomlEntry {
  TomlNode key, value;
};

class TomlTable;

/// A TOML file: its path, its text and what the text says. Its tables refer to it, so it stays where it is.
class TomlFile {
 public:
  /// Parses `text`; `path` is for errors. Throws Error for invalid TOML.
  TomlFile(std::string path, std::string text);
  /// Reads the file first. Throws Error as read_small_file does.
  explicit TomlFile(const std::string& path);
  TomlFile(const TomlFile&) = delete;
  TomlFile& operator=(const TomlFile&) = delete;

  /// The table that is the whole file.
  TomlTable top() const;

  /// Throws Error with the file's line. The caret is `column` bytes into `inside`, if that text is on the line.
  [[noreturn]] void fail(const TomlNode& where, const std::string& message, const std::string& help,
                         std::string_view inside = {}, std::size_t column = 0) const;

 private:
  TomlNode parse() const;

  std::string path_, text_;
  TomlNode tree_;
};

/// Typed access to one table. A getter returns an empty value (or `fallback`) for a missing key; those with need_ throw
/// Error. Every getter throws Error for a wrong type or a number outside its range.
class TomlTable {
 public:
  /// `node` must be a table. `node` and `file` must outlive this object.
  TomlTable(const TomlFile& file, const TomlNode& node) : file_(&file), node_(&node) {}

  bool has(std::string_view key) { return find(key) != nullptr; }
  std::string need_text(std::string_view key);
  std::string text(std::string_view key);
  double need_number(std::string_view key, double low, double high);
  double number(std::string_view key, double fallback, double low, double high);
  bool truth(std::string_view key);
  std::vector<std::string> texts(std::string_view key);
  std::vector<TomlTable> tables(std::string_view key);
  std::optional<TomlTable> table(std::string_view key);
  /// All keys and values, for a table whose keys are data.
  const TomlNode::TableEntries& entries() const { return std::get<TomlNode::TableEntries>(node_->value); }

  /// Throws Error for a key that no getter asked for; call it last. `otherwise` is its help if no known key is similar.
  void finish(const std::string& otherwise) const;
  /// Throws Error at the key's value, or at the table if the key is missing; see TomlFile::fail.
  [[noreturn]] void fail(std::string_view key, const std::string& message, const std::string& help = {},
                         std::string_view inside = {}, std::size_t column = 0) const;
  std::size_t line() const { return node_->line; }

 protected:
  const TomlFile& file() const { return *file_; }
  const TomlNode* find(std::string_view key);
  const TomlNode& need(std::string_view key);
  const std::string& read_text(const TomlNode& node, std::string_view key) const;

 private:
  const TomlNode* get(std::string_view key) const;

  const TomlFile* file_;
  const TomlNode* node_;
  std::vector<std::string> asked_;
};

}  // namespace oomdoctor
