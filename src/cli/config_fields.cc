#include "cli/config_fields.h"

#include <fmt/format.h>

#include <utility>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace oomdoctor::cli {
namespace {

constexpr i64 max_size = 1'000'000'000;  // upper bound of any dimension

std::string shown(const ConfigField& field) {
  if (const auto* number = std::get_if<i64>(&field)) return std::to_string(*number);
  if (const auto* truth = std::get_if<bool>(&field)) return *truth ? "true" : "false";
  if (const auto* text = std::get_if<std::string>(&field))  // as JSON, because the text may contain anything
    return nlohmann::json(*text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  return std::get<OtherField>(field).shown;
}

}  // namespace

ConfigFields::ConfigFields(std::string path, std::map<std::string, ConfigField, std::less<>> fields)
    : path_(std::move(path)), fields_(std::move(fields)) {}

std::optional<i64> ConfigFields::size(std::initializer_list<std::string_view> names) const {
  constexpr std::size_t max_shown = 40;
  for (const std::string_view name : names) {
    const auto field = fields_.find(name);
    if (field == fields_.end()) continue;
    const auto* number = std::get_if<i64>(&field->second);
    if (number != nullptr && *number >= 1 && *number <= max_size) return *number;
    const std::string text = shown(field->second);
    throw Error(fmt::format("{}: {} cannot be {}", path_, name,
                            text.size() > max_shown ? text.substr(0, max_shown) + "..." : text));
  }
  return std::nullopt;
}

std::string ConfigFields::text(std::initializer_list<std::string_view> names) const {
  for (const std::string_view name : names)
    if (const auto field = fields_.find(name); field != fields_.end())
      if (const auto* text = std::get_if<std::string>(&field->second)) return *text;
  return {};
}

bool ConfigFields::truth(std::string_view name, bool otherwise) const {
  const auto field = fields_.find(name);
  const auto* truth = field == fields_.end() ? nullptr : std::get_if<bool>(&field->second);
  return truth != nullptr ? *truth : otherwise;
}

}  // namespace oomdoctor::cli
