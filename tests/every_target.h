// Runs a test with the vector code of each instruction set of this machine.
#pragma once

#include <functional>

#include "catch.h"
#include "instruction_set.h"

namespace oomdoctor::testing {

inline void on_every_target(const std::function<void()>& body) {
  for (const std::int64_t target : instruction_sets()) {
    INFO(hwy::TargetName(target) << " " << target);
    use_instruction_set(target);
    body();
    use_instruction_set(0);
  }
}

}  // namespace oomdoctor::testing
