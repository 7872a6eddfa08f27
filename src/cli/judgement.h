// One judgement, in a process of its own: it has all that was read so far, and leaves nothing behind. If it crashes, or
// if the machine has no process for it, that costs this judgement only.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/descriptor.h"

namespace oomdoctor::cli {

class Judgement {
 public:
  using Clock = std::chrono::steady_clock;
  /// Sends one line to the process that started the judgement.
  using Tell = std::function<void(const std::string& line)>;

  /// Calls `judge` in a forked process. Throws std::system_error if the system has no pipe or no process for it.
  explicit Judgement(const std::function<void(const Tell&)>& judge);
  /// Kills it if it still runs.
  ~Judgement();
  Judgement(const Judgement&) = delete;

  /// Can be read when there are new lines, or when it has ended.
  int descriptor() const { return text_end_.number(); }
  /// The whole lines that have come since the last call.
  std::vector<std::string> read();
  /// True once it has ended and all of its lines were read.
  bool has_ended() const { return ended_; }
  /// Waits for the process, after its end. Returns how it failed: "it was killed by signal 9"; "" if it did not.
  std::string finish();
  std::chrono::duration<double> took() const { return Clock::now() - begun_; }
  /// The time of a core that it needed, after finish(): less than it took where the job needs all cores.
  std::chrono::duration<double> cpu_time() const { return cpu_time_; }

 private:
  Clock::time_point begun_;
  Descriptor text_end_{-1};
  pid_t pid_ = -1;  ///< negative once somebody has waited for it
  std::string text_;
  bool ended_ = false;
  std::chrono::duration<double> cpu_time_{0};
};

}  // namespace oomdoctor::cli
