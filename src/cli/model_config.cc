#include "cli/model_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
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

constexpr i64 latent_side = 8;  ///< pixels for one number of a latent image, in all published diffusion models
constexpr i64 token_side = 2 * latent_side;  ///< a diffusion transformer's patch

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
  if (const auto known = has_gated_mlp(config.text({"model_type"}))) return *known;
  const std::string activation = config.text({"hidden_act", "hidden_activation", "activation_function"});
  return activation == "silu" || activation == "swish" || config.text({"model_type"}).starts_with("gemma") ||
         config.text({"feed_forward_proj"}).starts_with("gated");
}

i64 size_or(const ConfigFields& config, std::initializer_list<std::string_view> names, i64 otherwise) {
  return config.size(names).value_or(otherwise);
}

i64 count_experts(const ConfigFields& config) {
  return size_or(config, {"num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"}, 1);
}

/// True for layers that are not attention with an MLP: experts or latent attention of an unknown form, convolutions, a
/// recurrence, nested descriptions of a layer.
bool is_irregular(const ConfigFields& config, const ModelShape& shape) {
  const auto has = [&](std::string_view name) { return config.has(name); };
  constexpr std::string_view other_layers[] = {"conv_dim", "state_size", "mamba_d_state", "lru_width", "ffn_config"};
  return !shape.heads || (shape.encoder && shape.encoder->layers == 0) ||
         (count_experts(config) > 1 && !shape.experts) ||
         (has("kv_lora_rank") && (!shape.latent || !shape.parameters)) ||
         (!shape.parameters && std::any_of(std::begin(other_layers), std::end(other_layers), has));
}

/// nullopt if the family or a size is unknown.
std::optional<Experts> read_experts(const ConfigFields& config) {
  const auto active = config.size({"num_experts_per_tok"});
  const auto width = config.size({"moe_intermediate_size", "intermediate_size"});
  if (!has_known_experts(config.text({"model_type"})) || !active || !width) return std::nullopt;
  const i64 count = count_experts(config);
  Experts experts{count, std::min(*active, count), *width, 0, size_or(config, {"first_k_dense_replace"}, 0)};
  experts.shared_width = size_or(config, {"n_shared_experts"}, 0) * *width;
  if (experts.shared_width == 0) experts.shared_width = size_or(config, {"shared_expert_intermediate_size"}, 0);
  return experts;
}

std::optional<LatentAttention> read_latent(const ConfigFields& config) {
  const auto latent = config.size({"kv_lora_rank"}), rotary = config.size({"qk_rope_head_dim"}),
             key = config.size({"qk_nope_head_dim"}), value = config.size({"v_head_dim"});
  if (!latent || !rotary || !key || !value) return std::nullopt;
  return LatentAttention{*latent, *rotary, size_or(config, {"q_lora_rank"}, 0), *key, *value};
}

/// T5 names the encoder's layers num_layers; BART, Whisper and their relatives name both stacks alike.
void read_stacks(const ConfigFields& config, ModelShape& shape) {
  const std::string type = config.text({"model_type"});
  if (type == "t5" || type == "mt5" || type == "umt5") {
    shape.encoder = EncoderShape{size_or(config, {"num_layers"}, 0), config.size({"d_ff"})};
    shape.layers = config.size({"num_decoder_layers", "num_layers"});
    shape.head_size = config.size({"d_kv"});
    shape.intermediate = config.size({"d_ff"});
    shape.biased_scores = true;
  } else if (const auto layers = config.size({"encoder_layers"}); layers && config.has("decoder_layers")) {
    shape.encoder = EncoderShape{*layers, config.size({"encoder_ffn_dim"})};
    if (type == "whisper") shape.encoder->tokens = size_or(config, {"max_source_positions"}, 1500);
    shape.layers = config.size({"decoder_layers"});
    shape.heads = config.size({"decoder_attention_heads", "encoder_attention_heads"});
    shape.intermediate = config.size({"decoder_ffn_dim"});
  }
}

/// The positions for which the model has learned vectors; nullopt if it computes positions, or if they are unknown.
std::optional<i64> read_positions(const ConfigFields& config) {
  const std::string type = config.text({"model_type"});
  for (const std::string_view learned :
       {"gpt2", "gpt_bigcode", "gpt_neo", "opt", "bert", "distilbert", "bart", "mbart"})
    if (type == learned) return config.size({"max_position_embeddings", "n_positions"});
  if (type == "whisper") return config.size({"max_target_positions"});
  return std::nullopt;
}

ModelShape read_shape(const ConfigFields& config) {
  ModelShape shape;
  shape.layers = config.size({"num_hidden_layers", "n_layer", "num_layers", "n_layers"});
  shape.hidden = config.size({"hidden_size", "n_embd", "d_model", "dim"});
  shape.heads = config.size({"num_attention_heads", "n_head", "num_heads", "n_heads"});
  shape.kv_heads = config.size({"num_key_value_heads", "num_kv_heads"});
  if (config.truth("multi_query", false) && !config.truth("new_decoder_architecture", false)) shape.kv_heads = 1;
  shape.head_size = config.size({"head_dim"});
  shape.intermediate = config.size({"intermediate_size", "n_inner", "ffn_dim", "hidden_dim"});
  shape.vocabulary = config.size({"vocab_size"});
  shape.tied_embeddings =
      config.truth("tie_word_embeddings", true);  // transformers writes the field only if it is false
  shape.gated = is_gated(config);
  shape.parameters = parameters_in(config);
  shape.positions = read_positions(config);
  read_stacks(config, shape);
  if (count_experts(config) > 1) shape.experts = read_experts(config);
  shape.latent = read_latent(config);
  shape.irregular = is_irregular(config, shape);
  return shape;
}

