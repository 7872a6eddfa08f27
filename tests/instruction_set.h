// Chooses the instruction set of the vector code.
#pragma once

#include <hwy/targets.h>

#include <cstdint>
#include <vector>

namespace oomdoctor::testing {

/// All that the vector code of this program can use on this machine.
inline std::vector<std::int64_t> instruction_sets() {
  std::vector<std::int64_t> sets = hwy::SupportedAndGeneratedTargets();
  if ((hwy::SupportedTargets() & HWY_AVX3_DL) != 0) sets.push_back(HWY_AVX3 | HWY_AVX3_DL);  // see vector_targets.cc
  return sets;
}

/// `target` is one of instruction_sets(), or 0 for the best one.
inline void use_instruction_set(std::int64_t target) {
  hwy::SetSupportedTargetsForTest(target);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace oomdoctor::testing
