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
constexpr std::array<Words, 53> titles_by_format = {{
    {"oom-killer-nodes", "The Linux kernel killed a process because the memory nodes it may use were full"},
    {"oom-killer-cut", "The Linux OOM killer killed a process: the host or a memory limit was full"},
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
    {"systemd-oomd", "systemd-oomd killed a process: memory pressure or memory use was too high"},
    {"docker-inspect", "Docker reports that the container was OOM-killed"},
    {"ray-object-store", "Ray's object store is full"},
    {"ray", "Ray killed a task because its node was short of memory"},
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
    {"workers-gone", "Background workers vanished without a message"},
    {"notebook", "The notebook's session ran out of host RAM"},
    {"driver-died", "The Spark driver stopped without a reason in the log"},
    {"kernel-died", "The notebook's kernel died without a reason in the log"},
    {"session-crashed", "The notebook's session crashed without a reason in the log"},
    {"launcher-kill", "The launcher ended its processes without a message while host RAM was nearly full"},
    {"mapping", "A file could not be mapped into memory"},
    {"vllm-free-memory", "Less GPU memory was free at startup than the engine may take"},
    {"sglang-unbalanced", "One GPU had less free memory than the others"},
    {"vllm-preemption", "vLLM preempted a request: its KV cache was full, and the request waits"},
    {"sglang-retract", "SGLang retracted requests: its KV cache was full, and they wait"},
    {"torch-counted", "PyTorch counted an OOM whose message is not in the log"},
    {"driver-host-code",
     "A call on the GPU got no more memory; the driver's code names the host's, but the GPU's may be short"},
    {"onnxruntime-any-provider",
     "ONNX Runtime's arena got no more memory; the log does not show whether of the GPU or of the host"},
    {"winerror-1455", "Windows could commit no more memory: RAM and page file were full"},
}};

