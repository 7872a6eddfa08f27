// The time that this process computes, without the waits for other processes. Tests compare two such times: how the
// work grows with the input does not depend on the machine.
#pragma once

#include <algorithm>
#include <ctime>
#include <limits>

namespace oomdoctor::testing {

/// The CPU seconds of `work`, the least of three runs.
template <typename Work>
double cpu_seconds(Work work) {
  double least = std::numeric_limits<double>::infinity();
  for (int run = 0; run < 3; ++run) {
    const std::clock_t begin = std::clock();
    work();
    least = std::min(least, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  return least;
}

}  // namespace oomdoctor::testing
