#include "read/line_traits.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>

#include "base/ascii.h"
#include "base/bytes.h"
#include "base/parse_whole.h"
#include "read/context.h"

namespace oomdoctor {
namespace {

struct TraitWords {
  std::string_view words;
  OomTrait trait;
};
constexpr std::array line_words{TraitWords{"apture cuda graph failed", OomTrait::captures_graph},  // SGLang
                                TraitWords{"nable to warmup model", OomTrait::warms_up},  // text-generation-inference
                                TraitWords{"determine_num_available_blocks", OomTrait::sizes_cache},  // vLLM
                                TraitWords{"determine_available_memory", OomTrait::sizes_cache},
                                TraitWords{"You need to decrease `--max-batch-prefill", OomTrait::warms_up},
                                TraitWords{"state_dict() call", OomTrait::saves_state},          // FSDP's warning
                                TraitWords{"point to invalid memory", OomTrait::damages_state},  // its end
                                TraitWords{"rocm_driver", OomTrait::rocm},  // XLA's file that prints the line
                                TraitWords{"HIP out of memory", OomTrait::rocm},
                                TraitWords{"hipErrorOutOfMemory", OomTrait::rocm},
                                TraitWords{"HIP error", OomTrait::rocm},
                                TraitWords{"mmap", OomTrait::maps}};

constexpr std::string_view kill_words = "Killed process ";

/// The number of processes that one kernel OOM event killed. Its lines are reports of one incident.
i64 count_victims(const Incident& incident) {
  static constexpr std::string_view words = kill_words;
  std::set<std::string> pids;
  const auto add_victim = [&](const Evidence& evidence) {
    const std::size_t at = evidence.excerpt.find(words);
    if (at == std::string::npos) return;
    const std::size_t begin = at + words.size();
    pids.insert(evidence.excerpt.substr(begin, evidence.excerpt.find(' ', begin) - begin));
  };
  add_victim(incident.evidence);
  for (const Evidence& evidence : incident.occurrences) add_victim(evidence);
  return static_cast<i64>(pids.size());
}

/// The memory of a victim by its line, "anon-rss:9812044kB, file-rss:0kB, shmem-rss:0kB", without its file pages.
i64 victim_memory(std::string_view line) {
  i64 kibibytes = 0;
  for (const std::string_view label : {"anon-rss:", "shmem-rss:"})
    if (const std::size_t at = line.find(label); at != line.npos && at + label.size() < line.size())
      kibibytes = saturated_sum(kibibytes, std::max<i64>(0, leading_integer(line.substr(at + label.size()))));
  return kibibytes < (i64{1} << 43) ? kibibytes * KiB : 0;
}

/// Adds the memory of the other victims, which is part of the same limit. Victims that were killed one after the other
/// may have had more than it.
void add_other_victims(Incident& incident) {
  Oom& oom = incident.oom;
  const auto whole = oom.limit ? oom.limit : oom.capacity;
  if (incident.victims < 2 || incident.more_occurrences > 0 || !whole || !oom.process || !oom.others.empty()) return;
  std::set<std::string> lines;  // each victim once
  const auto pid_of = [](const std::string& line) {
    const std::size_t at = line.find(kill_words);
    return at == line.npos ? std::string() : line.substr(at, line.find('(', at) - at);
  };
  lines.insert(pid_of(incident.evidence.excerpt));
  i64 sum = 0;
  for (const Evidence& evidence : incident.occurrences)
    if (const std::string pid = pid_of(evidence.excerpt); !pid.empty() && lines.insert(pid).second)
      sum = saturated_sum(sum, victim_memory(evidence.excerpt));
  if (sum > 0 && saturated_sum(sum, oom.process->count) <= whole->count) oom.others.push_back({0, {sum, 0}});
}

/// FSDP's warning about a tensor that it could not copy: "Failed to clone() tensor with name … on rank 3. This may mean
/// that this state_dict entry could point to invalid memory". The save goes on with the tensor itself.
void read_save(Incident& incident) {
  static constexpr std::string_view label = " on rank ";
  const std::string& line = incident.evidence.excerpt;
  const std::size_t at = line.find(label), number = at + label.size();
  if (at != std::string::npos && !incident.origin.rank && number < line.size() && is_digit(line[number]))
    incident.origin.rank = static_cast<int>(leading_integer(std::string_view(line).substr(number)));
  if (!incident.oom.has(OomTrait::damages_state) || incident.handled) return;
  incident.handled = true;
  incident.handled_by = incident.evidence;
}

}  // namespace

void read_lines_of(Incident& incident) {
  for (const TraitWords& row : line_words)
    if (incident.evidence.excerpt.find(row.words) != std::string::npos && !incident.oom.has(row.trait))
      incident.oom.traits.push_back(row.trait);
  if (incident.oom.has(OomTrait::saves_state)) read_save(incident);
  incident.victims = count_victims(incident);
  add_other_victims(incident);
}

}  // namespace oomdoctor
