// Host memory of a running command, from /proc and the cgroup file system: what the kernel looks at when it kills.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace oomdoctor {

/// One sample, in bytes. What the system does not show is absent.
struct HostMemory {
  std::optional<std::int64_t> tree_rss;      ///< resident memory of the command and its descendants; pages that they
                                             ///< share count in each
  std::optional<std::int64_t> cgroup_used;   ///< of the cgroup with the lowest limit
  std::optional<std::int64_t> cgroup_limit;  ///< absent: no limit
  std::optional<std::int64_t> kills;         ///< processes of that cgroup that the kernel killed for memory so far
  std::optional<std::int64_t> shared_used, shared_size;  ///< of /dev/shm
};

/// Reads the samples of one command.
class HostProbe {
 public:
  /// `process` is the command. `root` is prepended to /proc, /sys and /dev: "" except in tests.
  explicit HostProbe(pid_t process, std::string root = "");

  HostMemory read() const;

 private:
  /// The files of the memory controller, version 1 or 2.
  struct Group {
    std::string used, limit, events;
  };
  void find_group(pid_t process);
  std::int64_t resident(pid_t process, int depth, int& budget) const;

  pid_t process_;
  std::string root_;
  std::int64_t page_;  ///< bytes
  std::optional<Group> group_;
};

}  // namespace oomdoctor
