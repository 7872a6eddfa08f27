#include "cli/model_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/small_file.h"
#include "cli/model_parameters.h"

namespace oomdoctor::cli {
namespace {

using ConfigJson = nlohmann::json;

ConfigField read_field(const ConfigJson& value) {
  // The JSON library reads an integer beyond 63 bits as a float or as unsigned. Neither is a size.
  if (value.is_number_integer() && value <= std::numeric_limits<i64>::max()) return value.get<i64>();
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_string()) return value.get<std::string>();
  // Lists and objects are shown by their kind only: printing deep nesting could overflow the stack.
  if (value.is_structured()) return OtherField{fmt::format("an {}", value.type_name())};
  return OtherField{value.dump(-1, ' ', true, ConfigJson::error_handler_t::replace)};
}

/// `outer` is the enclosing object of a nested config. Its tie_word_embeddings overrides the nested one.
ConfigFields read_fields(const std::string& path, const ConfigJson& object, const ConfigJson* outer = nullptr) {
  constexpr const char* tied = "tie_word_embeddings";
  std::map<std::string, ConfigField, std::less<>> fields;
  if (outer != nullptr && outer->contains(tied)) fields.emplace(tied, read_field((*outer)[tied]));
  for (const auto& [name, value] : object.items())
    if (!value.is_null()) fields.emplace(name, read_field(value));
  return {path, std::move(fields)};
}

bool is_gated(const ConfigFields& config) {
  const std::string activation = config.text({"hidden_act", "hidden_activation", "activation_function"});
  return activation == "silu" || activation == "swish" || config.text({"model_type"}).starts_with("gemma");
}

/// Whether parameters or activations do not follow from the formulas of a dense decoder: mixture of experts, latent
/// attention.
bool is_irregular(const ConfigFields& config) {
  return config.size({"num_local_experts", "num_experts", "n_routed_experts"}).value_or(1) > 1 ||
         config.has("kv_lora_rank");
}

ModelShape read_shape(const ConfigFields& config) {
  ModelShape shape;
  shape.layers = config.size({"num_hidden_layers", "n_layer", "num_layers", "n_layers"});
  shape.hidden = config.size({"hidden_size", "n_embd", "d_model", "dim"});
  shape.heads = config.size({"num_attention_heads", "n_head", "num_heads", "n_heads"});
  shape.kv_heads = config.size({"num_key_value_heads", "num_kv_heads"});
  shape.head_size = config.size({"head_dim"});
  shape.intermediate = config.size({"intermediate_size", "n_inner", "ffn_dim", "hidden_dim"});
  shape.vocabulary = config.size({"vocab_size"});
  shape.tied_embeddings =
      config.truth("tie_word_embeddings", true);  // transformers writes the field only if it is false
  shape.gated = is_gated(config);
  shape.irregular = is_irregular(config);
  shape.parameters = parameters_in(config);
  return shape;
}

}  // namespace

// Text-and-image models nest the decoder's config. Parts that the config does not determine become notes.
ModelConfig read_model_config(const std::string& path) {
  const ConfigJson whole = ConfigJson::parse(read_small_file(path), nullptr, false);
  if (!whole.is_object())
    throw Error(fmt::format("{} is not a JSON object", path), "", "--config needs a model's config.json");
  // Models of text and images keep the decoder's sizes in a nested object.
  const auto inner = whole.find("text_config");
  const bool nested = inner != whole.end() && inner->is_object();
  const ConfigFields config = nested ? read_fields(path, *inner, &whole) : read_fields(path, whole);
  ModelConfig read{read_shape(config), 0, {}};
  const auto side = config.size({"image_size"}), patch = config.size({"patch_size"});
  if (side && patch && !read.shape.vocabulary) {
    read.shape.patch = *patch;
    read.image_tokens = image_tokens(*side, *side, *patch);
  }
  const bool two_stacks = config.truth("is_encoder_decoder", false);
  if (two_stacks && !read.shape.parameters)
    throw Error(fmt::format("{}: unknown family of encoder-decoder models", path), "",
                "estimate knows T5, BART and Whisper; give the parameter count of others with --params");
  if (!read.shape.hidden)
    throw Error(fmt::format("{} has no hidden_size", path), "", "--config needs a model's config.json");
  if (two_stacks) {
    read.shape.irregular = true;
    read.notes.emplace_back("encoder-decoder model: the config does not determine its activations");
  } else if (read.shape.irregular) {
    read.notes.emplace_back(
        read.shape.parameters
            ? "experts or latent attention: activations do not follow from the config"
            : "experts or latent attention: parameters and activations do not follow from the config");
  }
  if (const auto vision = whole.find("vision_config"); vision != whole.end() && vision->is_object()) {
    const auto tower = vision_parameters_in(read_fields(path, *vision));
    if (tower && read.shape.parameters)
      read.shape.parameters = saturated_sum(*read.shape.parameters, *tower);
    else
      read.notes.emplace_back("the encoder of images is not counted");
  }
  return read;
}

}  // namespace oomdoctor::cli
