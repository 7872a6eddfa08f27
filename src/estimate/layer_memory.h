// The bytes of one layer: of an ordinary layer, one with experts, one of an encoder. They are what it keeps for the
// backward pass, or without one what it needs at a time.
#pragma once

#include "estimate/model_shape.h"

namespace oomdoctor {

/// What changes the bytes of a layer besides the model.
struct LayerSplit {
  double precision = 1;  ///< bytes of a number, in those of 16 bits
  double tensor = 1;     ///< tensor-parallel ranks
  bool sequence_parallel = false;
  bool backward = true;  ///< a backward pass follows
};

/// Bytes per token and hidden unit.
struct LayerMemory {
  double dense = 0;     ///< a layer with an ordinary MLP
  double sparse = 0;    ///< a layer with experts; 0: there is none
  double average = 0;   ///< over all layers
  double encoder = 0;   ///< a layer of the encoder; 0: there is none
  double attended = 0;  ///< for each token of the encoder, in each layer that attends to it

  double largest() const { return dense > sparse ? dense : sparse; }
};

/// The hidden size must be known, and the width of a gated MLP.
LayerMemory compute_layer_memory(const ModelShape& model, const LayerSplit& split);

}  // namespace oomdoctor
