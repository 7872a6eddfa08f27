// The memory of one pass of a UNet over one image, counted block by block.
#pragma once

#include "estimate/model_shape.h"

namespace oomdoctor {

/// Bytes for one image.
struct UnetMemory {
  double kept = 0;                        ///< what the backward pass needs
  double inputs = 0;                      ///< of all blocks and transformer layers, which checkpointing keeps
  double largest = 0;                     ///< what the largest block keeps
  double passing = 0;                     ///< without a backward pass, at the largest block
  double scores = 0, largest_scores = 0;  ///< attention scores of all layers and of one, in numbers
  double blocks = 0;                      ///< how many
};

/// Bytes of a number and the precision of the norms.
struct UnetPrecision {
  double bytes = 2;
  bool autocast = false;
};

/// `latents`: numbers in one channel of the latents.
UnetMemory compute_unet_memory(const UnetShape& unet, double latents, const UnetPrecision& precision);

}  // namespace oomdoctor
