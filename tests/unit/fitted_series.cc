// Which laws include others. The rest of the preparation is tested through the verdicts of growth.cc.
#include "growth/fitted_series.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "catch.h"

using namespace oomdoctor;

TEST_CASE("a law contains the constant, and the law that is left without its slope") {
  const std::vector<std::pair<Law, Law>> pairs{{Law::ratchet, Law::sawtooth},
                                               {Law::cycle_line, Law::cycle},
                                               {Law::step_line, Law::step},
                                               {Law::bend, Law::ramp}};
  for (int a = 0; a <= static_cast<int>(Law::cycle_line); ++a)
    for (int b = 0; b <= static_cast<int>(Law::cycle_line); ++b) {
      const Law law = static_cast<Law>(a), part = static_cast<Law>(b);
      CAPTURE(to_string(law), to_string(part));
      CHECK(contains(law, part) ==
            (part == Law::constant || std::find(pairs.begin(), pairs.end(), std::pair(law, part)) != pairs.end()));
    }
}
