#include "run/host_memory.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/descriptor.h"

namespace oomdoctor {
namespace {

/// Processes and threads looked at in one sample: a job has fewer, and more would cost too much of a core.
constexpr int max_tasks = 4096;
constexpr int max_depth = 32;  ///< of the process tree
/// A limit of version 1 near 2^63 means that there is none.
constexpr std::int64_t no_limit = std::int64_t{1} << 60;

/// The beginning of a small file of the kernel; "" if it cannot be read.
std::string read_file(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 16384> buffer;  // /proc/vmstat has 5 KiB
  std::size_t size = 0;
  while (file.is_open() && size < buffer.size()) {
    const ssize_t got =
        uninterrupted([&] { return read(file.number(), buffer.data() + size, buffer.size() - size); });
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  return {buffer.data(), size};
}

/// The number at the front; nullopt for "max" and other words.
std::optional<std::int64_t> leading_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end != text.data() ? std::optional(value) : std::nullopt;
}

/// The number after `name` and blanks at the beginning of a line.
std::optional<std::int64_t> counter(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (line.size() > name.size() && line.starts_with(name) && line[name.size()] == ' ')
      return leading_number(line.substr(std::min(line.find_first_not_of(' ', name.size()), line.size())));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return std::nullopt;
}

std::optional<std::int64_t> limit_in(const std::string& path) {
  const auto limit = leading_number(read_file(path));
  return limit && *limit < no_limit ? limit : std::nullopt;
}

/// The path of the memory controller in /proc/PID/cgroup: "0::/a/b" or "9:memory:/a/b".
std::optional<std::string> controller_path(std::string_view text, bool version_2) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string controllers = ',' + std::string(line.substr(first + 1, second - first - 1)) + ',';
    if (version_2 ? controllers == ",," : controllers.find(",memory,") != controllers.npos)
      return std::string(line.substr(second + 1));
  }
  return std::nullopt;
}

}  // namespace

HostProbe::HostProbe(pid_t process, std::string root)
    : process_(process), root_(std::move(root)), page_(sysconf(_SC_PAGESIZE)) {
  find_group(process);
}

/// Of the command's cgroup and those around it, the one with the lowest limit; else the command's own. In a container,
/// the path may be one that only the host sees, and the container's own group is mounted at the top.
void HostProbe::find_group(pid_t process) {
  group_.reset();
  struct Version {
    bool second;
    std::string_view top, used, limit, events;
  };
  constexpr std::array<Version, 2> versions{
      {{true, "/sys/fs/cgroup", "/memory.current", "/memory.max", "/memory.events"},
       {false, "/sys/fs/cgroup/memory", "/memory.usage_in_bytes", "/memory.limit_in_bytes", "/memory.oom_control"}}};
  const std::string text = read_file(root_ + "/proc/" + std::to_string(process) + "/cgroup");
  for (const Version& version : versions) {
    const auto path = controller_path(text, version.second);
    if (!path) continue;
    const std::string top = root_ + std::string(version.top);
    std::optional<std::int64_t> lowest;
    for (std::filesystem::path at = *path;; at = at.parent_path()) {
      const std::string folder = at == "/" ? top : top + at.string();
      const Group group{folder + std::string(version.used), folder + std::string(version.limit),
                        folder + std::string(version.events)};
      if (access(group.used.c_str(), R_OK) == 0) {
        const auto limit = limit_in(group.limit);
        if (!group_ || (limit && (!lowest || *limit < *lowest))) group_ = group;
        if (limit && (!lowest || *limit < *lowest)) lowest = limit;
      }
      if (at == at.parent_path()) break;
    }
    if (group_) return;
  }
}

void HostProbe::set_process(pid_t process) {
  process_ = process;
  find_group(process);
}

/// Adds a process and its descendants. `budget` bounds the tasks looked at.
void HostProbe::add_process(pid_t process, int depth, int& budget, HostMemory& sum) const {
  const std::string folder = root_ + "/proc/" + std::to_string(process);
  const std::string memory = read_file(folder + "/statm");  // "size resident shared …", in pages
  const std::size_t blank = memory.find(' ');
  if (blank == memory.npos) return;
  const std::int64_t bytes = leading_number(std::string_view(memory).substr(blank + 1)).value_or(0) * page_;
  const std::int64_t space = leading_number(memory).value_or(0) * page_;
  if (bytes > 0) {
    sum.tree_rss = sum.tree_rss.value_or(0) + bytes;
    sum.largest_rss = std::max(sum.largest_rss.value_or(0), bytes);
  }
  if (space > sum.address_space.value_or(0)) {
    const std::string limits = read_file(folder + "/limits");  // "Max address space  unlimited  unlimited  bytes"
    sum.address_space = space;
    sum.address_limit = counter(limits, "Max address space");
    sum.data_limit = counter(limits, "Max data size");
  }
  std::error_code error;
  for (auto task = std::filesystem::directory_iterator(folder + "/task", error);
       !error && task != std::filesystem::directory_iterator() && depth < max_depth && --budget > 0;
       task.increment(error)) {
    const std::string children = read_file(task->path().string() + "/children");  // "4711 4712 "
    for (std::string_view rest = children; !rest.empty() && budget > 0;) {
      if (const auto child = leading_number(rest)) add_process(static_cast<pid_t>(*child), depth + 1, budget, sum);
      rest.remove_prefix(std::min(rest.find(' '), rest.size() - 1) + 1);
    }
  }
}

void HostProbe::add_machine(bool kills, HostMemory& out) const {
  constexpr std::int64_t kibibyte = 1024;
  const std::string memory = read_file(root_ + "/proc/meminfo");  // "MemTotal:       24683620 kB"
  const auto bytes = [&](std::string_view name) -> std::optional<std::int64_t> {
    const auto count = counter(memory, name);
    return count ? std::optional(*count * kibibyte) : std::nullopt;
  };
  out.total = bytes("MemTotal:");
  out.available = bytes("MemAvailable:");
  out.swap_total = bytes("SwapTotal:");
  out.swap_free = bytes("SwapFree:");
  if (kills) out.machine_kills = counter(read_file(root_ + "/proc/vmstat"), "oom_kill");
}

HostMemory HostProbe::read(bool of_machine) const {
  HostMemory out;
  int budget = max_tasks;
  add_process(process_, 0, budget, out);
  add_machine(of_machine, out);
  if (group_) {
    out.cgroup_used = leading_number(read_file(group_->used));
    out.cgroup_limit = limit_in(group_->limit);
    out.kills = counter(read_file(group_->events), "oom_kill");
  }
  struct statvfs shared {};
  if (statvfs((root_ + "/dev/shm").c_str(), &shared) == 0 && shared.f_frsize > 0) {
    const auto block = static_cast<std::int64_t>(shared.f_frsize);
    out.shared_size = static_cast<std::int64_t>(shared.f_blocks) * block;
    out.shared_used = static_cast<std::int64_t>(shared.f_blocks - shared.f_bfree) * block;
  }
  return out;
}

}  // namespace oomdoctor
