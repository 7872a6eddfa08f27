// Each decoder family is a row of its structure, and the count is a sum over the row. The test compares it with the
// published totals of forty models (tests/cli/published_models.py).
#include "cli/model_parameters.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace oomdoctor::cli {
namespace {

/// Thrown if a size is missing. The public functions catch it: the whole count is then unknown.
struct Unknown {};

/// Sums of products of sizes exceed 63 bits, so sizes are doubles here. A count within the limit of parameters is
/// exact.
std::optional<double> size_of(const ConfigFields& config, std::initializer_list<std::string_view> names) {
  const auto size = config.size(names);
  return size ? std::optional(to_double(*size)) : std::nullopt;
}

double need(const std::optional<double>& size) {
  if (!size) throw Unknown{};
  return *size;
}

enum class Yes { never, always, by_config };

/// A decoder with a single stack of layers.
struct DecoderFamily {
  std::string_view type;
  bool gated = false;
  bool layer_norm = false;      ///< norms have a bias
  Yes query_bias = Yes::never;  ///< of query, key and value
  Yes out_bias = Yes::never;    ///< of the attention's output
  Yes mlp_bias = Yes::never;
  int norms = 2;            ///< per layer
  bool query_norm = false;  ///< one norm over the head size for queries, one for keys
  bool tied = false;        ///< unless the config says otherwise
  bool head_bias = false;
  int extra_positions = -1;  ///< learned positions in addition to those of the config; -1: no learned positions
  bool embedding_norm = false;
  bool experts = false;
  bool expert_bias = false;  ///< of the router and of each expert; attention has a sink for each head (gpt-oss)
};

constexpr auto decoders = std::to_array<DecoderFamily>({
    {.type = "llama",
     .gated = true,
     .query_bias = Yes::by_config,
     .out_bias = Yes::by_config,
     .mlp_bias = Yes::by_config},
    {.type = "mistral", .gated = true},
    {.type = "mixtral", .gated = true, .experts = true},
    {.type = "qwen2", .gated = true, .query_bias = Yes::always},
    {.type = "qwen2_moe", .gated = true, .query_bias = Yes::always, .experts = true},
    {.type = "qwen3", .gated = true, .query_bias = Yes::by_config, .out_bias = Yes::by_config, .query_norm = true},
    {.type = "qwen3_moe",
     .gated = true,
     .query_bias = Yes::by_config,
     .out_bias = Yes::by_config,
     .query_norm = true,
     .experts = true},
    {.type = "olmo2", .gated = true, .norms = 4},  // two of them over all queries and all keys
    {.type = "olmoe", .gated = true, .norms = 4, .experts = true},
    {.type = "internlm2", .gated = true},
    {.type = "baichuan", .gated = true},
    {.type = "cohere", .gated = true, .norms = 1, .tied = true},
    {.type = "glm4", .gated = true, .query_bias = Yes::by_config, .norms = 4},
    {.type = "gpt_oss",
     .gated = true,
     .query_bias = Yes::always,
     .out_bias = Yes::always,
     .experts = true,
     .expert_bias = true},
    {.type = "gemma", .gated = true, .tied = true},
    {.type = "gemma2", .gated = true, .norms = 4, .tied = true},
    {.type = "gemma3_text", .gated = true, .norms = 4, .query_norm = true, .tied = true},
    {.type = "phi3", .gated = true},
    {.type = "phimoe",
     .gated = true,
     .layer_norm = true,
     .query_bias = Yes::always,
     .out_bias = Yes::always,
     .head_bias = true,
     .experts = true},
    {.type = "deepseek", .gated = true, .experts = true},
    {.type = "kimi_k2", .gated = true, .experts = true},
    {.type = "deepseek_v2", .gated = true, .experts = true},
    {.type = "deepseek_v3", .gated = true, .experts = true},
    {.type = "phi",
     .layer_norm = true,
     .query_bias = Yes::always,
     .out_bias = Yes::always,
     .mlp_bias = Yes::always,
     .norms = 1,
     .head_bias = true},
    {.type = "gptj", .layer_norm = true, .mlp_bias = Yes::always, .norms = 1, .head_bias = true},
    {.type = "gpt_neox",
     .layer_norm = true,
     .query_bias = Yes::always,
     .out_bias = Yes::always,
     .mlp_bias = Yes::always},
    {.type = "gpt_neo",
     .layer_norm = true,
     .out_bias = Yes::always,
     .mlp_bias = Yes::always,
     .tied = true,
     .extra_positions = 0},
    {.type = "mpt", .tied = true},
    {.type = "gpt2",
     .layer_norm = true,
     .query_bias = Yes::always,
     .out_bias = Yes::always,
     .mlp_bias = Yes::always,
     .tied = true,
     .extra_positions = 0},
    {.type = "gpt_bigcode",
     .layer_norm = true,
     .query_bias = Yes::always,
     .out_bias = Yes::always,
     .mlp_bias = Yes::always,
     .tied = true,
     .extra_positions = 0},
    {.type = "opt",
     .layer_norm = true,
     .query_bias = Yes::always,
     .out_bias = Yes::always,
     .mlp_bias = Yes::always,
     .tied = true,
     .extra_positions = 2},
    {.type = "bloom",
     .layer_norm = true,
     .query_bias = Yes::always,
     .out_bias = Yes::always,
     .mlp_bias = Yes::always,
     .tied = true,
     .embedding_norm = true},
    {.type = "falcon", .layer_norm = true, .norms = 1, .tied = true},
    {.type = "starcoder2",
     .layer_norm = true,
     .query_bias = Yes::always,
     .out_bias = Yes::always,
     .mlp_bias = Yes::always,
     .tied = true},
    {.type = "stablelm", .gated = true, .layer_norm = true},
});

const DecoderFamily* find_decoder(std::string_view type) {
  const auto* const found =
      std::find_if(decoders.begin(), decoders.end(), [&](const DecoderFamily& family) { return family.type == type; });
  return found == decoders.end() ? nullptr : found;
}

/// Counts the parameters of one family with the sizes of one config.
class Count {
 public:
  Count(const DecoderFamily& family, const ConfigFields& config) : family_(family), config_(config) {
    hidden_ = need(size_of(config, {"hidden_size", "n_embd", "d_model"}));
    layers_ = need(size_of(config, {"num_hidden_layers", "n_layer", "num_layers", "n_layers"}));
    heads_ = need(size_of(config, {"num_attention_heads", "n_head", "num_heads", "n_heads"}));
    head_size_ = size_of(config, {"head_dim"}).value_or(std::floor(hidden_ / heads_));
    if (family.type == "gemma" || family.type == "gemma2") head_size_ = size_of(config, {"head_dim"}).value_or(256);
    kv_heads_ = size_of(config, {"num_key_value_heads", "num_kv_heads"}).value_or(heads_);
    if (family.type == "falcon" && !config.truth("new_decoder_architecture", false))
      kv_heads_ = config.truth("multi_query", true) ? 1 : heads_;
    if (family.type == "gpt_bigcode" && config.truth("multi_query", true)) kv_heads_ = 1;
    width_ = size_of(config, {"intermediate_size", "n_inner", "ffn_dim"}).value_or(4 * hidden_);
  }

