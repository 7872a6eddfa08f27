#include "estimate/model_shape.h"

#include <fmt/format.h>

#include <algorithm>

#include "estimate/model_memory_constants.h"

namespace oomdoctor {
namespace {

/// Collects the linear layers of a model.
class LinearLayers {
 public:
  explicit LinearLayers(const ModelShape& model) : model_(model), hidden_(to_double(*model.hidden)) {}

  /// Query, key, value, output. False if sizes are missing.
  bool add_attention(double count) {
    if (model_.latent) return add_latent_attention(*model_.latent, count);
    double query = hidden_;
    if (model_.heads && model_.head_size) query = to_double(*model_.heads) * to_double(*model_.head_size);
    double key = query;
    if (model_.kv_heads) {
      if (!model_.head_size && !model_.heads) return false;
      const double size =
          model_.head_size ? to_double(*model_.head_size) : hidden_ / std::max(to_double(*model_.heads), 1.0);
      key = to_double(*model_.kv_heads) * size;
    }
    add(hidden_, query, LinearRole::query, count);
    add(hidden_, key, LinearRole::other, count);
    add(hidden_, key, LinearRole::value, count);
    add(query, hidden_, LinearRole::other, count);
    return true;
  }

  /// The projections up and down, and the gate.
  void add_mlp(double width, double count) {
    add(hidden_, width, LinearRole::other, model_.gated ? 2 * count : count);
    add(width, hidden_, LinearRole::other, count);
  }

  /// The MLP of this width, or of four hidden sizes.
  double width_of(const std::optional<i64>& intermediate) const {
    return intermediate ? to_double(*intermediate) : model_memory::classic_width * hidden_;
  }

  void add(double in, double out, LinearRole role, double count) {
    if (count > 0) all.push_back({in, out, role, count});
  }

  std::vector<LinearLayer> all;

 private:
  bool add_latent_attention(const LatentAttention& latent, double count) {
    if (!model_.heads) return false;
    const double heads = to_double(*model_.heads), rotary = to_double(latent.rotary),
                 short_vector = to_double(latent.latent), key = to_double(latent.key_size),
                 value = to_double(latent.value_size), rank = to_double(latent.query_rank);
    if (rank > 0) add(hidden_, rank, LinearRole::other, count);
    add(rank > 0 ? rank : hidden_, heads * (key + rotary), LinearRole::query, count);
    add(hidden_, short_vector + rotary, LinearRole::other, count);
    add(short_vector, heads * (key + value), LinearRole::value, count);
    add(heads * value, hidden_, LinearRole::other, count);
    return true;
  }

