// Host memory of a running command, from /proc and the cgroup file system: what the kernel looks at when it kills.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "run/kernel_file.h"

namespace oomdoctor {

/// One sample, in bytes. What the system does not show is absent. Plain bytes, so that a pipe can carry it.
struct HostMemory {
  std::optional<std::int64_t> tree_rss;      ///< resident memory of the command and its descendants; pages that they
                                             ///< share count in each
  std::optional<std::int64_t> largest_rss;   ///< of the largest of these processes
  std::optional<std::int64_t> cgroup_used;   ///< of the cgroup with the lowest limit
  std::optional<std::int64_t> cgroup_limit;  ///< absent: no limit
  std::optional<std::int64_t> kills;         ///< processes of that cgroup that the kernel killed for memory so far
  std::optional<std::int64_t>
      machine_kills;  ///< processes of the machine that the kernel killed for memory since it started
  std::optional<std::int64_t> shared_used, shared_size;  ///< of /dev/shm
  std::optional<std::int64_t> available, total;          ///< RAM of the machine, as /proc/meminfo shows it
  std::optional<std::int64_t> swap_free, swap_total;
  // Of the process with the most address space: what it has, and its limits (RLIMIT_AS, RLIMIT_DATA), if it has any.
  std::optional<std::int64_t> address_space, address_limit, data_limit;
};
static_assert(std::is_trivially_copyable_v<HostMemory>);

/// Reads the samples of one command.
class HostProbe {
 public:
  /// `process` is the command, or one in the same cgroup until the command is known. `root` is prepended to /proc, /sys
  /// and /dev: "" except in tests.
  explicit HostProbe(pid_t process, std::string root = "");
  /// From now on, the samples are of this command.
  void set_process(pid_t process);

  /// `of_machine`: also the kills of the machine, which the kernel sums up over all processors for each reader.
  HostMemory read(bool of_machine = true);

 private:
  /// The files of the memory controller, version 1 or 2.
  struct Group {
    KernelFile used, limit, events;
  };
  /// The process with the most address space, as it was when its limits were read.
  struct Roomiest {
    std::string folder;
    std::int64_t space = 0;
    std::optional<std::int64_t> space_limit, data_limit;
  };
  void find_group(pid_t process);
  std::string read_children(const std::string& folder, pid_t process, int& budget) const;
  void add_process(pid_t process, int depth, int& budget, HostMemory& sum);
  void add_limits(HostMemory& out);
  void add_machine(bool kills, HostMemory& out);

  pid_t process_;
  std::string root_;
  std::int64_t page_;  ///< bytes
  KernelFile machine_;
  std::optional<Group> group_;
  Roomiest roomiest_;
  std::string roomiest_folder_;  ///< of this sample
};

}  // namespace oomdoctor
