// The fields of a config.json by their names in several families of models.
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/bytes.h"

namespace oomdoctor::cli {

/// Something that is neither a size, a truth nor a text: as it is to be shown in an error.
struct OtherField {
  std::string shown;
};
using ConfigField = std::variant<OtherField, i64, bool, std::string>;

/// One object of a config.json; its fields have other names in other families of models. Fields that are null are not
/// among them.
class ConfigFields {
 public:
  ConfigFields(std::string path, std::map<std::string, ConfigField, std::less<>> fields);

  /// The first of these that is there. Throws Error where it is no positive whole number, or too large a one.
  std::optional<i64> size(std::initializer_list<std::string_view> names) const;
  /// The first of these that is a text; "" where none is.
  std::string text(std::initializer_list<std::string_view> names) const;
  bool truth(std::string_view name, bool otherwise) const;
  bool has(std::string_view name) const { return fields_.contains(name); }

 private:
  std::string path_;
  std::map<std::string, ConfigField, std::less<>> fields_;
};

}  // namespace oomdoctor::cli
