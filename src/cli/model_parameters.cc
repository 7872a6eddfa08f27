// Each decoder family is a row of its structure, and the count is a sum over the row. The test compares it with the
// published totals of forty models (tests/cli/published_models.py).
#include "cli/model_parameters.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace oomdoctor::cli {
namespace {

/// Thrown if a size is missing. The public functions catch it: the whole count is then unknown.
struct Unknown {};

i64 need(const std::optional<i64>& size) {
  if (!size) throw Unknown{};
  return *size;
}

enum class Yes { never, always, by_config };

/// A decoder with a single stack of layers.
struct Decoder {
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
};

constexpr auto decoders = std::to_array<Decoder>({
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
    {.type = "gemma", .gated = true, .tied = true},
    {.type = "gemma2", .gated = true, .norms = 4, .tied = true},
    {.type = "gemma3_text", .gated = true, .norms = 4, .query_norm = true, .tied = true},
    {.type = "phi3", .gated = true},
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

/// Counts the parameters of one family with the sizes of one config.
class Count {
 public:
  Count(const Decoder& family, const ConfigFields& config) : family_(family), config_(config) {
    hidden_ = need(config.size({"hidden_size", "n_embd", "d_model"}));
    layers_ = need(config.size({"num_hidden_layers", "n_layer", "num_layers"}));
    heads_ = need(config.size({"num_attention_heads", "n_head", "num_heads"}));
    head_size_ = config.size({"head_dim"}).value_or(hidden_ / std::max<i64>(heads_, 1));
    if (family.type == "gemma" || family.type == "gemma2") head_size_ = config.size({"head_dim"}).value_or(256);
    kv_heads_ = config.size({"num_key_value_heads", "num_kv_heads"}).value_or(heads_);
    if (family.type == "falcon" && !config.truth("new_decoder_architecture", false))
      kv_heads_ = config.truth("multi_query", true) ? 1 : heads_;
    if (family.type == "gpt_bigcode" && config.truth("multi_query", true)) kv_heads_ = 1;
    width_ = config.size({"intermediate_size", "n_inner", "ffn_dim"}).value_or(4 * hidden_);
  }

  i64 all() const {
    i64 sum = embeddings() + final_norm();
    for (i64 layer = 0; layer < layers_; ++layer) sum += norms() + attention() + feed_forward(layer);
    return sum;
  }

 private:
  bool is(Yes yes) const {
    return yes == Yes::always || (yes == Yes::by_config && (config_.truth("attention_bias", false)));
  }
  static i64 linear(i64 in, i64 out, bool bias) { return in * out + (bias ? out : 0); }
  i64 norm() const { return family_.layer_norm ? 2 * hidden_ : hidden_; }

  i64 norms() const {
    int each = family_.norms;
    if (family_.type == "falcon" && config_.truth("new_decoder_architecture", false)) each = 2;
    if (family_.type == "falcon" && !config_.truth("parallel_attn", true)) each = 2;
    return each * norm() + (family_.query_norm ? 2 * head_size_ : 0);
  }

  i64 final_norm() const {
    const bool there = family_.type != "opt" || config_.truth("do_layer_norm_before", true);
    return there ? norm() : 0;
  }

  i64 embeddings() const {
    const i64 vocabulary = need(config_.size({"vocab_size"}));
    const i64 width = config_.size({"word_embed_proj_dim"}).value_or(hidden_);  // OPT-350m has narrower embeddings
    i64 sum = vocabulary * width + (width == hidden_ ? 0 : 2 * width * hidden_);
    if (!config_.truth("tie_word_embeddings", family_.tied)) sum += vocabulary * hidden_;
    if (family_.head_bias) sum += vocabulary;
    if (family_.extra_positions >= 0)
      sum += (need(config_.size({"max_position_embeddings", "n_positions"})) + family_.extra_positions) * hidden_;
    return sum + (family_.embedding_norm ? norm() : 0);
  }

  /// DeepSeek computes keys and values from one short latent vector for all heads.
  i64 latent_attention() const {
    const i64 rope = need(config_.size({"qk_rope_head_dim"})), plain = need(config_.size({"qk_nope_head_dim"})),
              value = need(config_.size({"v_head_dim"})), latent = need(config_.size({"kv_lora_rank"}));
    const i64 query = heads_ * (rope + plain);
    const auto query_rank = config_.size({"q_lora_rank"});
    const i64 queries = query_rank ? hidden_ * *query_rank + *query_rank + *query_rank * query : hidden_ * query;
    return queries + hidden_ * (latent + rope) + latent + latent * heads_ * (plain + value) + heads_ * value * hidden_;
  }

  i64 attention() const {
    if (config_.has("kv_lora_rank")) return latent_attention();
    const i64 query = heads_ * head_size_, key = kv_heads_ * head_size_;
    bool bias = is(family_.query_bias), out_bias = is(family_.out_bias);
    if (family_.type == "falcon") bias = out_bias = config_.truth("bias", false);
    if (family_.type == "gpt_neox") bias = out_bias = config_.truth("attention_bias", true);
    if (family_.type == "stablelm") bias = config_.truth("use_qkv_bias", false);
    return linear(hidden_, query, bias) + 2 * linear(hidden_, key, bias) + linear(query, hidden_, out_bias);
  }

  i64 mlp(i64 width) const {
    bool bias = family_.mlp_bias == Yes::always;
    if (family_.mlp_bias == Yes::by_config) bias = config_.truth("mlp_bias", false);
    if (family_.type == "falcon") bias = config_.truth("bias", false);
    return (family_.gated ? 2 : 1) * linear(hidden_, width, bias) + linear(width, hidden_, bias);
  }

  i64 feed_forward(i64 layer) const {
    const auto experts = config_.size({"num_local_experts", "num_experts", "n_routed_experts"});
    const i64 dense_first = config_.size({"first_k_dense_replace"}).value_or(0);
    if (!experts || *experts < 2 || layer < dense_first) return mlp(width_);
    if (!family_.experts) throw Unknown{};
    const i64 each = config_.size({"moe_intermediate_size"}).value_or(width_);
    i64 sum = *experts * mlp(each) + *experts * hidden_;  // plus the router
    if (const auto shared = config_.size({"n_shared_experts"})) sum += mlp(*shared * each);
    if (const auto shared = config_.size({"shared_expert_intermediate_size"})) sum += mlp(*shared) + hidden_;
    if (family_.type == "deepseek_v3") sum += *experts;  // bias that corrects the router's scores
    return sum;
  }

  const Decoder& family_;
  const ConfigFields& config_;
  i64 hidden_ = 0, layers_ = 0, heads_ = 0, head_size_ = 0, kv_heads_ = 0, width_ = 0;
};

constexpr i64 linear_with_bias(i64 in, i64 out) { return in * out + out; }
constexpr i64 attention_with_biases(i64 hidden) { return 4 * linear_with_bias(hidden, hidden); }

/// BERT and related encoders: embeddings, layers, a pooler.
i64 encoder(const ConfigFields& config, std::string_view type) {
  const bool distilled = type == "distilbert";
  const i64 hidden = need(distilled ? config.size({"dim"}) : config.size({"hidden_size"}));
  const i64 layers = need(distilled ? config.size({"n_layers"}) : config.size({"num_hidden_layers"}));
  const i64 width = need(distilled ? config.size({"hidden_dim"}) : config.size({"intermediate_size"}));
  const i64 positions = need(config.size({"max_position_embeddings"}));
  const i64 types = distilled ? 0 : config.size({"type_vocab_size"}).value_or(2);
  const i64 embeddings = (need(config.size({"vocab_size"})) + positions + types) * hidden + 2 * hidden;
  const i64 layer =
      attention_with_biases(hidden) + linear_with_bias(hidden, width) + linear_with_bias(width, hidden) + 4 * hidden;
  return embeddings + layers * layer + (distilled ? 0 : linear_with_bias(hidden, hidden));
}

/// T5: one token table, no biases, relative positions in the first layer of each stack.
i64 text_to_text(const ConfigFields& config) {
  constexpr i64 buckets = 32;
  const i64 model = need(config.size({"d_model"})), width = need(config.size({"d_ff"})),
            heads = need(config.size({"num_heads"})), size = need(config.size({"d_kv"})),
            encoder_layers = need(config.size({"num_layers"})), vocabulary = need(config.size({"vocab_size"}));
  const i64 decoder_layers = config.size({"num_decoder_layers"}).value_or(encoder_layers);
  const i64 attention = 4 * model * heads * size;
  const bool gated = config.text({"feed_forward_proj"}).starts_with("gated");
  const i64 mlp = (gated ? 3 : 2) * model * width;
  const i64 positions = 2 * config.size({"relative_attention_num_buckets"}).value_or(buckets) * heads;
  const i64 tables = vocabulary * model * (config.truth("tie_word_embeddings", true) ? 1 : 2);
  return tables + positions + encoder_layers * (attention + mlp + 2 * model) +
         decoder_layers * (2 * attention + mlp + 3 * model) + 2 * model;
}

/// BART: biases everywhere, learned positions in both stacks.
i64 denoiser(const ConfigFields& config) {
  constexpr i64 offset = 2;  // its position tables begin at 2
  const i64 model = need(config.size({"d_model"})), positions = need(config.size({"max_position_embeddings"}));
  const auto stack = [&](std::string_view layers, std::string_view width, i64 attentions) {
    const i64 ff = need(config.size({width}));
    const i64 layer = attentions * attention_with_biases(model) + linear_with_bias(model, ff) +
                      linear_with_bias(ff, model) + (attentions + 1) * 2 * model;
    return need(config.size({layers})) * layer + (positions + offset) * model + 2 * model;
  };
  return need(config.size({"vocab_size"})) * model + stack("encoder_layers", "encoder_ffn_dim", 1) +
         stack("decoder_layers", "decoder_ffn_dim", 2);
}

/// Whisper: two convolutions before the encoder; keys have no bias.
i64 speech(const ConfigFields& config) {
  constexpr i64 kernel = 3;
  const i64 model = need(config.size({"d_model"})), mels = config.size({"num_mel_bins"}).value_or(80);
  const auto stack = [&](std::string_view layers, std::string_view width, i64 attentions) {
    const i64 ff = need(config.size({width}));
    const i64 layer = attentions * (attention_with_biases(model) - model) + linear_with_bias(model, ff) +
                      linear_with_bias(ff, model) + (attentions + 1) * 2 * model;
    return need(config.size({layers})) * layer + 2 * model;
  };
  const i64 positions =
      config.size({"max_source_positions"}).value_or(1500) + config.size({"max_target_positions"}).value_or(448);
  return linear_with_bias(kernel * mels, model) + linear_with_bias(kernel * model, model) +
         (positions + need(config.size({"vocab_size"}))) * model + stack("encoder_layers", "encoder_ffn_dim", 1) +
         stack("decoder_layers", "decoder_ffn_dim", 2);
}

/// ViT and the towers of CLIP: patches, layers, norms. A classifier is counted where the task has one.
i64 images(const ConfigFields& config, bool clip) {
  constexpr i64 channels = 3;
  const i64 hidden = need(config.size({"hidden_size"})), width = need(config.size({"intermediate_size"})),
            layers = need(config.size({"num_hidden_layers"})), side = need(config.size({"image_size"})),
            patch = need(config.size({"patch_size"}));
  const i64 tokens = (side / patch) * (side / patch) + 1;
  const i64 layer =
      attention_with_biases(hidden) + linear_with_bias(hidden, width) + linear_with_bias(width, hidden) + 4 * hidden;
  const i64 patches = channels * patch * patch * hidden + (clip ? 0 : hidden);
  return patches + hidden + tokens * hidden + layers * layer + (clip ? 4 : 2) * hidden;
}

}  // namespace

std::optional<i64> parameters_in(const ConfigFields& config) {
  const std::string type = config.text({"model_type"});
  try {
    if (type == "bert" || type == "roberta" || type == "xlm-roberta" || type == "distilbert")
      return encoder(config, type);
    if (type == "t5" || type == "mt5" || type == "umt5") return text_to_text(config);
    if (type == "bart" || type == "mbart") return denoiser(config);
    if (type == "whisper") return speech(config);
    if (type == "vit") return images(config, false);
    const auto family =
        std::find_if(decoders.begin(), decoders.end(), [&](const Decoder& decoder) { return decoder.type == type; });
    return family == decoders.end() ? std::nullopt : std::optional(Count(*family, config).all());
  } catch (const Unknown&) {
    return std::nullopt;
  }
}

std::optional<i64> vision_parameters_in(const ConfigFields& config) {
  const std::string type = config.text({"model_type"});
  try {
    if (type == "clip_vision_model") return images(config, true);
    if (type == "vit") return images(config, false);
    return std::nullopt;
  } catch (const Unknown&) {
    return std::nullopt;
  }
}

}  // namespace oomdoctor::cli
