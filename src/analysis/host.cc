// Host memory, shared memory, masked library statuses and pools: what kind of failure the words stand for. The order of
// trust is kernel or scheduler line, allocator message, library status, bare signal.
#include <algorithm>

#include "analysis/analysis.h"

namespace oomdoctor {

void host_facts(const Incident& primary, Facts& facts) {
  const Oom& oom = primary.oom;
  const std::vector<Evidence> here{primary.evidence};
  const auto set_true = [&](std::string_view name, bool yes) { facts.set(name, Value{yes}, here); };
  const bool host = oom.kind == OomKind::host;
  const auto by = [&](std::initializer_list<Agent> agents) {
    return host && std::find(agents.begin(), agents.end(), oom.agent) != agents.end();
  };
  set_true("host.kernel_kill",
           by({Agent::kernel, Agent::cgroup, Agent::slurm, Agent::kubernetes, Agent::scheduler, Agent::daemon}));
  set_true("host.limit_kill", by({Agent::cgroup, Agent::slurm, Agent::scheduler}) || (host && oom.limit.has_value()) ||
                                  (oom.agent == Agent::kubernetes && oom.message_format != "evicted"));
  set_true("host.sigkill_only", by({Agent::signal}));
  set_true("host.worker_killed", by({Agent::worker}));
  set_true("host.bus_error", oom.kind == OomKind::shared_memory);
  const bool pinned = host && oom.message_format.starts_with("pinned");
  set_true("host.pinned_failed", pinned);
  set_true("host.allocation_failed", by({Agent::cpu_allocator}) && !pinned);
  if (host && !oom.process_name.empty()) facts.set("host.victim", Value{oom.process_name}, here);
  if (host) {
    facts.set("host.used", oom.process, here);
    facts.set("host.limit", oom.limit, here);
  }
  if (oom.kind == OomKind::masked) facts.set("masked.status", Value{oom.message_format}, here);
  set_true("pool.kv_cache", oom.kind == OomKind::pool && oom.message_format.find("free-memory") == std::string::npos &&
                                oom.message_format.find("unbalanced") == std::string::npos);
  set_true("pool.below_target",
           oom.kind == OomKind::pool && (oom.message_format.find("free-memory") != std::string::npos ||
                                         oom.message_format.find("unbalanced") != std::string::npos));
}

void tell_abrupt_end(const Case& story, std::vector<Note>& notes) {
  constexpr i64 last_lines = 3;  // a cell's output ends with the bar that was being drawn
  const auto notebook = story.settings.find("notebook");
  if (notebook == story.settings.end() || !story.incidents.empty() || !story.last_progress) return;
  if (story.remark_counts.contains("run/completed") || story.remark_counts.contains("exit")) return;
  const Span& end = story.last_progress->span;
  if (end.last_line + last_lines <= story.inputs[static_cast<std::size_t>(end.source)].lines) return;
  notes.push_back({Severity::note,
                   "the log ends in the middle of the work without a word. So ends a " + notebook->second.value +
                       " session whose host memory ran out; but nothing proves it. To know: print(step, "
                       "psutil.virtual_memory().percent) once a step",
                   *story.last_progress});
}

}  // namespace oomdoctor
