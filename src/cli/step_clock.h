// How fast the steps of a job go, by our own clock: logs often print no times.
#pragma once

#include <chrono>
#include <deque>
#include <optional>
#include <utility>

namespace oomdoctor::cli {

class StepClock {
 public:
  /// Takes the last step that the job has printed by now.
  void add(std::optional<double> step) {
    if (!step) return;
    if (!seen_.empty() && *step < seen_.back().second) seen_.clear();  // the job began again
    seen_.emplace_back(Clock::now(), *step);
    while (seen_.size() > 2 && seen_.back().first - seen_[1].first > longest) seen_.pop_front();
  }
  /// nullopt until the steps of at least ten seconds are known.
  std::optional<double> steps_per_second() const {
    if (seen_.empty() || seen_.back().first - seen_.front().first < shortest) return std::nullopt;
    const std::chrono::duration<double> time = seen_.back().first - seen_.front().first;
    return (seen_.back().second - seen_.front().second) / time.count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds shortest{10}, longest{600};

  std::deque<std::pair<Clock::time_point, double>> seen_;
};

}  // namespace oomdoctor::cli
