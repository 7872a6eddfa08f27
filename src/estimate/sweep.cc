#include "estimate/sweep.h"

#include <algorithm>

#include "estimate/model_plan.h"

namespace oomdoctor {
namespace {

constexpr i64 shortest = 128;         // tokens; shorter samples are rare
constexpr std::size_t max_sizes = 9;  // as many rows and columns as a screen shows well

/// Powers of two from `first` to the first one beyond `last`, at most `end`; the last of them if they are too many.
std::vector<i64> list_sizes(i64 first, i64 last, i64 end) {
  std::vector<i64> sizes;
  for (i64 size = first; size == first || size <= end; size *= 2) {
    sizes.push_back(size);
    if (size > last) break;
  }
  if (sizes.size() > max_sizes) sizes.erase(sizes.begin(), sizes.end() - max_sizes);
  return sizes;
}

/// A model of images alone has one length, which the images determine.
std::vector<i64> list_sequences(const ModelShape& model, RunShape run, i64 capacity) {
  if (model.patch > 0) return {run.sequence.value_or(1)};
  run.batch = 1;
  const auto longest = longest_sequence(model, run, capacity);
  if (!longest) return {};
  constexpr i64 end = i64{1} << 27;
  std::vector<i64> sequences = list_sizes(shortest, *longest, model.positions.value_or(end));
  if (model.positions && *model.positions > sequences.back() && *longest >= sequences.back())
    sequences.push_back(*model.positions);  // the whole length of the model is of interest
  return sequences;
}

}  // namespace

std::optional<Sweep> compute_sweep(const ModelShape& model, const RunShape& run, i64 capacity) {
  Sweep sweep;
  sweep.sequences = list_sequences(model, run, capacity);
  if (sweep.sequences.empty()) return std::nullopt;
  RunShape tried = run;
  for (const i64 sequence : sweep.sequences) {
    tried.sequence = sequence;
    const auto largest = largest_batch(model, tried, capacity);
    if (!largest) return std::nullopt;
    sweep.largest.push_back(*largest);
  }
  constexpr i64 end = i64{1} << 20;
  sweep.batches = list_sizes(1, *std::max_element(sweep.largest.begin(), sweep.largest.end()), end);
  for (const i64 batch : sweep.batches)
    for (const i64 sequence : sweep.sequences) {
      tried.batch = batch;
      tried.sequence = sequence;
      const Budget budget = compute_budget(model, tried);
      sweep.points.push_back({batch, sequence + run.image_tokens, budget.total.count, fits(budget, capacity)});
    }
  for (i64& sequence : sweep.sequences) sequence += run.image_tokens;
  return sweep;
}

}  // namespace oomdoctor
