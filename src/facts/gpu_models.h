// GPU models and the memory that programs see on them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace oomdoctor {

/// A GPU model.
struct GpuModel {
  std::string_view name;  ///< words joined by '-'
  double gibibytes = 0;   ///< total capacity as torch prints it; the smallest value if drivers differ
  bool common = false;    ///< `estimate` includes it in its list of GPUs that fit

  i64 bytes() const;
};

/// All models, the smallest first.
std::span<const GpuModel> gpu_models();

/// Finds the model for a name as drivers print it: "NVIDIA A100-SXM4-80GB", "GeForce RTX 3090", "Tesla T4". nullopt if
/// the name leaves the memory open ("A100"), and for laptop GPUs and parts of a GPU (MIG).
std::optional<GpuModel> find_gpu_model(std::string_view printed_name);

/// Finds the model for a name as people type it: "4090", "3090ti", "a100-80g". nullopt if it leaves the memory open.
std::optional<GpuModel> find_gpu_by_short_name(std::string_view typed);

/// A model's name as people type it: "4090", "a100-80g".
std::string short_gpu_name(const GpuModel& model);

}  // namespace oomdoctor
