#include "report/host_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/bytes.h"

namespace oomdoctor {
namespace {

using Title = std::pair<std::string_view, std::string_view>;

/// Message formats that are more exact than their agent.
constexpr std::array<Title, 22> titles_by_format = {{
    {"oom-killer-nodes", "The Linux kernel killed a process because the memory nodes it may use were full"},
    {"evicted", "Kubernetes evicted the pod because its node was short of memory"},
    {"oomkilled-inside",
     "The container killed a process at its memory limit; the main process exited without an error"},
    {"earlyoom", "earlyoom killed a process because the host was short of memory"},
    {"systemd-oomd", "systemd-oomd killed a process: memory pressure or memory use was too high"},
    {"docker-inspect", "Docker reports that the container was OOM-killed"},
    {"ray", "Ray killed a task because its node was short of memory"},
    {"dask", "Dask ended a worker at its memory limit"},
    {"yarn", "YARN ended a container at its memory limit"},
    {"yarn-virtual", "YARN ended a container at its limit of virtual memory"},
    {"pbs-virtual", "PBS ended the job at its limit of virtual memory"},
    {"slurm-virtual", "Slurm ended the job at its limit of virtual memory"},
    {"grid-engine-virtual", "Grid Engine ended the job at its limit of virtual memory"},
    {"java-heap", "The Java heap was full"},
    {"java-direct", "Java's direct buffers were used up"},
    {"java-classes", "Java's metaspace was full"},
    {"javascript-heap", "The JavaScript heap was full"},
    {"ray-worker-died", "A Ray worker vanished without a message"},
    {"workers-gone", "Background workers vanished without a message"},
    {"launcher-kill", "The launcher ended its processes without a message while host RAM was nearly full"},
    {"mapping", "A file could not be mapped into memory"},
    {"winerror-1455", "Windows could commit no more memory: RAM and page file were full"},
}};

constexpr std::array<Title, 9> titles_by_agent = {{
    {"kernel", "The Linux OOM killer killed a process: the host was out of RAM"},
    {"cgroup", "The kernel killed a process at the memory limit of its container or job"},
    {"slurm", "Slurm ended the job at its memory limit"},
    {"kubernetes", "Kubernetes ended the container at its memory limit"},
    {"scheduler", "The scheduler ended the job at its memory limit"},
    {"daemon", "A low-memory daemon killed a process"},
    {"signal", "A process was killed; the log does not show by what"},
    {"worker", "A DataLoader worker died"},
    {"cpu_allocator", "The system refused an allocation of host RAM"},
}};

template <std::size_t n>
std::string_view look_up(const std::array<Title, n>& titles, std::string_view id) {
  const auto found = std::find_if(titles.begin(), titles.end(), [&](const Title& title) { return title.first == id; });
  return found == titles.end() ? std::string_view{} : found->second;
}

std::string text(const Bytes& bytes) { return bytes_text(bytes.count); }

}  // namespace

std::string host_title(std::string_view agent, std::string_view message_format) {
  for (const std::string_view title : {look_up(titles_by_format, message_format), look_up(titles_by_agent, agent)})
    if (!title.empty()) return std::string(title);
  return "The host ran out of RAM";
}

std::string host_numbers(const Oom& oom) {
  const std::string victim =
      oom.process ? text(*oom.process) + (oom.process_name.empty() ? " in use" : " in " + oom.process_name) : "";
  const bool of_whole = oom.process && oom.process_name.empty();
  if (oom.request) return "";
  // sacct samples at intervals, so the last value may be old.
  const bool sampled = of_whole && oom.message_format == "slurm-state";
  if (sampled && oom.limit && oom.process->count < oom.limit->count / 2)
    return fmt::format("the limit of {} was reached", text(*oom.limit));
  if (sampled && !oom.limit) return fmt::format("{} in the last sample", text(*oom.process));
  if (oom.limit && of_whole) return fmt::format("{} used of {} allowed", text(*oom.process), text(*oom.limit));
  if (oom.limit && oom.process) return fmt::format("{}, at the limit of {}", victim, text(*oom.limit));
  if (oom.limit) return fmt::format("the limit of {} was reached", text(*oom.limit));
  if (oom.capacity && oom.free)
    return fmt::format("{} of {} in use{}{}", text(*oom.capacity - *oom.free), text(*oom.capacity),
                       victim.empty() ? "" : ", ", victim);
  if (oom.capacity && oom.process) return fmt::format("{}, on a machine with {}", victim, text(*oom.capacity));
  if (oom.free && oom.process) return fmt::format("{}, {} left on the node", victim, text(*oom.free));
  return victim;
}

}  // namespace oomdoctor
