// Runs a test with the vector code of each instruction set that this machine has.
#pragma once

#include <hwy/targets.h>

#include <cstdint>
#include <functional>

#include "catch.h"

namespace oomdoctor::testing {

inline void on_every_target(const std::function<void()>& body) {
  const auto use = [](std::int64_t target) {
    hwy::SetSupportedTargetsForTest(target);  // 0: the best one
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  };
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    INFO(hwy::TargetName(target));
    use(target);
    body();
    use(0);
  }
}

}  // namespace oomdoctor::testing
