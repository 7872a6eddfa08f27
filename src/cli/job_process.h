// The process of a job that somebody else started: whether it still runs.
#pragma once

#include <sys/types.h>

#include <optional>

namespace oomdoctor::cli {

class JobProcess {
 public:
  explicit JobProcess(pid_t pid);

  /// True once the process is gone, also if nobody has waited for it yet (a zombie), or if another process has its
  /// number by now.
  bool has_ended() const;

 private:
  pid_t pid_;
  std::optional<unsigned long long> started_;  ///< clock ticks since boot; nullopt if /proc does not tell
};

}  // namespace oomdoctor::cli
