#include "estimate/model_shape.h"

#include <algorithm>

#include "estimate/model_memory_constants.h"

namespace oomdoctor {
namespace {

constexpr std::size_t query_matrix = 0, value_matrix = 2;  // indices into the result of list_matrices()

}  // namespace

// Query, key, value, output, the MLP's up and down projections, its gate.
std::optional<std::vector<LinearLayer>> list_matrices(const ModelShape& model) {
  if (!model.hidden || (model.gated && !model.intermediate)) return std::nullopt;
  const double hidden = to_double(*model.hidden);
  double query = hidden;
  if (model.heads && model.head_size) query = to_double(*model.heads) * to_double(*model.head_size);
  double key = query;
  if (model.kv_heads) {
    if (!model.head_size && !model.heads) return std::nullopt;
    const double size = model.head_size ? to_double(*model.head_size) : hidden / std::max(to_double(*model.heads), 1.0);
    key = to_double(*model.kv_heads) * size;
  }
  const double width = model.intermediate ? to_double(*model.intermediate) : model_memory::classic_width * hidden;
  std::vector<LinearLayer> all = {{hidden, query}, {hidden, key},   {hidden, key},
                                  {query, hidden}, {hidden, width}, {width, hidden}};
  if (model.gated) all.push_back({hidden, width});
  return all;
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
  if (!matrices || model.irregular || !model.layers || (!model.vocabulary && model.patch == 0)) return std::nullopt;
  const double hidden = to_double(*model.hidden);
  double layer = 2 * hidden;  // two norms
  for (const LinearLayer& matrix : *matrices) layer += matrix.in * matrix.out;
  return whole_number(embedding_parameters(model) + patch_parameters(model) + to_double(*model.layers) * layer +
                      hidden);
}

std::optional<i64> adapter_parameters(const ModelShape& model, i64 rank, AdapterTargets targets) {
  const auto matrices = list_matrices(model);
  if (!matrices || !model.layers) return std::nullopt;
  double sum = 0;
  for (std::size_t i = 0; i < matrices->size(); ++i)
    if (targets == AdapterTargets::all_linear || i == query_matrix || i == value_matrix)
      sum += (*matrices)[i].in + (*matrices)[i].out;
  return whole_number(to_double(rank) * sum * to_double(*model.layers));
}

i64 image_tokens(i64 width, i64 height, i64 patch) {
  return patch > 0 ? std::max<i64>(width / patch, 1) * std::max<i64>(height / patch, 1) : 0;
}

}  // namespace oomdoctor
