#include "run/host_memory.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace oomdoctor {
namespace {

/// Processes and threads looked at in one sample: a job has fewer, and more would cost too much of a core.
constexpr int max_tasks = 4096;
constexpr int max_depth = 32;  ///< of the process tree
/// A limit of version 1 near 2^63 means that there is none.
constexpr std::int64_t no_limit = std::int64_t{1} << 60;

std::string read_file(std::string path) { return std::string(KernelFile(std::move(path)).read()); }

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

std::optional<std::int64_t> limit_in(KernelFile& file) {
  const auto limit = leading_number(file.read());
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
    : process_(process), root_(std::move(root)), page_(sysconf(_SC_PAGESIZE)), machine_(root_ + "/proc/meminfo") {
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
      Group group{KernelFile(folder + std::string(version.used)), KernelFile(folder + std::string(version.limit)),
                  KernelFile(folder + std::string(version.events))};
      if (!group.used.read().empty()) {
        const auto limit = limit_in(group.limit);
        if (!group_ || (limit && (!lowest || *limit < *lowest))) group_.emplace(std::move(group));
        if (limit && (!lowest || *limit < *lowest)) lowest = limit;
      }
      if (at == at.parent_path()) break;
    }
    if (group_) return;
  }
}

void HostProbe::set_process(pid_t process) {
  process_ = process;
  roomiest_ = {};
  find_group(process);
}

/// The processes that the threads of a process started: "4711 4712 ".
std::string HostProbe::read_children(const std::string& folder, pid_t process, int& budget) const {
  constexpr nlink_t of_one_thread = 3;  // of its folder: ".", ".." and the thread
  const std::string tasks = folder + "/task";
  struct stat status {};
  if (stat(tasks.c_str(), &status) != 0) return "";
  if (status.st_nlink == of_one_thread && --budget > 0)
    return read_file(tasks + '/' + std::to_string(process) + "/children");
  std::string children;
  std::error_code error;
  for (auto task = std::filesystem::directory_iterator(tasks, error);
       !error && task != std::filesystem::directory_iterator() && --budget > 0; task.increment(error))
    children += read_file(task->path().string() + "/children");
  return children;
}

/// Adds a process and its descendants. `budget` bounds the tasks looked at.
void HostProbe::add_process(pid_t process, int depth, int& budget, HostMemory& sum) {
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
    sum.address_space = space;
    roomiest_folder_ = folder;
  }
  if (depth >= max_depth || budget <= 0) return;
  const std::string children = read_children(folder, process, budget);
  for (std::string_view rest = children; !rest.empty() && budget > 0;) {
    if (const auto child = leading_number(rest)) add_process(static_cast<pid_t>(*child), depth + 1, budget, sum);
    rest.remove_prefix(std::min(rest.find(' '), rest.size() - 1) + 1);
  }
}

/// The limits of the process with the most address space. They cannot matter before it takes more.
void HostProbe::add_limits(HostMemory& out) {
  if (!out.address_space) return;
  if (roomiest_.folder != roomiest_folder_ || roomiest_.space != *out.address_space) {
    const std::string limits =
        read_file(roomiest_folder_ + "/limits");  // "Max address space  unlimited  unlimited  bytes"
    roomiest_ = {roomiest_folder_, *out.address_space, counter(limits, "Max address space"),
                 counter(limits, "Max data size")};
  }
  out.address_limit = roomiest_.space_limit;
  out.data_limit = roomiest_.data_limit;
}

void HostProbe::add_machine(bool kills, HostMemory& out) {
  constexpr std::int64_t kibibyte = 1024;
  const std::string_view memory = machine_.read();  // "MemTotal:       24683620 kB"
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

HostMemory HostProbe::read(bool of_machine) {
  HostMemory out;
  int budget = max_tasks;
  add_process(process_, 0, budget, out);
  add_limits(out);
  add_machine(of_machine, out);
  if (group_) {
    out.cgroup_used = leading_number(group_->used.read());
    out.cgroup_limit = limit_in(group_->limit);
    out.kills = counter(group_->events.read(), "oom_kill");
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
