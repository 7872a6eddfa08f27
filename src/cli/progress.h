// A progress line on the terminal during a long reading. The destructor erases it before anything else is printed.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "oomdoctor/diagnose.h"

namespace oomdoctor::cli {

/// How many logs are read, how many per second, and the time left: "read 1,240 of 20,000 logs, 207 per second, 2 min
/// left". "" for the rate and the time as long as no log is read.
std::string progress_words(const Progress& progress, double seconds);

/// Not thread-safe: diagnose() calls its progress function from one thread at a time.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Prints nothing if standard error is not a terminal, and nothing in the first second. The rate is that of the whole
  /// reading so far.
  void show(const Progress& progress);

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begun_, next_;
  bool terminal_ = false, shown_ = false;
};

}  // namespace oomdoctor::cli