  double all() const { return embeddings() + final_norm() + layers_ * (norms() + attention()) + feed_forwards(); }

 private:
  bool is(Yes yes) const {
    return yes == Yes::always || (yes == Yes::by_config && (config_.truth("attention_bias", false)));
  }
  static double linear(double in, double out, bool bias) { return in * out + (bias ? out : 0); }
  double norm() const { return family_.layer_norm ? 2 * hidden_ : hidden_; }

  double norms() const {
    int each = family_.norms;
    if (family_.type == "falcon" && config_.truth("new_decoder_architecture", false)) each = 2;
    if (family_.type == "falcon" && !config_.truth("parallel_attn", true)) each = 2;
    return each * norm() + (family_.query_norm ? 2 * head_size_ : 0);
  }

  double final_norm() const {
    const bool there = family_.type != "opt" || config_.truth("do_layer_norm_before", true);
    return there ? norm() : 0;
  }

  double embeddings() const {
    const double vocabulary = need(size_of(config_, {"vocab_size"}));
    const double width =
        size_of(config_, {"word_embed_proj_dim"}).value_or(hidden_);  // OPT-350m has narrower embeddings
    double sum = vocabulary * width + (width == hidden_ ? 0 : 2 * width * hidden_);
    if (!config_.truth("tie_word_embeddings", family_.tied)) sum += vocabulary * hidden_;
    if (family_.head_bias) sum += vocabulary;
    if (family_.extra_positions >= 0)
      sum += (need(size_of(config_, {"max_position_embeddings", "n_positions"})) + family_.extra_positions) * hidden_;
    return sum + (family_.embedding_norm ? norm() : 0);
  }

