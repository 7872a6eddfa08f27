// A progress line on the terminal during a long reading. The destructor erases it before anything else is printed.
#pragma once

#include <chrono>
#include <cstddef>

#include "oomdoctor/diagnose.h"

namespace oomdoctor::cli {

/// Not thread-safe: diagnose() calls its progress function from one thread at a time.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Prints nothing if standard error is no terminal, and nothing in the first second.
  void show(const Progress& progress);

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point next_;
  bool terminal_ = false, shown_ = false;
};

}  // namespace oomdoctor::cli
