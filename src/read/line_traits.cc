#include "read/line_traits.h"

#include <array>
#include <set>
#include <string>
#include <string_view>

#include "base/ascii.h"
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

/// The number of processes that one kernel OOM event killed. Its lines are reports of one incident.
i64 count_victims(const Incident& incident) {
  static constexpr std::string_view words = "Killed process ";
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
}

}  // namespace oomdoctor