  /// DeepSeek computes keys and values from one short latent vector for all heads.
  double latent_attention() const {
    const double rope = need(size_of(config_, {"qk_rope_head_dim"})),
                 plain = need(size_of(config_, {"qk_nope_head_dim"})), value = need(size_of(config_, {"v_head_dim"})),
                 latent = need(size_of(config_, {"kv_lora_rank"}));
    const double query = heads_ * (rope + plain);
    const auto query_rank = size_of(config_, {"q_lora_rank"});
    const double queries = query_rank ? hidden_ * *query_rank + *query_rank + *query_rank * query : hidden_ * query;
    return queries + hidden_ * (latent + rope) + latent + latent * heads_ * (plain + value) + heads_ * value * hidden_;
  }

  double attention() const {
    if (config_.has("kv_lora_rank")) return latent_attention();
    const double query = heads_ * head_size_, key = kv_heads_ * head_size_;
    bool bias = is(family_.query_bias), out_bias = is(family_.out_bias);
    if (family_.type == "falcon") bias = out_bias = config_.truth("bias", false);
    if (family_.type == "gpt_neox") bias = out_bias = config_.truth("attention_bias", true);
    if (family_.type == "stablelm") bias = config_.truth("use_qkv_bias", false);
    const double sinks = family_.expert_bias ? heads_ : 0;
    return linear(hidden_, query, bias) + 2 * linear(hidden_, key, bias) + linear(query, hidden_, out_bias) + sinks;
  }

  double mlp(double width) const {
    bool bias = family_.mlp_bias == Yes::always;
    if (family_.mlp_bias == Yes::by_config) bias = config_.truth("mlp_bias", false);
    if (family_.type == "falcon") bias = config_.truth("bias", false);
    if (family_.expert_bias) bias = true;
    return (family_.gated ? 2 : 1) * linear(hidden_, width, bias) + linear(width, hidden_, bias);
  }

  /// Of all layers. A mixture of experts may begin with some dense layers.
  double feed_forwards() const {
    const auto experts = size_of(config_, {"num_local_experts", "num_experts", "n_routed_experts"});
    if (!experts || *experts < 2) return layers_ * mlp(width_);
    const double dense = std::min(size_of(config_, {"first_k_dense_replace"}).value_or(0), layers_);
    if (dense < layers_ && !family_.experts) throw Unknown{};
    return dense * mlp(width_) + (dense < layers_ ? (layers_ - dense) * mixture(*experts) : 0);
  }

