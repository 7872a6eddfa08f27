// The fields of a config.json. Families of models use different names for the same field.
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/bytes.h"

namespace oomdoctor::cli {

/// A value that is neither a size, a list of sizes, a boolean nor a text, as an error message shows it.
struct OtherField {
  std::string shown;
};
using ConfigField = std::variant<OtherField, i64, std::vector<i64>, bool, std::string>;

/// One object of a config.json. Callers look a field up by all names that the families use. Null fields are absent.
class ConfigFields {
 public:
  /// `path` is the file, for error messages.
  ConfigFields(std::string path, std::map<std::string, ConfigField, std::less<>> fields);

  /// The first of these fields that exists. Throws Error if it is not a whole number within the range of the field.
  std::optional<i64> size(std::initializer_list<std::string_view> names) const;
  /// The field as a list of sizes; empty if it is none.
  std::vector<i64> sizes(std::string_view name) const;
  /// The first of these fields that is a text; "" if there is none.
  std::string text(std::initializer_list<std::string_view> names) const;
  /// The field if it is a boolean, else `otherwise`.
  bool truth(std::string_view name, bool otherwise) const;
  const std::string& path() const { return path_; }
  bool has(std::string_view name) const { return fields_.contains(name); }

 private:
  std::string path_;
  std::map<std::string, ConfigField, std::less<>> fields_;
};

}  // namespace oomdoctor::cli
