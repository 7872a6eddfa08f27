// A layer has blocks: attention, MLP and, after an encoder, a second attention. Each block keeps its norm and the
// input of its linear layers, which tensor parallelism does not divide, and what the linear layers put out, which it
// divides.
#include "estimate/layer_memory.h"

#include <algorithm>

#include "estimate/model_memory_constants.h"

namespace oomdoctor {
namespace {

using namespace model_memory;

class LayerCounter {
 public:
  LayerCounter(const ModelShape& model, const LayerSplit& split)
      : model_(model),
        split_(split),
        layer_(model.modulated ? modulated_layer
               : model.gated   ? gated_layer
                               : classic_layer),
        hidden_(std::max(to_double(model.hidden.value_or(1)), 1.0)) {}

  LayerMemory count() const {
    LayerMemory memory;
    memory.dense = layer(model_.encoder.has_value(), mlp(width_of(model_.intermediate)));
    memory.average = memory.dense;
    if (model_.parallel_layers > 0) {
      const double layers = std::max(to_double(model_.layers.value_or(0)), 1.0);
      const double parallel = std::min(to_double(model_.parallel_layers), layers);
      memory.average = ((layers - parallel) * memory.dense + parallel * side_by_side()) / layers;
    }
    if (const auto& experts = model_.experts) {
      const double layers = std::max(to_double(model_.layers.value_or(0)), 1.0);
      const double dense = std::min(to_double(experts->dense_layers), layers);
      memory.sparse = layer(model_.encoder.has_value(), mixture(*experts));
      memory.average = (dense * memory.dense + (layers - dense) * memory.sparse) / layers;
    }
    if (model_.encoder) {
      memory.encoder = layer(false, mlp(width_of(model_.encoder->intermediate)));
      memory.attended = divided(layer_.split / 2);  // its key and value
    }
    return memory;
  }

 private:
  double layer(bool attends, double mlp) const {
    if (split_.backward) return blocks(attends ? 3 : 2) + self_attention() + (attends ? attend_half() : 0) + mlp;
    const double shared =
        passing_hidden * sixteen_bit * split_.precision / (split_.sequence_parallel ? split_.tensor : 1);
    return shared + std::max(self_attention(), mlp);
  }

  /// A layer with attention and MLP side by side.
  double side_by_side() const {
    return blocks(1) + self_attention() + divided(joined_output) + mlp(width_of(model_.intermediate));
  }

  double divided(double bytes) const { return bytes * split_.precision / split_.tensor; }

  /// What tensor parallelism does not divide, of some of the two blocks of a layer.
  double blocks(double number) const {
    const double shared = (layer_.shared - layer_.fixed) * split_.precision + layer_.fixed;
    return number * shared / layer_blocks / (split_.sequence_parallel ? split_.tensor : 1);
  }

  double self_attention() const {
    if (!model_.latent)
      return divided(layer_.split + (model_.query_norm ? query_norms : 0) + (model_.attends_text ? text_attention : 0));
    const LatentAttention& latent = *model_.latent;
    const double heads = to_double(model_.heads.value_or(0)), key = to_double(latent.key_size),
                 value = to_double(latent.value_size), rotary = to_double(latent.rotary);
    // Query and key, value and output, and the tensor that key and value are parts of.
    const double of_heads = heads * (2 * (key + rotary) + 2 * value + key + value);
    const double of_vectors = to_double(latent.query_rank + latent.latent) + rotary;
    return divided(sixteen_bit * of_heads / hidden_) + latent_vector * of_vectors / hidden_ * split_.precision;
  }

  /// Query and output of the attention to an encoder.
  double attend_half() const { return divided(layer_.split / 2); }

  double width_of(const std::optional<i64>& intermediate) const {
    return intermediate ? to_double(*intermediate) / hidden_ : classic_width;
  }
  double mlp(double width) const {
    const double passing = sixteen_bit * (model_.gated ? passing_widths_gated : passing_widths);
    return divided((split_.backward ? layer_.split_per_width : passing) * width);
  }

  double mixture(const Experts& experts) const {
    const double active = to_double(experts.active);
    const double width = active * to_double(experts.width) + to_double(experts.shared_width);
    return mlp(width / hidden_) + routed * active * split_.precision;
  }

  const ModelShape& model_;
  const LayerSplit& split_;
  const LayerBytes& layer_;
  double hidden_;
};

}  // namespace

LayerMemory compute_layer_memory(const ModelShape& model, const LayerSplit& split) {
  return LayerCounter(model, split).count();
}

}  // namespace oomdoctor
