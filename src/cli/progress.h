// One line on a terminal that says how far a long reading has come; gone before anything else is printed.
#pragma once

#include <chrono>
#include <cstddef>

#include "oomdoctor/diagnose.h"

namespace oomdoctor::cli {

class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Shows nothing where standard error is no terminal, and nothing in the first second.
  void show(const Progress& progress);

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point next_;
  bool terminal_ = false, shown_ = false;
};

}  // namespace oomdoctor::cli