UnetShape read_unet(const ConfigFields& config) {
  UnetShape unet;
  const std::vector<i64> channels = config.sizes("block_out_channels"), layers = config.sizes("transformer_layers"),
                         heads = config.sizes("attention_heads");
  if (layers.size() != channels.size() || heads.size() != channels.size()) return unet;
  for (std::size_t i = 0; i < channels.size(); ++i) unet.levels.push_back({channels[i], layers[i], heads[i]});
  unet.blocks = size_or(config, {"layers_per_block"}, unet.blocks);
  unet.middle_layers = size_or(config, {"middle_layers"}, 0);
  unet.text_width = size_or(config, {"cross_attention_dim"}, 0);
  return unet;
}

/// A published row. Its keys are those of published_models.toml, which no config.json has all of.
void read_generator(const ConfigFields& config, ModelConfig& read) {
  const std::string type = config.text({"model_type"});
  ModelShape& shape = read.shape;
  ImagePipeline images{size_or(config, {"text_parameters"}, 0), size_or(config, {"vae_parameters"}, 0)};
  images.vae_fp32 = config.truth("vae_fp32", false);
  images.tile = size_or(config, {"vae_tile"}, images.tile);
  images.guided = config.truth("guided", true);
  images.denoises = type != "vae";
  if (type == "unet") images.unet = read_unet(config);
  shape.patch = type == "dit" ? token_side : latent_side;
  read.image_side = size_or(config, {"image_size"}, 0);
  shape.irregular = read.image_side == 0 || (images.denoises && images.vae_parameters == 0) ||
                    (images.unet && images.unet->levels.empty());  // a file of another kind
  if (shape.irregular) return;
  shape.images = std::move(images);
  shape.modulated = type == "dit";
  shape.query_norm = config.truth("query_norm", false);
  shape.attends_text = config.truth("attends_text", false);
  shape.parallel_layers = size_or(config, {"parallel_layers"}, 0);
  shape.text_stream_layers = size_or(config, {"text_stream_layers"}, 0);
  read.text_tokens = size_or(config, {"text_tokens"}, 0);
}

void note_irregular(ModelConfig& read) {
  if (!read.shape.irregular) return;
  read.notes.emplace_back(
      read.shape.parameters
          ? "a structure without a formula: activations do not follow from the config"
          : "a structure without a formula: parameters and activations do not follow from the config");
}

}  // namespace

ModelConfig interpret_config(const ConfigFields& config) {
  ModelConfig read;
  read.shape = read_shape(config);
  ModelShape& shape = read.shape;
  if (is_diffusion(config.text({"model_type"}))) {
    read_generator(config, read);
    note_irregular(read);
    return read;
  }
  const auto side = config.size({"image_size"}), patch = config.size({"patch_size"});
  if (side && patch && !shape.vocabulary) {
    shape.patch = *patch;
    read.image_tokens = image_tokens(*side, *side, *patch);
  }
  if (config.truth("is_encoder_decoder", false) && (!shape.parameters || !shape.encoder))
    throw Error(
        fmt::format("{}: unknown family of encoder-decoder models", config.path()), "",
        "estimate knows T5, BART, Pegasus, NLLB, Marian and Whisper; give the parameter count of others with --params");
  if (!shape.hidden)
    throw Error(fmt::format("{} has no hidden_size", config.path()), "", "--config needs a model's config.json");
  note_irregular(read);
  return read;
}

// Text-and-image models nest the decoder's config. Parts that the config does not determine become notes.
ModelConfig read_model_config(const std::string& path) {
  const ConfigJson whole = ConfigJson::parse(read_small_file(path), nullptr, false);
  if (!whole.is_object())
    throw Error(fmt::format("{} is not a JSON object", path), "", "--config needs a model's config.json");
  // Models of text and images keep the decoder's sizes in a nested object.
  const auto inner = whole.find("text_config");
  const bool nested = inner != whole.end() && inner->is_object();
  const ConfigFields config = nested ? read_fields(path, *inner, &whole) : read_fields(path, whole);
  ModelConfig read = interpret_config(config);
  if (const auto vision = whole.find("vision_config"); vision != whole.end() && vision->is_object()) {
    const auto tower = vision_parameters_in(read_fields(path, *vision));
    if (tower && read.shape.parameters)
      read.shape.parameters = saturated_sum(*read.shape.parameters, *tower);
    else
      read.notes.emplace_back("the encoder of images is not counted");
    read.shape.uncounted.emplace_back("activations of the encoder of images");
  }
  if (const auto audio = whole.find("audio_config"); audio != whole.end() && audio->is_object()) {
    read.notes.emplace_back("the encoder of audio is not counted");
    read.shape.uncounted.emplace_back("activations of the encoder of audio");
  }
  return read;
}

}  // namespace oomdoctor::cli
