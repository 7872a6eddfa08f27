// Host RAM, shared memory, masked library statuses and pools: the kind of failure that a message shows. The order of
// trust is kernel or scheduler line, allocator message, library status, bare signal.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>

#include "base/ascii.h"
#include "base/parse_whole.h"
#include "facts/analysis.h"

namespace oomdoctor {
namespace {

/// The prefix of a message form, and the manager that prints it.
struct ReportingManager {
  std::string_view form, name;
};
/// The program that prints a message, by the prefix of its form.
constexpr ReportingManager managers[] = {{"slurm", "slurm"},
                                         {"oomkilled", "kubernetes"},
                                         {"evicted", "kubernetes"},
                                         {"docker", "docker"},
                                         {"lsf", "lsf"},
                                         {"pbs", "pbs"},
                                         {"torque", "torque"},
                                         {"moab", "torque"},
                                         {"grid-engine", "grid_engine"},
                                         {"htcondor", "htcondor"},
                                         {"yarn", "yarn"},
                                         {"ray", "ray"},
                                         {"dask", "dask"},
                                         {"systemd-oomd", "systemd-oomd"},
                                         {"earlyoom", "earlyoom"},
                                         {"flux", "flux"},
                                         {"sagemaker", "sagemaker"},
                                         {"vertex", "vertex"},
                                         {"apple", "apple"}};

/// The manager that sets the memory limit: from the message, else from the cgroup path, else from other lines of the
/// log.
std::string_view find_manager(const ScanResult& scan, const Oom& oom) {
  if (oom.message_format == "system-oom") return {};  // the node was full, not the limit of a pod
  for (const ReportingManager& manager : managers)
    if (oom.message_format.starts_with(manager.form)) return manager.name;
  if (const auto group = scan.settings.find("memory_manager");
      group != scan.settings.end() && oom.agent == Agent::cgroup)
    return group->second.value;
  if (scan.remark_counts.contains("container/not_killed")) return "docker";  // only a container engine reports that
  for (const std::string_view parser : {"slurm", "kubernetes"})
    if (scan.coverage.by_parser.contains(parser)) return parser;
  return {};
}

/// Process names of Python programs and their helpers.
bool is_python(std::string_view process) {
  constexpr std::array<std::string_view, 8> names = {"python",  "pt_",      "ray::",      "jupyter",
                                                     "ipython", "torchrun", "accelerate", "deepspeed"};
  return process.ends_with(".py") ||
         std::any_of(names.begin(), names.end(), [&](std::string_view name) { return process.starts_with(name); });
}

/// Process names of compilers and linkers. A build starts one for each of its jobs.
bool is_compiler(std::string_view process) {
  constexpr std::array<std::string_view, 9> names = {"cc1",  "cc1plus", "f951",  "cicc",   "ptxas",
                                                     "nvcc", "rustc",   "clang", "clang++"};
  return std::find(names.begin(), names.end(), process) != names.end();
}

/// True if data loader workers are in use: the log counts them, one of them died, or one of their frames is in the
/// traceback.
bool uses_loader(const ScanResult& scan, const Incident& incident) {
  const bool of_nccl = incident.oom.agent == Agent::library;  // its segments are in /dev/shm as well
  if (incident.oom.agent == Agent::worker || (scan.coverage.by_parser.contains("dataloader") && !of_nccl)) return true;
  if (const auto workers = scan.settings.find("num_workers");
      workers != scan.settings.end() && counts_loader_workers(scan, workers->second))
    return workers->second.value != "0";
  const auto loads = [](const Frame& f) {
    return path_contains(f.file, "utils/data/") || f.function.find("DataLoader") != std::string::npos ||
           f.code.find("loader") != std::string::npos;
  };
  return std::any_of(incident.oom.frames.begin(), incident.oom.frames.end(), loads) ||
         incident.oom.process_name.starts_with("pt_data");
}

/// True if the job's own data set was creating an item.
bool makes_item(const Incident& incident) {
  const auto& frames = incident.oom.frames;
  return std::any_of(frames.begin(), frames.end(),
                     [](const Frame& f) { return !f.library && f.function == "__getitem__"; });
}

/// True if the process had as many mappings as it may have. Tools round neither number; the count is of a moment later.
bool reaches_map_limit(const ScanResult& scan) {
  constexpr i64 near = 64;
  const auto mappings = scan.settings.find("mappings"), limit = scan.settings.find("max_map_count");
  return mappings != scan.settings.end() && limit != scan.settings.end() &&
         leading_integer<i64>(mappings->second.value) + near >= leading_integer<i64>(limit->second.value);
}

/// True if the failed call maps a file, which takes addresses and no RAM.
bool maps_file(const Incident& incident) {
  const auto& frames = incident.oom.frames;
  return !frames.empty() && frames.back().code.find("mmap.mmap(") != std::string::npos;
}

/// True if the innermost frame of the job's own code appends to a collection where a data set is made.
bool collects_items(const Incident& incident) {
  static constexpr std::array<std::string_view, 5> appends{".append(", ".extend(", "np.append(", "np.concatenate(",
                                                           "np.vstack("};
  static constexpr std::array<std::string_view, 6> makers{"__init__", "load", "read", "prepare", "build", "get_data"};
  const auto& frames = incident.oom.frames;
  const auto own = std::find_if(frames.rbegin(), frames.rend(), [](const Frame& f) { return !f.library; });
  if (own == frames.rend()) return false;
  const auto appended = [&](std::string_view call) { return own->code.find(call) != std::string::npos; };
  const auto named = [&](std::string_view name) { return own->function.find(name) != std::string::npos; };
  return std::any_of(appends.begin(), appends.end(), appended) && std::any_of(makers.begin(), makers.end(), named);
}

/// True if the innermost frame of the job's own code copies what the job already has into one array or tensor.
/// torch.FloatTensor(n) is of a size, torch.FloatTensor(rows) of data (samples/host_allocation/gathered.log): the name
/// decides.
bool gathers_data(const Incident& incident) {
  static constexpr std::array<std::string_view, 10> joins{
      "np.array(",       "np.asarray(",  "np.stack(",  "np.vstack(",    "np.hstack(",
      "np.concatenate(", "torch.stack(", "torch.cat(", "torch.tensor(", "torch.as_tensor("};
  static constexpr std::array<std::string_view, 5> counts{"size", "shape", "dim", "num", "len"};
  constexpr std::string_view constructor = "torch.FloatTensor(";
  const auto& frames = incident.oom.frames;
  const auto own = std::find_if(frames.rbegin(), frames.rend(), [](const Frame& f) { return !f.library; });
  if (own == frames.rend()) return false;
  const std::string_view code = own->code;
  if (std::any_of(joins.begin(), joins.end(), [&](auto call) { return code.find(call) != code.npos; })) return true;
  const std::size_t call = code.find(constructor);
  if (call == code.npos) return false;
  const std::string_view argument = code.substr(call + constructor.size());
  const std::string_view name = argument.substr(0, argument.find(')'));
  constexpr std::size_t shortest = 3;  // "n", "nb" are numbers
  return argument.size() > name.size() && name.size() >= shortest &&
         std::all_of(name.begin(), name.end(), is_dotted_name_char) && !is_digit(name.front()) &&
         std::none_of(counts.begin(), counts.end(), [&](auto word) { return name.find(word) != name.npos; });
}

/// True if pandas was reading a table of text.
bool reads_table(const Incident& incident) {
  const auto& frames = incident.oom.frames;
  return std::any_of(frames.begin(), frames.end(), [](const Frame& f) {
    return f.function == "read_csv" || f.function == "read_table" || f.function.starts_with("pandas._libs.parsers.") ||
           f.code.find("pd.read_csv(") != std::string::npos || f.code.find("pd.read_table(") != std::string::npos;
  });
}

/// True if a frame asks the backward pass to keep its graph.
bool keeps_graph(const Incident& incident) {
  const auto& frames = incident.oom.frames;
  return std::any_of(frames.begin(), frames.end(), [](const Frame& f) {
    return !f.library && f.code.find("backward(") != std::string::npos &&
           (f.code.find("create_graph=") != std::string::npos || f.code.find("retain_graph=") != std::string::npos) &&
           f.code.find("_graph=False") == std::string::npos;
  });
}

/// A type of half the size that has room for usual values; "" if there is none. Half of a hopeless request does not fit
/// either.
std::string_view smaller_type(std::string_view type) {
  if (type == "float64") return "float32";
  if (type == "complex128") return "complex64";
  if (type == "int64") return "int32 if the values fit";
  if (type == "uint64") return "uint32 if the values fit";
  return "";
}

bool is_majority(const std::optional<Bytes>& part, const std::optional<Bytes>& whole) {
  return part && whole && part->count >= whole->count / 2;
}

/// The memory that the job requested, which is the limit of a scheduler.
std::optional<i64> job_request(const ScanResult& scan, const Oom& oom) {
  const bool by_scheduler = oom.agent == Agent::slurm || oom.agent == Agent::scheduler || oom.agent == Agent::cgroup;
  return oom.limit || !by_scheduler ? std::nullopt : size_of_setting(scan, "job_memory");
}

/// The series with the last reading that counts, in the log of the failure and before it.
template <typename Counts>
const Series* find_last_reading(const ScanResult& scan, const Incident& incident, Counts counts) {
  const Span& failure = incident.evidence.span;
  const Series* last = nullptr;
  for (const Series& s : scan.series) {
    const Span& at = s.last_evidence.span;
    if (!counts(s) || at.source != failure.source || at.first_line >= failure.first_line) continue;
    if (last == nullptr || at.first_line > last->last_evidence.span.first_line) last = &s;
  }
  return last;
}

/// True for a call that copies the process: os.fork(), and subprocess's fork_exec().
bool calls_fork(std::string_view code) {
  return code.find("fork(") != code.npos || code.find("fork_exec(") != code.npos;
}

}  // namespace

bool may_be_of_machine(const Series& s) {
  return s.metric == Metric::host_used && !s.label.starts_with("container ") && s.label != "control group" &&
         s.label != "cgroup" && s.label != "/dev/shm";
}

bool is_of_machine(const Series& s) { return s.capacity > 0 && may_be_of_machine(s); }

void host_facts(const ScanResult& scan, const Incident& primary, Facts& facts) {
  const Oom& oom = primary.oom;
  const std::vector<Evidence> here{primary.evidence};
  const auto set_true = [&](std::string_view name, bool yes) { facts.set(name, Value{yes}, here); };
  const bool host = oom.kind == OomKind::host;
  const auto by = [&](std::initializer_list<Agent> agents) {
    return host && std::find(agents.begin(), agents.end(), oom.agent) != agents.end();
  };
  const bool evicted = host && oom.has(OomTrait::evicted);
  const bool of_node = evicted || (host && oom.has(OomTrait::whole_node));
  set_true("host.kernel_kill",
           by({Agent::kernel, Agent::cgroup, Agent::slurm, Agent::kubernetes, Agent::scheduler, Agent::daemon}));
  const bool own_limit = by({Agent::cpu_allocator});  // of the program, such as R's
  if (!oom.has(OomTrait::some_limit))
    set_true("host.limit_kill", !of_node && (by({Agent::cgroup, Agent::slurm, Agent::scheduler, Agent::kubernetes}) ||
                                             (host && oom.limit.has_value() && !own_limit)));
  set_true("host.evicted", evicted);
  set_true("host.some_nodes", host && oom.has(OomTrait::some_nodes));
  // RAM was left, so the limit refused.
  const bool limited = by({Agent::cpu_allocator}) && scan.remark_counts.contains("run/not_short") &&
                       (scan.settings.contains("address_space_limit") || scan.settings.contains("data_limit"));
  set_true("host.virtual_limit", limited || (host && oom.has(OomTrait::virtual_limit)));
  set_true("host.mapping_refused", host && oom.has(OomTrait::mapping_refused));
  set_true("host.sigkill_only", by({Agent::signal}));
  set_true("host.vanished", by({Agent::signal}) && oom.has(OomTrait::vanished));
  set_true("host.denied", by({Agent::signal}) && scan.remark_counts.contains("container/not_killed"));
  set_true("host.worker_killed", by({Agent::worker}));
  set_true("host.bar_full", by({Agent::worker}) && primary.when.bar_full);
  set_true("host.shm_full", oom.kind == OomKind::shared_memory && oom.framework != "ray");
  set_true("host.bus_error", oom.kind == OomKind::shared_memory && oom.has(OomTrait::bus_error));
  const bool pinned = host && oom.has(OomTrait::pinned);
  const bool heap = host && oom.has(OomTrait::heap);
  set_true("host.pinned_failed", pinned);
  set_true("host.allocation_failed", by({Agent::cpu_allocator}) && !pinned && !heap);
  constexpr i64 some_pages = 64 * KiB;
  const Series* left =
      find_last_reading(scan, primary, [](const Series& s) { return s.metric == Metric::host_available; });
  const auto machine = size_of_setting(scan, "machine_memory");
  const bool has_room = left != nullptr && machine && left->last_value >= 0.5 * static_cast<double>(*machine);
  const bool maps_full = by({Agent::cpu_allocator}) && (reaches_map_limit(scan) || (maps_file(primary) && has_room));
  set_true("host.maps_full", maps_full);
  set_true("host.tiny_request", maps_full || (by({Agent::cpu_allocator}) && oom.request && oom.request->count > 0 &&
                                              oom.request->count <= some_pages && oom.has(OomTrait::maps)));
  set_true("host.loader", uses_loader(scan, primary));
  set_true("host.item", by({Agent::cpu_allocator}) && makes_item(primary));
  set_true("host.keeps_items", by({Agent::cpu_allocator}) && collects_items(primary));
  set_true("host.gathers", by({Agent::cpu_allocator}) && gathers_data(primary));
  if (const auto type = scan.settings.find("array_type"); host && type != scan.settings.end())
    if (const std::string_view smaller = smaller_type(type->second.value); !smaller.empty())
      if (constexpr i64 hopeless = 128 * GiB; !primary.oom.request || primary.oom.request->count < hopeless)
        facts.set("host.smaller_type", Value{std::string(smaller)}, {type->second.evidence});
  set_true("host.reads_table", by({Agent::cpu_allocator}) && reads_table(primary));
  set_true("host.keeps_graph", by({Agent::cpu_allocator}) && keeps_graph(primary));
  const i64 victims = host ? primary.victims : 0;
  if (victims > 1) facts.set("host.victims", Value{Number{static_cast<double>(victims), 0}}, here);
  // Of several victims, the first one in the log says nothing about the others, unless it used most of the memory.
  const bool one_of_many = victims > 1 && !is_majority(oom.process, oom.limit ? oom.limit : oom.capacity);
  const auto& frames = oom.frames;
  set_true("host.fork", by({Agent::cpu_allocator}) && !frames.empty() && calls_fork(frames.back().code));
  constexpr std::array<std::string_view, 4> native{"ollama", "llama.cpp", "ggml", "metal"};
  if (host && std::find(native.begin(), native.end(), oom.framework) != native.end()) set_true("host.python", false);
  if (oom.has(OomTrait::windows)) set_true("host.python", true);  // Python's words for the error
  if (heap) facts.set("host.heap", Value{oom.message_format}, here);
  if (const std::string_view manager = host ? find_manager(scan, oom) : ""; !manager.empty())
    facts.set("host.manager", Value{std::string(manager)}, here);
  if (const auto unit = scan.settings.find("memory_unit"); host && unit != scan.settings.end())
    set_true("host.user_slice", unit->second.value.starts_with("user-") && unit->second.value.ends_with(".slice"));
  // The killed task may be a small one: then its name says nothing about what the node's memory is used for.
  const auto largest = scan.settings.find("largest_other");
  const auto by_largest = largest == scan.settings.end() ? std::nullopt : read_capacity(largest->second.value);
  const bool by_other = by_largest && oom.process && *by_largest > 2 * oom.process->count;
  if (host && !oom.process_name.empty() && !one_of_many && !by_other)
    facts.set("host.victim", Value{oom.process_name}, here);
  set_true("host.compiler", host && is_compiler(oom.process_name));
  if (heap || (by({Agent::kernel, Agent::cgroup, Agent::daemon}) && !oom.process_name.empty()))
    set_true("host.python", !heap && (is_python(oom.process_name) || uses_loader(scan, primary)));
  if (host) {
    if (!one_of_many) facts.set("host.used", oom.process, here);
    facts.set("host.limit", oom.limit, here);
    for (const auto& [fact, setting] :
         {std::pair("host.used", "address_space"), {"host.limit", "data_limit"}, {"host.limit", "address_space_limit"}})
      if (const auto bytes = size_of_setting(scan, setting); limited && bytes)
        facts.set(fact, Bytes{*bytes, 0}, {scan.settings.find(setting)->second.evidence});
    if (const auto asked = job_request(scan, oom))
      facts.set("host.limit", Bytes{*asked, 0}, {scan.settings.find("job_memory")->second.evidence});
    facts.set("host.capacity", oom.capacity, here);
    const auto set_last = [&](const char* fact, const Series& s, double value) {
      facts.set(fact, Bytes{whole_number(value), whole_number(s.quantum / 2)}, {s.last_evidence});
    };
    if (const Series* available =
            find_last_reading(scan, primary, [](const Series& s) { return s.metric == Metric::host_available; }))
      set_last("host.available", *available, available->last_value);
    if (const Series* used = find_last_reading(scan, primary, is_of_machine)) {
      set_last("host.machine_used", *used, used->last_value);
      set_last("host.machine_total", *used, used->capacity);
    }
  }
  if (oom.kind == OomKind::masked) facts.set("masked.status", Value{oom.message_format}, here);
  // A parser reports no masked failure if the amounts next to the status show a GPU with room.
  if (oom.kind == OomKind::masked && oom.free && oom.capacity) set_true("masked.near_full", true);
  const bool pool = oom.kind == OomKind::pool;
  const bool below_target = oom.has(OomTrait::free_target), other = oom.has(OomTrait::fixed_pool),
             uneven = oom.has(OomTrait::uneven_gpus);
  set_true("pool.kv_cache", pool && !below_target && !other && !uneven);
  const auto without_blocks = std::find_if(scan.incidents.begin(), scan.incidents.end(), [](const Incident& incident) {
    return incident.oom.has(OomTrait::no_cache_blocks);
  });
  const bool no_blocks = without_blocks != scan.incidents.end();
  facts.set("pool.no_blocks", Value{no_blocks}, {no_blocks ? without_blocks->evidence : primary.evidence});
  set_true("pool.below_target", pool && below_target);
  set_true("pool.uneven", pool && uneven);
  set_true("pool.maximum", oom.has(OomTrait::pool_maximum));
  set_true("pool.fixed", pool && other);
}

/// What oomdoctor run saw when its command was killed, if memory was not the reason.
void emit_free_memory(const ScanResult& scan, std::vector<Note>& notes) {
  constexpr int sigkill = 9, of_killed_child = 128 + sigkill;
  if (!scan.remark_counts.contains("run/not_short")) return;
  const auto size = [&](const char* setting) {
    const auto bytes = size_of_setting(scan, setting);
    return bytes ? bytes_text(*bytes) : std::string();
  };
  for (const Event& event : scan.remarks) {
    const auto* remark = std::get_if<Remark>(&event.what);
    if (remark == nullptr || (remark->id != "run/ended_by_signal" && remark->id != "run/ended_with_status")) continue;
    if (remark->number != sigkill && remark->number != of_killed_child) continue;
    const std::string largest = size("largest_process");
    notes.push_back({Severity::warning,
                     "memory was not short when SIGKILL (signal 9) came: " +
                         (largest.empty() ? "" : "the largest process had " + largest + ", ") + "at least " +
                         size("least_available") + " of " + size("machine_memory") +
                         " RAM was available, and the kernel killed nothing for memory",
                     event.evidence});
  }
}

void emit_node_sum(const ScanResult& scan, std::vector<Note>& notes) {
  const auto nodes = scan.settings.find("job_nodes"), used = scan.settings.find("memory_of_nodes");
  const auto bytes = size_of_setting(scan, "memory_of_nodes");
  if (nodes == scan.settings.end() || !bytes) return;
  notes.push_back(
      {Severity::warning,
       fmt::format("Slurm's report adds up {} nodes: {} in use on all of them. The limit is that of one node",
                   nodes->second.value, bytes_text(*bytes)),
       used->second.evidence});
}

void emit_abrupt_end(const ScanResult& scan, std::vector<Note>& notes) {
  constexpr i64 max_lines_after = 3;  // the output of a cell ends with an unfinished progress bar
  const auto notebook = scan.settings.find("notebook");
  if (notebook == scan.settings.end() || !scan.incidents.empty() || !scan.last_progress) return;
  if (scan.remark_counts.contains("run/completed") || scan.remark_counts.contains("exit")) return;
  const Span& end = scan.last_progress->span;
  if (end.last_line + max_lines_after <= scan.inputs[static_cast<std::size_t>(end.source)].lines) return;
  notes.push_back({Severity::note,
                   "the log ends in the middle of the work. So does a " + notebook->second.value +
                       " session that ran out of host RAM, but nothing proves it. To find out: print(step, "
                       "psutil.virtual_memory().percent) once a step",
                   *scan.last_progress});
}

}  // namespace oomdoctor
