// The peak of a run for many batches and sequence lengths, and the largest batch that fits for each length.
#pragma once

#include <optional>
#include <vector>

#include "estimate/model_memory.h"

namespace oomdoctor {

/// One run of the sweep.
struct SweepPoint {
  i64 batch = 0, sequence = 0;  ///< the latter with tokens of images
  i64 peak = 0;                 ///< bytes
  bool fits = false;
};

/// Powers of two of both, up to the first that fits no more.
struct Sweep {
  std::vector<i64> batches, sequences;
  std::vector<SweepPoint> points;  ///< all lengths of a batch, then those of the next
  std::vector<i64> largest;        ///< for each length, the largest batch that fits; 0: none
};

/// nullopt if a size of the model or the run is unknown.
std::optional<Sweep> compute_sweep(const ModelShape& model, const RunShape& run, i64 capacity);

}  // namespace oomdoctor