  double mixture(double experts) const {
    const double each = size_of(config_, {"moe_intermediate_size"}).value_or(width_);
    double sum = experts * mlp(each) + experts * hidden_;  // plus the router
    if (const auto shared = size_of(config_, {"n_shared_experts"})) sum += mlp(*shared * each);
    if (const auto shared = size_of(config_, {"shared_expert_intermediate_size"}); shared.value_or(0) > 0)
      sum += mlp(*shared) + hidden_;
    // A bias corrects the router's scores, or belongs to the router.
    if (family_.type == "deepseek_v3" || family_.type == "kimi_k2" || family_.expert_bias) sum += experts;
    return sum;
  }

  const DecoderFamily& family_;
  const ConfigFields& config_;
  double hidden_ = 0, layers_ = 0, heads_ = 0, head_size_ = 0, kv_heads_ = 0, width_ = 0;
};

constexpr double linear_with_bias(double in, double out) { return in * out + out; }
constexpr double attention_with_biases(double hidden) { return 4 * linear_with_bias(hidden, hidden); }

/// BERT and related encoders: embeddings, layers, a pooler.
double encoder(const ConfigFields& config, std::string_view type) {
  const bool distilled = type == "distilbert";
  const double hidden = need(distilled ? size_of(config, {"dim"}) : size_of(config, {"hidden_size"}));
  const double layers = need(distilled ? size_of(config, {"n_layers"}) : size_of(config, {"num_hidden_layers"}));
  const double width = need(distilled ? size_of(config, {"hidden_dim"}) : size_of(config, {"intermediate_size"}));
  const double positions = need(size_of(config, {"max_position_embeddings"}));
  const double types = distilled ? 0 : size_of(config, {"type_vocab_size"}).value_or(2);
  const double embeddings = (need(size_of(config, {"vocab_size"})) + positions + types) * hidden + 2 * hidden;
  const double layer =
      attention_with_biases(hidden) + linear_with_bias(hidden, width) + linear_with_bias(width, hidden) + 4 * hidden;
  return embeddings + layers * layer + (distilled ? 0 : linear_with_bias(hidden, hidden));
}

/// T5: one token table, no biases, relative positions in the first layer of each stack.
double text_to_text(const ConfigFields& config) {
  constexpr double buckets = 32;
  const double model = need(size_of(config, {"d_model"})), width = need(size_of(config, {"d_ff"})),
               heads = need(size_of(config, {"num_heads"})), size = need(size_of(config, {"d_kv"})),
               encoder_layers = need(size_of(config, {"num_layers"})),
               vocabulary = need(size_of(config, {"vocab_size"}));
  const double decoder_layers = size_of(config, {"num_decoder_layers"}).value_or(encoder_layers);
  const double attention = 4 * model * heads * size;
  const bool gated = config.text({"feed_forward_proj"}).starts_with("gated");
  const double mlp = (gated ? 3 : 2) * model * width;
  const double positions = 2 * size_of(config, {"relative_attention_num_buckets"}).value_or(buckets) * heads;
  const double tables = vocabulary * model * (config.truth("tie_word_embeddings", true) ? 1 : 2);
  return tables + positions + encoder_layers * (attention + mlp + 2 * model) +
         decoder_layers * (2 * attention + mlp + 3 * model) + 2 * model;
}

/// BART and related models: biases everywhere. Positions are learned in both stacks, or computed (`learned` is false),
/// and then each stack ends with a norm.
double denoiser(const ConfigFields& config, bool learned) {
  constexpr double offset = 2;  // its position tables begin at 2
  const double model = need(size_of(config, {"d_model"})),
               positions = learned ? need(size_of(config, {"max_position_embeddings"})) + offset : 0;
  const auto stack = [&](std::string_view layers, std::string_view width, double attentions) {
    const double ff = need(size_of(config, {width}));
    const double layer = attentions * attention_with_biases(model) + linear_with_bias(model, ff) +
                         linear_with_bias(ff, model) + (attentions + 1) * 2 * model;
    return need(size_of(config, {layers})) * layer + positions * model + 2 * model;
  };
  return need(size_of(config, {"vocab_size"})) * model + stack("encoder_layers", "encoder_ffn_dim", 1) +
         stack("decoder_layers", "decoder_ffn_dim", 2);
}

/// Whisper: two convolutions before the encoder; keys have no bias.
double speech(const ConfigFields& config) {
  constexpr double kernel = 3;
  const double model = need(size_of(config, {"d_model"})), mels = size_of(config, {"num_mel_bins"}).value_or(80);
  const auto stack = [&](std::string_view layers, std::string_view width, double attentions) {
    const double ff = need(size_of(config, {width}));
    const double layer = attentions * (attention_with_biases(model) - model) + linear_with_bias(model, ff) +
                         linear_with_bias(ff, model) + (attentions + 1) * 2 * model;
    return need(size_of(config, {layers})) * layer + 2 * model;
  };
  const double positions = size_of(config, {"max_source_positions"}).value_or(1500) +
                           size_of(config, {"max_target_positions"}).value_or(448);
  return linear_with_bias(kernel * mels, model) + linear_with_bias(kernel * model, model) +
         (positions + need(size_of(config, {"vocab_size"}))) * model + stack("encoder_layers", "encoder_ffn_dim", 1) +
         stack("decoder_layers", "decoder_ffn_dim", 2);
}

/// ViT and the towers of CLIP: patches, layers, norms. A classifier is counted where the task has one.
double images(const ConfigFields& config, bool clip) {
  constexpr double channels = 3;
  const double hidden = need(size_of(config, {"hidden_size"})), width = need(size_of(config, {"intermediate_size"})),
               layers = need(size_of(config, {"num_hidden_layers"})), side = need(size_of(config, {"image_size"})),
               patch = need(size_of(config, {"patch_size"}));
  const double of_side = std::floor(side / patch), tokens = of_side * of_side + 1;
  const double layer =
      attention_with_biases(hidden) + linear_with_bias(hidden, width) + linear_with_bias(width, hidden) + 4 * hidden;
  const double patches = channels * patch * patch * hidden + (clip ? 0 : hidden);
  return patches + hidden + tokens * hidden + layers * layer + (clip ? 4 : 2) * hidden;
}

}  // namespace