constexpr std::array<Words, 9> titles_by_agent = {{
    {"kernel", "The Linux OOM killer killed a process: the host was out of RAM"},
    {"cgroup", "The kernel killed a process at the memory limit of its container or job"},
    {"slurm", "The Slurm job reached its memory limit"},
    {"kubernetes", "Kubernetes ended the container at its memory limit"},
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

/// In the unit of the log where another one would show digits that the log does not have: "0.19 GiB", not 194.56 MiB.
std::string text(const Bytes& bytes) {
  const i64 step = saturated_sum(bytes.slack, bytes.slack);
  i64 unit = 1;
  while (unit <= std::abs(bytes.count) >> 10) unit <<= 10;
  return step > unit ? bytes_text(bytes.count, to_double(step)) : bytes_text(bytes.count);
}

/// The message format overrides the agent, because it is more exact.
std::string host_title(std::string_view agent, std::string_view message_format) {
  for (const std::string_view title : {look_up(titles_by_format, message_format), look_up(titles_by_agent, agent)})
    if (!title.empty()) return std::string(title);
  return "The host ran out of RAM";
}

/// The title of a failure, without its time.
std::string plain_title(const ReportIncident& of) {
  if (of.kind == "host") return host_title(of.agent, of.message_format);
  if (of.occurrences.empty() && of.more_occurrences > 0 && !of.requested_bytes)
    return fmt::format("PyTorch counted {} OOMs whose messages are not in the log", of.more_occurrences + 1);
  if (const std::string_view title = look_up(titles_by_format, of.message_format); !title.empty())
    return std::string(title);
  if (of.kind == "shared_memory") return "Shared memory (/dev/shm) ran out";
  if (of.kind == "pool") return "A fixed-size memory pool was too small";
  const std::string device = memory_name(of);
  if (of.kind == "masked") return fmt::format("A library call on {} failed, possibly because memory was short", device);
  return fmt::format("{} ran out of memory", capitalised(device));
}

/// The numbers of a host memory failure; "" if the log prints none, or a request by nobody in particular.
std::string host_numbers(const Oom& oom) {
  const std::string victim =
      oom.process ? text(*oom.process) + (oom.process_name.empty() ? " in use" : " in " + oom.process_name) : "";
  const bool of_whole = oom.process && oom.process_name.empty();
  const bool names_caller = oom.agent == Agent::cpu_allocator && !oom.process_name.empty();
  if (oom.request && names_caller) return fmt::format("{} requested by {}", text(*oom.request), oom.process_name);
  if (oom.request && of_whole && !oom.limit && oom.agent == Agent::cpu_allocator)
    return fmt::format("{} requested with {} in use", text(*oom.request), text(*oom.process));
  if (oom.request) return "";
  if (names_caller) return "process " + oom.process_name;
  // sacct samples at intervals, so the last value may be old.
  const bool sampled = of_whole && oom.has(OomTrait::sampled);
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

std::string incident_title(const ReportIncident& of) {
  std::string title = plain_title(of);
  // In "A process was killed; the log does not say why", the time belongs to the first clause.
  const std::string doubt = title.substr(std::min(title.find(';'), title.size()));
  title.resize(title.size() - doubt.size());
  // An engine that has not begun to serve has no steps.
  const bool stepping = of.moment != "profile_run" && of.moment != "graph_capture";
  if (stepping && of.step) {
    title += of.bar ? fmt::format(" at batch {} of {}", *of.step, *of.bar) : fmt::format(" at step {}", *of.step);
    if (of.run_step && of.run_step != of.step && of.epoch) title += " of epoch " + epoch_text(*of.epoch);
  }
  if (stepping && !of.step && of.epoch)
    title += (of.epoch_over ? " after epoch " : " at epoch ") + epoch_text(*of.epoch);
  const std::string& moment = of.moment.empty() ? of.phase : of.moment;
  // A bar counts the steps that are done, but not each program that prints a step.
  const bool several = moment == "first_step" && of.run_step.value_or(of.step.value_or(0)) >= 2;
  if (!moment.empty())
    title += (stepping && (of.step || of.epoch) ? ", " : " ") + phase_words(moment) + (several ? "s" : "");
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

std::string decisive_numbers(const Oom& oom, const Facts& facts) {
  // "0.19 GiB" has no five digits in MiB.
  const auto text = [](const Bytes& b) {
    constexpr i64 coarse = MiB;
    return b.slack >= coarse && b.count < GiB && b.count % GiB != 0
               ? fmt::format("{:.2f} GiB", static_cast<double>(b.count) / static_cast<double>(GiB))
               : bytes_text(b.count);
  };
  if (const auto victims = facts.number("host.victims"); victims && !facts.find("host.used"))
    return fmt::format("{} processes killed at once", *victims);
  if (const std::string host = oom.kind == OomKind::host ? host_numbers(oom) : ""; !host.empty()) return host;
  if (oom.limit && oom.request && facts.is_true("account.limit_reached"))
    return fmt::format("{} requested with {} of {} allowed in use", text(*oom.request),
                       text(oom.reserved.value_or(oom.allocated.value_or(Bytes{}))), text(*oom.limit));
  if (oom.request && oom.free && oom.capacity)
    return fmt::format("{} requested, {} of {} free", text(*oom.request), text(*oom.free), text(*oom.capacity));
  // XLA's compiler adds up what a whole program needs, before anything is requested.
  const auto excess = facts.number("settings.plan_excess");
  if (oom.request && oom.limit && oom.agent == Agent::xla && !oom.has(OomTrait::on_chip))
    return fmt::format("the program needs {} of {}{}", text(*oom.request), text(*oom.limit),
                       excess ? fmt::format(", {} too much", bytes_text(whole_number(*excess))) : "");
  if (oom.request && oom.limit) return fmt::format("{} requested, {} allowed", text(*oom.request), text(*oom.limit));
  if (oom.free && oom.limit) return fmt::format("{} free, {} wanted", text(*oom.free), text(*oom.limit));
  if (oom.process && oom.limit) return fmt::format("{} used of {} allowed", text(*oom.process), text(*oom.limit));
  if (oom.request && oom.free)
    return fmt::format("{} requested, {} free", text(*oom.request), text(*oom.free)) +
           (oom.allocated && !oom.unallocated ? ", " + text(*oom.allocated) + " allocated" : "");
  const auto here = facts.number("settings.free_here");
  if (oom.has(OomTrait::uneven_gpus) && oom.free && here)
    return fmt::format("{} free on one GPU, {} on another", text(*oom.free), bytes_text(whole_number(*here)));
  if (oom.request && oom.allocated && oom.allocated->count == 0 && oom.capacity)
    return fmt::format("{} requested, 0 bytes of {} allocated", text(*oom.request), text(*oom.capacity));
  if (oom.request && oom.allocated)
    return fmt::format("{} requested with {} allocated", text(*oom.request), text(*oom.allocated));
  if (oom.request) return text(*oom.request) + " requested";
  if (oom.process) return text(*oom.process) + " in use";
  return "";
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

std::string unexplained_label(const ReportAccount& account) {
  if (account.unexplained_bytes < -account.slack_bytes) return "beyond the total";
  const bool rounding = std::abs(account.unexplained_bytes) <= account.slack_bytes;
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
  if (std::abs(account.unexplained_bytes) > account.slack_bytes)
    parts.push_back(unexplained_label(account) + " " + without_padding(text.numbers.back()));
  return fmt::format("{}, {} {}: {}", capitalised(account_name(of)), text.total, text.unit, fmt::join(parts, " | "));
}

}  // namespace oomdoctor
