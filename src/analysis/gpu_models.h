// GPU models and the memory that programs see on them.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "base/bytes.h"

namespace oomdoctor {

struct GpuModel {
  std::string_view name;  ///< its words joined by '-'
  double gibibytes = 0;   ///< what torch prints as the total capacity; the least where drivers differ
  bool common = false;    ///< offered by `estimate` when it lists what fits

  i64 bytes() const;
};

/// The smallest first.
std::span<const GpuModel> gpu_models();

/// The model that a name as drivers print it means: "NVIDIA A100-SXM4-80GB", "GeForce RTX 3090", "Tesla T4". Nothing
/// where the name leaves the memory open ("A100"), and for laptop GPUs and parts of a GPU (MIG).
std::optional<GpuModel> find_gpu_model(std::string_view printed_name);

}  // namespace oomdoctor
