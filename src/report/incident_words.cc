#include "report/incident_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "base/ascii.h"
#include "base/bytes.h"
#include "model/scan_result.h"

namespace oomdoctor {
namespace {

using Words = std::pair<std::string_view, std::string_view>;

/// Message formats that are more exact than their agent.
constexpr std::array<Words, 69> titles_by_format = {{
    {"oom-killer-nodes", "The Linux kernel killed a process because the memory nodes it may use were full"},
    {"oom-killer-cut", "The Linux OOM killer killed a process: the host or a memory limit was full"},
    {"oom-killer-called", "The Linux OOM killer killed a process: the host or a memory limit was full"},
    {"freebsd", "The FreeBSD kernel killed a process: the host was out of RAM and swap"},
    {"jetsam", "The kernel of macOS or iOS killed a process: the host was out of RAM"},
    {"apple-limit", "macOS or iOS ended the process for the memory it took"},
    {"general-limit", "The program or its job reached its memory limit"},
    {"general-killed", "A process was killed, and the log names memory as the reason"},
    {"program-limit", "The program stopped, because it needs more host RAM than it may take"},
    {"array-limit", "The program requested an array larger than its runtime allows"},
    {"locked-limit", "The system refused to lock memory for a device or for asynchronous I/O"},
    {"evicted", "Kubernetes evicted the pod because its node was short of memory"},
    {"oomkilled-inside",
     "The container killed a process at its memory limit; the main process exited without an error"},
    {"earlyoom", "earlyoom killed a process because the host was short of memory"},
    {"systemd-oomd", "systemd-oomd killed a unit because the host was short of memory"},
    {"docker-inspect", "Docker reports that the container was OOM-killed"},
    {"ray-object-store", "Ray's object store is full"},
    {"ray", "Ray killed a task because its node reached Ray's memory threshold"},
    {"dask", "Dask ended a worker at its memory limit"},
    {"yarn", "YARN ended a container at its memory limit"},
    {"htcondor", "HTCondor ended or held the job for its memory use"},
    {"vertex", "Vertex AI reports replicas that were low on memory"},
    {"sagemaker", "SageMaker says that the job needs an instance with more memory"},
    {"heroku", "Heroku killed the program far above its memory quota"},
    {"htcondor-virtual", "HTCondor ended the job at its limit of virtual memory"},
    {"yarn-virtual", "YARN ended a container at its limit of virtual memory"},
    {"pbs-virtual", "PBS ended the job at its limit of virtual memory"},
    {"slurm-virtual", "Slurm ended the job at its limit of virtual memory"},
    {"torque-virtual", "Torque ended the job at its limit of virtual memory"},
    {"grid-engine-virtual", "Grid Engine ended the job at its limit of virtual memory"},
    {"java-heap", "The Java heap was full"},
    {"java-direct", "Java's direct buffers were used up"},
    {"java-classes", "Java's metaspace was full"},
    {"javascript-heap", "The JavaScript heap was full"},
    {"wasm-heap", "The memory of WebAssembly was full"},
    {"javascript-buffer", "JavaScript could not allocate a buffer"},
    {"spark-results", "Spark refused results of tasks above spark.driver.maxResultSize"},
    {"ray-worker-died", "A Ray worker died; Ray does not know why"},
    {"compiler-killed", "The compiler was killed; the log does not say why"},
    {"dask-worker-died", "A Dask worker was killed; the log does not say why"},
    {"llama-cpp-either", "llama.cpp got no memory; the message does not say whether of the GPU or of the host"},
    {"ollama-system", "Ollama did not load the model: too little host RAM was free"},
    {"ollama-runner-exited", "Ollama's runner of the model ended; Ollama suspects memory"},
    {"windows-pause", "The program ended without a message while it loaded a model"},
    {"workers-gone", "Background workers vanished without a message"},
    {"pool-worker-gone", "A worker process of a pool vanished without a message"},
    {"pool-worker-killed", "A worker process of a pool was killed; the log does not say why"},
    {"runner-lost", "The CI runner was lost; a lack of memory is one of the reasons that its service names"},
    {"weights-do-not-fit", "The quantised weights did not fit the free GPU memory"},
    {"lmcache-buffer", "LMCache's own buffer in host RAM was full"},
    {"notebook", "The notebook's session ran out of host RAM"},
    {"driver-died", "The Spark driver stopped without a reason in the log"},
    {"kernel-died", "The notebook's kernel died without a reason in the log"},
    {"session-crashed", "The notebook's session crashed without a reason in the log"},
    {"launcher-kill", "The launcher ended its processes without a message while host RAM was more than 80% full"},
    {"mapping", "A file could not be mapped into memory"},
    {"vllm-swap-space", "vLLM's swap space in host RAM was full: the caches of waiting requests found no room"},
    {"vllm-free-memory", "Less GPU memory was free at startup than the engine may take"},
    {"sglang-unbalanced", "One GPU had less free memory than the others"},
    {"vllm-preemption", "vLLM preempted a request: its KV cache was full, and the request waits"},
    {"sglang-negative-pool", "SGLang cannot start"},
    {"vllm-negative-cache", "vLLM cannot start"},
    {"sglang-retract", "SGLang retracted requests: its KV cache was full, and they wait"},
    {"torch-counted", "PyTorch counted an OOM whose message is not in the log"},
    {"ended-perhaps", "A process ended, and the log names memory as a possible reason"},
    {"class-either", "A program ran out of memory; its words do not say whether of the GPU or of the host"},
    {"driver-host-code",
     "A call on the GPU got no more memory; the driver's code names the host's, but the GPU's may be short"},
    {"onnxruntime-any-provider",
     "ONNX Runtime's arena got no more memory; the log does not show whether of the GPU or of the host"},
    {"winerror-1455", "Windows could commit no more memory: RAM and page file were full"},
}};

constexpr std::array<Words, 9> titles_by_agent = {{
    {"kernel", "The Linux OOM killer killed a process: the host was out of RAM"},
    {"cgroup", "The kernel killed a process at the memory limit of its container, job or user"},
    {"slurm", "The Slurm job reached its memory limit"},
    {"kubernetes", "Kubernetes reports that the container was OOM-killed"},
    {"scheduler", "The scheduler ended the job at its memory limit"},
    {"daemon", "A low-memory daemon killed a process"},
    {"signal", "A process was killed; the log does not say why"},
    {"worker", "A DataLoader worker died"},
    {"cpu_allocator", "The system refused an allocation of host RAM"},
}};

template <std::size_t n>
std::string_view look_up(const std::array<Words, n>& table, std::string_view id) {
  const auto found = std::find_if(table.begin(), table.end(), [&](const Words& words) { return words.first == id; });
  return found == table.end() ? std::string_view{} : found->second;
}

/// The message format overrides the agent, because it is more exact.
std::string host_title(std::string_view agent, std::string_view message_format) {
  for (const std::string_view title : {look_up(titles_by_format, message_format), look_up(titles_by_agent, agent)})
    if (!title.empty()) return std::string(title);
  return "The host ran out of RAM";
}

/// The title of a failure, without its time.
std::string plain_title(const ReportIncident& of) {
  constexpr std::int64_t least_part_left = 10;  // of the device
  if (of.kind == "host") return host_title(of.agent, of.message_format);
  if (of.occurrences.empty() && of.more_occurrences > 0 && !of.requested_bytes)
    return fmt::format("PyTorch counted {} OOMs whose messages are not in the log", of.more_occurrences + 1);
  if (const std::string_view title = look_up(titles_by_format, of.message_format); !title.empty())
    return std::string(title);
  if (of.kind == "shared_memory") return "Shared memory (/dev/shm) ran out";
  if (of.kind == "pool") return "A fixed-size memory pool was too small";
  const std::string device = memory_name(of);
  if (of.kind == "masked") return fmt::format("A library call on {} failed, possibly because memory was short", device);
  // "Ran out" would hide that much was left.
  if (of.requested_bytes && of.free_bytes && of.capacity_bytes && !of.limit_bytes &&
      *of.free_bytes - *of.requested_bytes >= *of.capacity_bytes / least_part_left)
    return fmt::format("{} refused a request with {} of its memory free", capitalised(device),
                       percent_text(static_cast<double>(*of.free_bytes) / static_cast<double>(*of.capacity_bytes)));
  return fmt::format("{} ran out of memory", capitalised(device));
}

/// Puts the sizes of a failure in words, and keeps which.
class PrintedSizes {
 public:
  std::string text(const Bytes& size) {
    counts.push_back(size.count);
    return bytes_text(size);
  }
  /// A request with the digits of its message, by which a reader finds it there: "896.00 MiB", "64.0 GiB".
  std::string quoted(const Bytes& request) {
    const i64 unit = std::abs(request.count) >= GiB ? GiB : MiB;
    const std::string plain = text(request);
    if (request.slack <= 0 || request.slack > unit / 10) return plain;
    if (request.slack <= unit / 100) return decimal_bytes_text(request.count);
    return fmt::format("{:.1f} {}", to_double(request.count) / to_double(unit), unit == GiB ? "GiB" : "MiB");
  }