std::optional<i64> parameters_in(const ConfigFields& config) {
  const std::string type = config.text({"model_type"});
  try {
    if (type == "bert" || type == "roberta" || type == "xlm-roberta" || type == "distilbert")
      return whole_number(encoder(config, type));
    if (type == "t5" || type == "mt5" || type == "umt5") return whole_number(text_to_text(config));
    if (type == "bart" || type == "mbart") return whole_number(denoiser(config, true));
    if (type == "pegasus" || type == "m2m_100" || type == "marian") return whole_number(denoiser(config, false));
    if (type == "whisper") return whole_number(speech(config));
    if (type == "vit") return whole_number(images(config, false));
    if (is_diffusion(type)) return config.size({"parameters"});
    const DecoderFamily* family = find_decoder(type);
    return family == nullptr ? std::nullopt : std::optional(whole_number(Count(*family, config).all()));
  } catch (const Unknown&) {
    return std::nullopt;
  }
}

bool is_diffusion(std::string_view model_type) {
  return model_type == "unet" || model_type == "dit" || model_type == "vae";
}

std::optional<bool> has_gated_mlp(std::string_view model_type) {
  const DecoderFamily* family = find_decoder(model_type);
  return family == nullptr ? std::nullopt : std::optional(family->gated);
}

bool has_known_experts(std::string_view model_type) {
  const DecoderFamily* family = find_decoder(model_type);
  return family != nullptr && family->experts;
}

std::optional<i64> vision_parameters_in(const ConfigFields& config) {
  const std::string type = config.text({"model_type"});
  try {
    if (type == "clip_vision_model") return whole_number(images(config, true));
    if (type == "vit") return whole_number(images(config, false));
    return std::nullopt;
  } catch (const Unknown&) {
    return std::nullopt;
  }
}

}  // namespace oomdoctor::cli