  const ModelShape& model_;
  double hidden_;
};

/// The linear layers of the transformers of a UNet.
std::vector<LinearLayer> list_unet_matrices(const UnetShape& unet) {
  std::vector<LinearLayer> all;
  const auto add = [&](const UnetLevel& level, i64 layers, i64 transformers) {
    const double hidden = to_double(level.channels), text = to_double(unet.text_width),
                 count = to_double(layers * transformers), width = model_memory::classic_width * hidden;
    if (count == 0) return;
    // Attention to the image itself and to the text, then the MLP with a gate; around the layers two projections.
    all.push_back({hidden, hidden, LinearRole::query, 2 * count});
    all.push_back({hidden, hidden, LinearRole::value, count});
    all.push_back({hidden, hidden, LinearRole::other, 3 * count + 2 * to_double(transformers)});
    all.push_back({text, hidden, LinearRole::other, count});
    all.push_back({text, hidden, LinearRole::value, count});
    all.push_back({hidden, 2 * width, LinearRole::other, count});
    all.push_back({width, hidden, LinearRole::other, count});
  };
  for (const UnetLevel& level : unet.levels) add(level, level.transformer_layers, 2 * unet.blocks + 1);
  add(unet.levels.back(), unet.middle_layers, 1);
  return all;
}

/// The layers whose MLP is a mixture of experts.
double count_sparse_layers(const ModelShape& model) {
  if (!model.experts) return 0;
  return std::max(to_double(model.layers.value_or(0)) - to_double(model.experts->dense_layers), 0.0);
}

}  // namespace

std::optional<std::vector<LinearLayer>> list_matrices(const ModelShape& model) {
  if (model.images && model.images->unet) return list_unet_matrices(*model.images->unet);
  if (!model.hidden || !model.layers || (model.gated && !model.intermediate)) return std::nullopt;
  LinearLayers linear(model);
  const double layers = to_double(*model.layers), sparse = count_sparse_layers(model);
  const double encoder_layers = model.encoder ? to_double(model.encoder->layers) : 0;
  const double text = to_double(model.text_stream_layers), cross = model.encoder || model.attends_text ? layers : 0;
  const double attentions = layers + text + encoder_layers + cross;
  if (!linear.add_attention(attentions)) return std::nullopt;
  linear.add_mlp(linear.width_of(model.intermediate), layers + text - sparse);
  if (model.encoder) linear.add_mlp(linear.width_of(model.encoder->intermediate), encoder_layers);
  if (sparse > 0) {
    const Experts& experts = *model.experts;
    linear.add(to_double(*model.hidden), to_double(experts.count), LinearRole::other, sparse);  // the router
    linear.add_mlp(to_double(experts.width), sparse * to_double(experts.count));
    if (experts.shared_width > 0) linear.add_mlp(to_double(experts.shared_width), sparse);
  }
  return std::move(linear.all);
}

double embedding_parameters(const ModelShape& model) {
  if (!model.vocabulary || !model.hidden) return 0;
  return to_double(*model.vocabulary) * to_double(*model.hidden) * (model.tied_embeddings ? 1 : 2);
}

double patch_parameters(const ModelShape& model) {
  constexpr double channels = 3;
  return model.hidden ? channels * to_double(model.patch) * to_double(model.patch) * to_double(*model.hidden) : 0;
}

std::optional<i64> count_parameters(const ModelShape& model) {
  if (model.parameters) return model.parameters;
  const auto matrices = list_matrices(model);
  if (!matrices || model.irregular || (!model.vocabulary && model.patch == 0)) return std::nullopt;
  const double hidden = to_double(*model.hidden);
  double sum = embedding_parameters(model) + patch_parameters(model) + hidden;
  for (const LinearLayer& matrix : *matrices) sum += matrix.count * matrix.in * matrix.out;
  constexpr double norms = 2;  // of a layer
  return whole_number(sum + norms * to_double(*model.layers) * hidden);
}

std::optional<i64> count_active_parameters(const ModelShape& model) {
  const auto all = count_parameters(model);
  if (!all || !model.experts || !model.hidden) return all;
  const double matrices = model.gated ? 3 : 2;
  const double idle = to_double(model.experts->count - model.experts->active) * matrices * to_double(*model.hidden) *
                      to_double(model.experts->width) * count_sparse_layers(model);
  return whole_number(std::max(to_double(*all) - idle, 0.0));
}

std::optional<i64> adapter_parameters(const ModelShape& model, i64 rank, AdapterTargets targets) {
  const auto matrices = list_matrices(model);
  if (!matrices) return std::nullopt;
  double sum = 0;
  for (const LinearLayer& matrix : *matrices)
    if (targets == AdapterTargets::all_linear || matrix.role != LinearRole::other)
      sum += matrix.count * (matrix.in + matrix.out);
  return whole_number(to_double(rank) * sum);
}

i64 image_tokens(i64 width, i64 height, i64 patch) {
  return patch > 0 ? std::max<i64>(width / patch, 1) * std::max<i64>(height / patch, 1) : 0;
}

std::string count_words(double count) {
  if (count >= 1e12) return fmt::format("{:.4g} trillion", count / 1e12);
  if (count >= 1e9) return fmt::format("{:.4g} billion", count / 1e9);
  if (count >= 1e6) return fmt::format("{:.4g} million", count / 1e6);
  return fmt::format("{:.0f}", count);
}

}  // namespace oomdoctor