  std::vector<i64> counts;
};

/// The numbers of a host memory failure; "" if the log prints none, or a request by nobody in particular.
std::string host_numbers(const Oom& oom, PrintedSizes& print) {
  const auto victim = [&]() -> std::string {
    if (!oom.process) return "";
    return print.text(*oom.process) + (oom.process_name.empty() ? " in use" : " in " + oom.process_name);
  };
  const bool of_whole = oom.process && oom.process_name.empty();
  const bool names_caller = oom.agent == Agent::cpu_allocator && !oom.process_name.empty();
  if (oom.request && names_caller)
    return fmt::format("{} requested by {}", print.quoted(*oom.request), oom.process_name);
  if (oom.request && of_whole && !oom.limit && oom.agent == Agent::cpu_allocator)
    return fmt::format("{} requested with {} in use", print.quoted(*oom.request), print.text(*oom.process));
  if (oom.request) return "";
  if (names_caller) return "process " + oom.process_name;
  // sacct samples at intervals, so the last value may be old.
  const bool sampled = of_whole && oom.has(OomTrait::sampled);
  if (sampled && oom.limit && oom.process->count < oom.limit->count / 2)
    return fmt::format("the limit of {} was reached", print.text(*oom.limit));
  if (sampled && !oom.limit) return fmt::format("{} in the last sample", print.text(*oom.process));
  if (oom.limit && of_whole)
    return fmt::format("{} used of {} allowed", print.text(*oom.process), print.text(*oom.limit));
  if (oom.limit && oom.process) return fmt::format("{}, at the limit of {}", victim(), print.text(*oom.limit));
  if (oom.limit) return fmt::format("the limit of {} was reached", print.text(*oom.limit));
  if (oom.capacity && oom.free)
    return fmt::format("{} of {} in use{}{}", print.text(*oom.capacity - *oom.free), print.text(*oom.capacity),
                       oom.process ? ", " : "", victim());
  if (oom.capacity && oom.process) return fmt::format("{}, on a machine with {}", victim(), print.text(*oom.capacity));
  if (oom.free && oom.process) return fmt::format("{}, {} left on the node", victim(), print.text(*oom.free));
  return victim();
}

/// The numbers of any failure; "" if the log prints none.
std::string numbers_in_words(const Oom& oom, const Facts& facts, PrintedSizes& print) {
  if (const auto victims = facts.number("host.victims"); victims && !facts.find("host.used"))
    return fmt::format("{} processes killed at once", *victims);
  if (std::string host = oom.kind == OomKind::host ? host_numbers(oom, print) : ""; !host.empty()) return host;
  if (oom.limit && oom.request && facts.is_true("account.limit_reached"))
    return fmt::format("{} requested with {} of {} allowed in use", print.quoted(*oom.request),
                       print.text(oom.reserved.value_or(oom.allocated.value_or(Bytes{}))), print.text(*oom.limit));
  if (oom.request && oom.free && oom.capacity)
    return fmt::format("{} requested, {} of {} free", print.quoted(*oom.request), print.text(*oom.free),
                       print.text(*oom.capacity));
  // XLA's compiler adds up what a whole program needs, before anything is requested.
  const auto excess = facts.number("settings.plan_excess");
  if (oom.request && oom.limit && oom.agent == Agent::xla && !oom.has(OomTrait::on_chip))
    return fmt::format("the program needs {} of {}{}", print.quoted(*oom.request), print.text(*oom.limit),
                       excess ? fmt::format(", {} too much", bytes_text(*excess)) : "");
  if (oom.request && oom.limit)
    return fmt::format("{} requested, {} allowed", print.quoted(*oom.request), print.text(*oom.limit));
  if (oom.free && oom.limit) return fmt::format("{} free, {} wanted", print.text(*oom.free), print.text(*oom.limit));
  if (oom.process && oom.limit)
    return fmt::format("{} used of {} allowed", print.text(*oom.process), print.text(*oom.limit));
  if (oom.request && oom.free)
    return fmt::format("{} requested, {} free", print.quoted(*oom.request), print.text(*oom.free)) +
           (oom.allocated && !oom.unallocated ? ", " + print.text(*oom.allocated) + " allocated" : "");
  const auto here = facts.number("settings.free_here");
  if (oom.has(OomTrait::uneven_gpus) && oom.free && here)
    return fmt::format("{} free on one GPU, {} on another", print.text(*oom.free), bytes_text(*here));
  if (oom.request && oom.allocated && oom.allocated->count == 0 && oom.capacity)
    return fmt::format("{} requested, 0 bytes of {} allocated", print.quoted(*oom.request), print.text(*oom.capacity));
  if (oom.request && oom.allocated)
    return fmt::format("{} requested with {} allocated", print.quoted(*oom.request), print.text(*oom.allocated));
  if (oom.request && oom.capacity && oom.kind == OomKind::device)
    return fmt::format("{} requested, {} in total", print.quoted(*oom.request), print.text(*oom.capacity));
  if (oom.request) return print.quoted(*oom.request) + " requested";
  if (oom.process) return print.text(*oom.process) + " in use";
  return "";
}

}  // namespace

const ReportIncident* verdict_incident(const Report& report) {
  const auto found = std::find_if(report.incidents.begin(), report.incidents.end(),
                                  [&](const ReportIncident& of) { return report.verdict.incident == of.id; });
  return found == report.incidents.end() ? nullptr : &*found;
}

std::vector<const ReportIncident*> root_incidents(const Report& report) {
  std::vector<const ReportIncident*> roots;
  for (const ReportIncident& incident : report.incidents)
    if (!incident.follows) roots.push_back(&incident);
  return roots;
}

const ReportIncident& shown_incident(const Report& report, const std::vector<const ReportIncident*>& roots) {
  const auto named = std::find(roots.begin(), roots.end(), verdict_incident(report));
  return named == roots.end() ? *roots.back() : **named;
}

std::optional<ReportFrame> shown_place(const ReportIncident& of) {
  return of.frame || (of.ask_frame && of.ask_frame->runs_any) ? of.frame : of.ask_frame;
}

std::string place_words(const ReportFrame& frame, std::string_view file) {
  return frame.line > 0 ? fmt::format("{}:{}", file, frame.line) : std::string(file);
}

std::string code_words(const ReportFrame& frame) {
  int open = 0;
  char quote = 0;
  for (const char c : frame.code) {
    if (quote != 0)
      quote = c == quote ? 0 : quote;
    else if (c == '"' || c == '\'')
      quote = c;
    else
      open += (c == '(' || c == '[' || c == '{') - (c == ')' || c == ']' || c == '}');
  }
  return open > 0 ? frame.code + " …" : frame.code;
}

std::string memory_name(const ReportIncident& of) {
  if (of.kind == "host") return "the host";
  if (of.kind == "shared_memory") return "shared memory";
  const std::string_view name = device_name(of.accelerator);
  return of.device ? fmt::format("{} {}", name, *of.device) : fmt::format("the {}", name);
}

std::int64_t printed_again(const ReportIncident& of) {
  const bool all_listed = of.occurrences.size() < ScanLimits::occurrences;
  return static_cast<std::int64_t>(of.occurrences.size()) + (all_listed ? 0 : of.more_occurrences);
}

std::string moment_words(const ReportIncident& of) {
  std::string words;
  // An engine that has not begun to serve has no steps.
  const bool stepping = of.moment != "profile_run" && of.moment != "graph_capture";
  if (stepping && of.step) {
    words = of.bar ? fmt::format("at batch {} of {}", *of.step, *of.bar) : fmt::format("at step {}", *of.step);
    if (of.run_step && of.run_step != of.step && of.epoch) words += " of epoch " + epoch_text(*of.epoch);
  }
  if (stepping && !of.step && of.epoch) words = (of.epoch_over ? "after epoch " : "at epoch ") + epoch_text(*of.epoch);
  const std::string& moment = of.moment.empty() ? of.phase : of.moment;
  // A bar counts the steps that are done, but not each program that prints a step.
  const bool several = moment == "first_step" && of.run_step.value_or(of.step.value_or(0)) >= 2;
  if (!moment.empty()) words += (words.empty() ? "" : ", ") + phase_words(moment) + (several ? "s" : "");
  return words;
}

std::string incident_title(const ReportIncident& of) {
  std::string title = plain_title(of);
  // In "A process was killed; the log does not say why", the time belongs to the first clause.
  const std::string doubt = title.substr(std::min(title.find(';'), title.size()));
  title.resize(title.size() - doubt.size());
  if (const std::string moment = moment_words(of); !moment.empty()) title += " " + moment;
  title += doubt;
  // A counter of failures does not show where the program was, and a server that preempts a request has not failed.
  const bool counted = of.kind != "host" && !look_up(titles_by_format, of.message_format).empty();
  if (of.handled && !counted) title += "; the program continued";
  return title;
}

std::string incident_circumstances(const ReportIncident& of) {
  std::vector<std::string> parts;
  if (of.rank) parts.push_back(fmt::format("rank {}", *of.rank));
  if (!of.host.empty()) parts.push_back("host " + of.host);
  if (of.pid) parts.push_back(fmt::format("process {}", *of.pid));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::vector<std::string> following_words(const Report& report, const ReportIncident& of, std::size_t most) {
  std::vector<Location> alike, kills, echoes;
  for (const ReportIncident& other : report.incidents) {
    if (other.follows != of.id) continue;
    const bool own = other.kind == of.kind && other.requested_bytes && other.rank && other.rank != of.rank &&
                     std::find(of.ranks.begin(), of.ranks.end(), *other.rank) != of.ranks.end();
    const bool killed = other.kind == "host" && other.agent == "signal";  // the end of the same failure
    (own ? alike : killed ? kills : echoes).push_back(other.location);
  }
  std::vector<std::string> words;
  const auto count = [](const std::vector<Location>& all) { return static_cast<std::int64_t>(all.size()); };
  if (!alike.empty()) {
    // Ranks count from 0. If some have no line in the log, how many there are is unknown.
    const auto shows_all = [&](const ReportRank& rank) { return rank.rank < static_cast<int>(report.ranks.size()); };
    const bool all = std::all_of(report.ranks.begin(), report.ranks.end(), shows_all);
    words.push_back(fmt::format(
        "the same on {}, at {}",
        all ? fmt::format(
                  "{} of {}", of.ranks.size(),
                  plural(static_cast<std::int64_t>(std::max(report.ranks.size(), of.ranks.size())), "rank", "ranks"))
            : plural(static_cast<std::int64_t>(of.ranks.size()) - 1, "other rank", "other ranks"),
        short_locations(report, alike, most)));
  }
  if (!kills.empty()) words.push_back("then killed, at " + short_locations(report, kills, most));
  if (!echoes.empty())
    words.push_back(fmt::format("{}, at {}", plural(count(echoes), "further failure", "further failures"),
                                short_locations(report, echoes, most)));
  return words;
}

DecisiveNumbers decisive_numbers(const Oom& oom, const Facts& facts) {
  PrintedSizes print;
  std::string text = numbers_in_words(oom, facts, print);
  return {std::move(text), std::move(print.counts)};
}

std::string known_memory(const Oom& oom, const Facts& facts, const DecisiveNumbers& numbers) {
  std::vector<std::string> parts;
  std::vector<i64> shown = numbers.sizes;
  const auto fact = [&](std::string_view name) -> std::optional<Bytes> {
    const Fact* const found = facts.find(name);
    const Number* const size = found == nullptr ? nullptr : std::get_if<Number>(&found->value);
    if (size == nullptr || size->value <= 0) return std::nullopt;
    return Bytes{whole_number(size->value), whole_number(size->slack)};
  };
  // A request and a limit of the same size are one number, also where a unit rounds one of them.
  const auto add = [&](const std::optional<Bytes>& size, std::string_view before, std::string_view after) {
    constexpr i64 rounding = 1024;
    const auto same = [&](i64 other) { return std::abs(other - size->count) <= size->count / rounding; };
    if (!size || size->count <= 0 || std::any_of(shown.begin(), shown.end(), same)) return;
    shown.push_back(size->count);
    parts.push_back(fmt::format("{}{}{}", before, bytes_text(*size), after));
  };
  if (oom.kind == OomKind::host || oom.kind == OomKind::shared_memory) {
    const bool addresses = facts.is_true("host.virtual_limit");
    add(fact("settings.job_memory"), "the job requested ", "");
    add(fact("settings.pod_request"), "the container requested ", "");
    add(oom.limit ? oom.limit : fact("host.limit"), addresses ? "" : "the limit was ",
        addresses ? " of address space allowed" : "");
    if (!oom.has(OomTrait::sampled)) add(fact("host.used"), "", addresses ? " of address space in use" : " in use");
    const auto used = fact("host.machine_used"), total = fact("host.machine_total");
    if (used && total)
      parts.push_back(
          fmt::format("{} of the machine's {} in use at the last reading", bytes_text(*used), bytes_text(*total)));
    else if (!addresses)
      add(oom.capacity ? oom.capacity : fact("settings.machine_memory"), "a machine with ", " of RAM");
    add(fact("host.available"), "", " available at the last reading");
  } else if (oom.kind == OomKind::device || oom.kind == OomKind::masked) {
    if (oom.free && oom.capacity && oom.free->count >= 0 && shown.empty())
      parts.push_back(fmt::format("{} of {} free", bytes_text(*oom.free), bytes_text(*oom.capacity)));
    const auto used = fact("device.full_before"), total = fact("device.total_before");
    if (used && total)
      parts.push_back(fmt::format("{} of {} in use before the program started", bytes_text(*used), bytes_text(*total)));
    if (numbers.text.empty()) {
      add(oom.allocated, "", " allocated");
      add(oom.reserved, "", " reserved");
      add(fact("join.device_used"), "", " in use on the GPU");
    }
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string account_name(const ReportIncident& of) {
  if (of.capacity_bytes) return memory_name(of);
  return of.kind == "host" ? "the limit" : "the allocator's limit on " + memory_name(of);
}

std::string short_share_label(const std::string& label) {
  constexpr std::array<Words, 12> table = {{{"PyTorch cache (unused)", "cache"},
                                            {"cache (unused)", "cache"},
                                            {"page cache (files)", "page cache"},
                                            {"CUDA graph pools (free blocks)", "graph pools"},
                                            {"CUDA context + libraries", "CUDA+libs"},
                                            {"HIP context + libraries", "HIP+libs"},
                                            {"driver context + libraries", "driver+libs"},
                                            {"other processes + CUDA contexts", "other processes+CUDA"},
                                            {"other processes + HIP contexts", "other processes+HIP"},
                                            {"other processes + driver contexts", "other processes+driver"},
                                            {"PyTorch's cache and tensors", "cache+tensors"},
                                            {"other allocations (outside PyTorch)", "outside PyTorch"}}};
  const std::string_view found = look_up(table, label);
  return found.empty() ? label : std::string(found);
}

std::string account_title(const ReportIncident& of) {
  const ReportAccount& account = *of.account;
  std::string title = fmt::format("Where the {} of {} were", bytes_text(account.capacity_bytes), account_name(of));
  if (of.requested_bytes && *of.requested_bytes / 4 < account.capacity_bytes)
    title += fmt::format(" when the program requested {} more", bytes_text(*of.requested_bytes));
  return title;
}

SharesText shares_text(const ReportAccount& account) {
  std::vector<std::int64_t> sizes;
  for (const Share& share : account.shares) sizes.push_back(share.bytes);
  sizes.push_back(account.unexplained_bytes);
  return shares_text(sizes, account.capacity_bytes);
}

/// Within the digits of the message, or slightly below zero: the driver and the allocator were read one after the
/// other.
bool is_rounding(const ReportAccount& account) {
  constexpr std::int64_t least_part = 100;  // of the total
  const bool slightly_below =
      account.unexplained_bytes < 0 && -account.unexplained_bytes < account.capacity_bytes / least_part;
  return slightly_below || std::abs(account.unexplained_bytes) <= account.slack_bytes;
}

std::string unexplained_label(const ReportAccount& account) {
  const bool rounding = is_rounding(account);
  if (account.unexplained_bytes < 0 && !rounding) return "beyond the total";
  return rounding && account.unexplained_bytes != 0 ? "unexplained (rounding)" : "unexplained";
}

std::string account_words(const ReportIncident& of) {
  constexpr double worth_a_percent = 0.1;
  const ReportAccount& account = *of.account;
  const SharesText text = shares_text(account);
  const auto without_padding = [](const std::string& padded) { return padded.substr(padded.find_first_not_of(' ')); };
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < account.shares.size(); ++i) {
    std::string part = short_share_label(account.shares[i].label) + " " + without_padding(text.numbers[i]);
    if (static_cast<double>(account.shares[i].bytes) >= worth_a_percent * static_cast<double>(account.capacity_bytes))
      part += " (" + without_padding(text.percents[i]) + ")";
    parts.push_back(std::move(part));
  }
  if (!is_rounding(account)) parts.push_back(unexplained_label(account) + " " + without_padding(text.numbers.back()));
  return fmt::format("{}, {} {}: {}", capitalised(account_name(of)), without_padding(text.total), text.unit,
                     fmt::join(parts, " | "));
}

}  // namespace oomdoctor
