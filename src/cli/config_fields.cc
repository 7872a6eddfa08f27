#include "cli/config_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "estimate/size_limits.h"
#include "report/words.h"

namespace oomdoctor::cli {
namespace {

/// The range of a field. Most fields are sides of a matrix; the table contains the others. A part that a model may lack
/// has a size of 0.
struct FieldRange {
  std::string_view name;
  i64 min, max;
};
constexpr FieldRange other_fields[] = {
    {"num_hidden_layers", 1, size_limits::layers},
    {"n_layer", 1, size_limits::layers},
    {"n_layers", 1, size_limits::layers},
    {"num_layers", 1, size_limits::layers},
    {"encoder_layers", 1, size_limits::layers},
    {"decoder_layers", 1, size_limits::layers},
    {"num_decoder_layers", 1, size_limits::layers},
    {"first_k_dense_replace", 0, size_limits::layers},
    {"num_local_experts", 0, size_limits::width},
    {"num_experts", 0, size_limits::width},
    {"n_routed_experts", 0, size_limits::width},
    {"n_shared_experts", 0, size_limits::width},
    {"shared_expert_intermediate_size", 0, size_limits::width},
    {"parameters", 1, size_limits::parameters},
    {"text_parameters", 1, size_limits::parameters},
    {"vae_parameters", 1, size_limits::parameters},
    {"vocab_size", 1, size_limits::rows},
    {"type_vocab_size", 0, size_limits::rows},
    {"max_position_embeddings", 1, size_limits::rows},
    {"n_positions", 1, size_limits::rows},
    {"max_source_positions", 1, size_limits::rows},
    {"max_target_positions", 1, size_limits::rows},
    {"image_size", 1, size_limits::pixels},
    {"patch_size", 1, size_limits::pixels},
};

FieldRange find_range(std::string_view name) {
  const auto* const found = std::find_if(std::begin(other_fields), std::end(other_fields),
                                         [&](const FieldRange& range) { return range.name == name; });
  return found != std::end(other_fields) ? *found : FieldRange{name, 1, size_limits::width};
}

std::string shown(const ConfigField& field) {
  if (const auto* number = std::get_if<i64>(&field)) return std::to_string(*number);
  if (const auto* truth = std::get_if<bool>(&field)) return *truth ? "true" : "false";
  if (const auto* text = std::get_if<std::string>(&field))  // as JSON, because the text may contain anything
    return nlohmann::json(*text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  if (std::holds_alternative<std::vector<i64>>(field)) return "an array";
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
    const FieldRange range = find_range(name);
    if (number != nullptr && *number >= range.min && *number <= range.max) return *number;
    const std::string text = shown(field->second);
    throw Error(fmt::format("{}: {} cannot be {}", path_, name,
                            text.size() > max_shown ? text.substr(0, max_shown) + "..." : text),
                "", fmt::format("{} must be a whole number from {} to {}", name, range.min, count_text(range.max)));
  }
  return std::nullopt;
}

std::vector<i64> ConfigFields::sizes(std::string_view name) const {
  const auto field = fields_.find(name);
  const auto* list = field == fields_.end() ? nullptr : std::get_if<std::vector<i64>>(&field->second);
  return list != nullptr ? *list : std::vector<i64>{};
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
