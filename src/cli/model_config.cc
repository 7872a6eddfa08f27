#include "cli/model_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace oomdoctor::cli {
namespace {

using Json = nlohmann::json;

constexpr std::uintmax_t most_bytes =
    1 << 20;                              // configs are a few kilobytes; a checkpoint is not to be read by mistake
constexpr i64 most_size = 1'000'000'000;  // of any dimension

std::string text_of(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) throw Error(fmt::format("there is no file {}", path));
  if (!std::filesystem::is_regular_file(path, error)) throw Error(fmt::format("{} is no file", path));
  if (std::filesystem::file_size(path, error) > most_bytes)
    throw Error(fmt::format("{} is too large for a model's config", path), "", "--config takes its config.json");
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file) throw Error(fmt::format("cannot read {}", path));
  return text;
}

/// One object of the file; its fields have other names in other families of models.
class Config {
 public:
  Config(const std::string& path, const Json& object) : path_(path), object_(object) {}

  std::optional<i64> size(std::initializer_list<const char*> names) const {
    for (const char* name : names) {
      const auto field = object_.find(name);
      if (field == object_.end() || field->is_null()) continue;
      // An integer that does not fit 63 bits is read as a float or as unsigned: no size either way.
      const bool good = field->is_number_integer() && *field >= 1 && *field <= most_size;
      if (!good) throw Error(fmt::format("{}: {} cannot be {}", path_, name, shortened(*field)));
      return field->get<i64>();
    }
    return std::nullopt;
  }

  std::string text(std::initializer_list<const char*> names) const {
    for (const char* name : names)
      if (const auto field = object_.find(name); field != object_.end() && field->is_string())
        return field->get<std::string>();
    return {};
  }

  bool truth(const char* name, bool otherwise) const {
    const auto field = object_.find(name);
    return field != object_.end() && field->is_boolean() ? field->get<bool>() : otherwise;
  }

  bool has(const char* name) const {
    const auto field = object_.find(name);
    return field != object_.end() && !field->is_null();
  }

 private:
  /// Lists and objects by their kind alone: they may be nested deeper than there is stack to print them.
  static std::string shortened(const Json& value) {
    constexpr std::size_t most = 40;
    if (value.is_structured()) return fmt::format("an {}", value.type_name());
    const std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
    return text.size() > most ? text.substr(0, most) + "..." : text;
  }

  const std::string& path_;
  const Json& object_;
};

bool is_gated(const Config& config) {
  const std::string activation = config.text({"hidden_act", "hidden_activation", "activation_function"});
  return activation == "silu" || activation == "swish" || config.text({"model_type"}).starts_with("gemma");
}

/// Sizes that do not tell parameters and activations by the formulas of a dense decoder.
bool is_irregular(const Config& config) {
  return config.size({"num_local_experts", "num_experts", "n_routed_experts"}).value_or(1) > 1 ||
         config.has("kv_lora_rank");
}

ModelShape shape_of(const Config& config) {
  ModelShape shape;
  shape.layers = config.size({"num_hidden_layers", "n_layer", "num_layers"});
  shape.hidden = config.size({"hidden_size", "n_embd", "d_model"});
  shape.heads = config.size({"num_attention_heads", "n_head", "num_heads"});
  shape.kv_heads = config.size({"num_key_value_heads", "num_kv_heads"});
  shape.head_size = config.size({"head_dim"});
  shape.intermediate = config.size({"intermediate_size", "n_inner", "ffn_dim"});
  shape.vocabulary = config.size({"vocab_size"});
  shape.tied_embeddings = config.truth("tie_word_embeddings", true);  // transformers writes only what is not so
  shape.gated = is_gated(config);
  shape.irregular = is_irregular(config);
  return shape;
}

}  // namespace

ModelConfig read_model_config(const std::string& path) {
  const Json whole = Json::parse(text_of(path), nullptr, false);
  if (!whole.is_object())
    throw Error(fmt::format("{} is no JSON object", path), "", "--config takes the config.json of a model");
  // Models of text and images keep the sizes of the decoder in an object of its own.
  const auto inner = whole.find("text_config");
  const bool nested = inner != whole.end() && inner->is_object();
  const Config config(path, nested ? *inner : whole);
  if (config.truth("is_encoder_decoder", false))
    throw Error(fmt::format("{} describes an encoder with a decoder, and estimate knows decoders alone", path));
  ModelConfig read{shape_of(config), {}};
  if (nested) read.shape.tied_embeddings = Config(path, whole).truth("tie_word_embeddings", read.shape.tied_embeddings);
  if (!read.shape.hidden)
    throw Error(fmt::format("{} names no hidden_size", path), "", "--config takes the config.json of a model");
  if (whole.contains("vision_config")) read.notes.emplace_back("the encoder of images is not counted");
  if (read.shape.irregular)
    read.notes.emplace_back("experts or latent attention: parameters and activations do not follow from the config");
  return read;
}

}  // namespace oomdoctor::cli
