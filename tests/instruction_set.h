// Chooses the instruction set of the vector code.
#pragma once

#include <hwy/targets.h>

#include <cstdint>

namespace oomdoctor::testing {

/// `target` is one of hwy::SupportedAndGeneratedTargets(), or 0 for the best one.
inline void use_instruction_set(std::int64_t target) {
  hwy::SetSupportedTargetsForTest(target);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace oomdoctor::testing
