#include "facts/analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/ascii.h"
#include "base/parse_whole.h"

namespace oomdoctor {
namespace {

/// of the forecast's lower bound; a restart must happen clearly before the memory is full
constexpr double restart_share = 0.7;

/// Sets the static memory: the last value of a gauge of tensors, if it does not grow. Also sets the interval between
/// restarts that keeps a growing run below its capacity.
void series_advice(const ScanResult& scan, Analysis& analysis) {
  if (!analysis.main_series) return;
  const Series& s = scan.series[*analysis.main_series];
  const bool leaks = analysis.trends.leaks(*analysis.main_series);
  const std::vector<Evidence> last{s.last_evidence};
  const double kept = leaks ? s.first_value : s.last_value;
  if (s.metric == Metric::allocated && s.kind == SeriesKind::gauge && kept > 0)  // 0: read before there was a model
    analysis.facts.set("advice.static", Value{Number{kept, 0}}, last);
  if (!leaks || !s.has_steps || s.counts_epochs) return;
  const Trend& t = analysis.trends[*analysis.main_series];
  // The step at which the memory was full: that of the failure, else the earliest one in the forecast.
  const std::optional<i64> failure_step = analysis.primary ? scan.incidents[*analysis.primary].when.step : std::nullopt;
  if (!failure_step && !t.forecast) return;
  const double full = failure_step ? static_cast<double>(*failure_step) : t.forecast->step_low;
  const double every = std::floor(restart_share * (full - t.working.first_step));
  if (every >= 1) analysis.facts.set("advice.restart_every", Value{Number{every, 0}}, last);
}

/// Notes the memory that training this model needs at least, next to the tensors at the failure. Some states may not
/// have existed yet.
void emit_states(Analysis& analysis) {
  const Fact* states = analysis.facts.find("model.states_least");
  const auto live = analysis.facts.number("oom.allocated");
  if (states == nullptr || !live) return;
  Note note{
      Severity::note,
      fmt::format("training this many parameters takes at least {} for weights, gradients and optimizer states; {} "
                  "were live when it failed",
                  computed_bytes_text(std::get<Number>(states->value).value), bytes_text(*live)),
      {}};
  if (!states->evidence.empty()) note.at = states->evidence.front();
  analysis.notes.push_back(std::move(note));
}

/// Notes requests that PyTorch's allocator counted as refused without another trace in the log. PyTorch catches some of
/// them itself, programs catch others.
void emit_refusals(const ScanResult& scan, std::vector<Note>& notes) {
  const Event* last = nullptr;
  double refused = 0;
  for (const Event& event : scan.remarks) {
    const Remark* remark = remark_of(event, "allocator/failures");
    if (remark == nullptr || remark->number.value_or(0) <= 0) continue;
    last = &event;
    refused = *remark->number;
  }
  if (last == nullptr) return;
  notes.push_back(
      {Severity::note,
       fmt::format("PyTorch's allocator had refused {} {} when this was printed; the log "
                   "does not show what happened to {}",
                   whole_number(refused), refused == 1 ? "request" : "requests", refused == 1 ? "it" : "them"),
       last->evidence});
}

/// Notes that most of the GPU was free when a library failed.
void emit_room(const ScanResult& scan, std::vector<Note>& notes) {
  for (const Event& event : scan.remarks) {
    const Remark* remark = remark_of(event, "device/room");
    if (remark == nullptr || !remark->number) continue;
    const auto sizes = scan.settings.find("free_at_status");
    notes.push_back({Severity::warning,
                     fmt::format("memory was not short around the failure of the library: {:.0f}% of the device was "
                                 "free{}",
                                 100 * *remark->number, sizes == scan.settings.end() ? "" : ", " + sizes->second.value),
                     sizes == scan.settings.end() ? event.evidence : sizes->second.evidence});
    return;
  }
}

/// Notes that the log claims a leak that its values do not show.
void emit_claimed_leak(const ScanResult& scan, const Facts& facts, std::vector<Note>& notes) {
  const Event* claim = scan.find_remark("text/leak_claimed");
  if (claim == nullptr || facts.is_true("run.at_risk") || facts.is_true("trend.leak")) return;
  // The program itself says what it keeps.
  if (const auto kept = scan.settings.find("kept_tensors"); kept != scan.settings.end()) {
    notes.push_back({Severity::warning,
                     fmt::format("the log itself reports a leak, and says that the program keeps {}: keep numbers, as "
                                 "loss.item() gives, not tensors",
                                 kept->second.value),
                     kept->second.evidence});
    return;
  }
  const bool values = facts.find("trend.shape") != nullptr;
  notes.push_back(
      {Severity::warning,
       values ? "the log itself reports a leak here, but the memory values that were read show no growth that lasts"
              : "the log itself reports a leak here; it has too few memory values to check that",
       claim->evidence});
}

/// Notes the operator that allocates most, by the table of a profiler.
void emit_profiled(const ScanResult& scan, std::vector<Note>& notes) {
  const auto operation = scan.settings.find("profiled_operation"), memory = scan.settings.find("profiled_memory");
  if (operation == scan.settings.end() || memory == scan.settings.end()) return;
  notes.push_back({Severity::note,
                   fmt::format("in the table of torch.profiler, {} allocated most itself: {}, summed over its calls",
                               operation->second.value, memory->second.value),
                   operation->second.evidence, true});
}

/// Notes what made room after a refusal that the program survived.
void emit_room_made(const ScanResult& scan, std::vector<Note>& notes) {
  const auto freed = scan.settings.find("freed_by_gc");
  if (freed == scan.settings.end()) return;
  notes.push_back(
      {Severity::warning,
       fmt::format("after a refusal, a garbage collection freed {}, and the run continued", freed->second.value),
       freed->second.evidence});
}

/// Notes the size of the batch that the program set after its last failure.
void emit_smaller_batch(const ScanResult& scan, std::vector<Note>& notes) {
  const Event* last = nullptr;
  for (const Event& event : scan.remarks)
    if (const Remark* remark = remark_of(event, "handled/smaller_batch"); remark != nullptr && remark->number)
      last = &event;
  if (last == nullptr || scan.incidents.empty()) return;
  if (!std::all_of(scan.incidents.begin(), scan.incidents.end(), [](const Incident& i) { return i.handled; })) return;
  notes.push_back({Severity::warning,
                   fmt::format("after the failure, the program set the batch size to {}",
                               whole_number(*std::get<Remark>(last->what).number)),
                   last->evidence});
}

/// Notes that MXNet reports a failure where the program waits for a result, which is not where the memory was
/// requested.
void emit_waited(const Incident& failure, std::vector<Note>& notes) {
  static constexpr std::array<std::string_view, 5> waits{"asnumpy", "asscalar", "wait_to_read", "waitall", "WaitAll"};
  const std::vector<Frame>& frames = failure.oom.frames;
  if (std::none_of(frames.begin(), frames.end(), [](const Frame& frame) {
        return frame.file.find("mxnet") != std::string::npos &&
               std::find(waits.begin(), waits.end(), frame.function) != waits.end();
      }))
    return;
  notes.push_back({Severity::warning,
                   "MXNet runs operations later: this line only waited for a result, and an earlier operation needed "
                   "the memory",
                   failure.evidence});
}

/// Notes that amounts are missing because the message is cut off.
void emit_cut_off(const Incident& failure, std::vector<Note>& notes) {
  if (failure.oom.has(OomTrait::cut_off))
    notes.push_back(
        {Severity::note, "the message is cut off: the amounts after that place are unknown", failure.evidence, true});
}

/// Notes that Dask ended workers at a threshold of 0, and what to set, unless the log sets it afterwards.
void emit_no_budget(const ScanResult& scan, std::vector<Note>& notes) {
  const auto budget = scan.settings.find("worker_budget"), threshold = scan.settings.find("worker_terminate");
  if (budget == scan.settings.end()) return;
  const bool corrected =
      threshold != scan.settings.end() && threshold->second.value.find_first_not_of("0.") != std::string::npos;
  notes.push_back(
      {Severity::warning,
       fmt::format(
           "Dask restarted workers at {} of their memory: the threshold terminate was 0, and memory was not short. {}",
           budget->second.value,
           corrected
               ? fmt::format("The log also sets it to {}: Dask reads it when a worker starts", threshold->second.value)
               : "Set it to false or to 0.95"),
       corrected ? threshold->second.evidence : budget->second.evidence});
}

/// Notes that a part of the GPU was the limit, which the message prints as the size of the GPU.
void emit_vgpu_limit(const ScanResult& scan, std::vector<Note>& notes) {
  const auto limit = size_of_setting(scan, "vgpu_limit");
  if (!limit) return;
  notes.push_back({Severity::warning,
                   fmt::format("HAMi refused the request: its limit for this pod is {} of the GPU (nvidia.com/gpumem), "
                               "and the whole GPU may have more",
                               bytes_text(*limit)),
                   scan.settings.find("vgpu_limit")->second.evidence});
}

/// Explains lines that look like an out-of-memory failure and are none. They are warnings, so that the short
/// report shows them as well: nothing else in it says why.
void emit_lookalikes(const ScanResult& scan, std::vector<Note>& notes) {
  struct Lookalike {
    std::string_view setting, words;
  };
  static constexpr std::array<Lookalike, 10> lookalikes{
      {{"physics_buffer",
        "the scene needs a larger {} in PhysX's settings: a buffer of fixed size was too small, not memory"},
       {"worker_high", "Dask warned that {} is much for the limit of a worker; nothing failed"},
       {"low_commit",
        "Windows ran low on virtual memory (RAM and page file), and then refuses memory to any program; the largest "
        "user was {}"},
       {"over_quota", "the program used {} of host RAM, more than its quota: Heroku let it swap (R14), nothing failed"},
       {"worker_paused", "a worker was paused at {} of its memory limit: Dask waits, nothing failed"},
       {"worker_resumed", "the worker continued below {} of its memory limit"},
       {"pod_rejected", "Kubernetes rejected the pod; memory was not the reason: {}"},
       {"kernel_memory",
        "a kernel needs more of the chip's shared memory than the hardware has ({}), which is not the GPU's memory: "
        "smaller blocks or fewer stages help"},
       {"nearly_requested", "the job used {} of host RAM that it requested: a larger or longer run may need more"},
       {"context_exceeded", "a request was longer than the model's context of {} tokens; memory was not the reason"}}};
  for (const Lookalike& lookalike : lookalikes)
    if (const auto found = scan.settings.find(lookalike.setting); found != scan.settings.end())
      notes.push_back(
          {Severity::warning, fmt::format(fmt::runtime(lookalike.words), found->second.value), found->second.evidence});
  struct RemarkedLookalike {
    std::string_view remark, words;
  };
  static constexpr std::array<RemarkedLookalike, 9> remarked{
      {{"end/bus_error",
        "a task died of a bus error, and the log does not say why: a full /dev/shm gives one, as does a mapped file "
        "that became shorter"},
       {"limit/touched",
        "memory reached the job's limit at some point; nothing was killed for it. The page cache also counts, and the "
        "kernel frees it first"},
       {"tensorflow/spared",
        "TensorFlow requested more memory, and goes on without it: \"this is not a failure\", its message says"},
       {"tensorflow/collected",
        "the driver refused to give TensorFlow's pool more memory; TensorFlow then freed what it did not use, and the "
        "log shows no failure of memory after that"},
       {"limit/signal_stack",
        "Python's faulthandler reserved a stack that is too small for the registers of this processor, and "
        "the kernel answers with \"Cannot allocate memory\". RAM was not the reason. A newer Python on Linux 5.14 "
        "or later reserves enough; else run without faulthandler.enable()"},
       {"limit/locked",
        "a lock of memory was refused, as the limit on locked memory does (ulimit -l); the program goes on without it"},
       {"limit/order",
        "the kernel itself requested several pages in one piece and found none free; it killed nothing for that"},
       {"disk/write_failed",
        "PyTorch could not write a file to its end: a full disk or a quota does that, memory was not the reason"},
       {"limit/quota", "a service refused a request for its quota or its size; memory was not the reason"}}};
  for (const RemarkedLookalike& lookalike : remarked)
    if (const Event* found = scan.find_remark(lookalike.remark); found != nullptr)
      notes.push_back({Severity::warning, std::string(lookalike.words), found->evidence});
}

/// Notes what NVIDIA's catalog of Xids says about rows of memory that the driver replaces: 63 is recorded, 64 could not
/// be.
void emit_replaced_rows(const ScanResult& scan, std::vector<Note>& notes) {
  constexpr double not_recorded = 64;
  const Event* replaced = scan.find_remark("device/remapped");
  const auto gpu = scan.settings.find("remapped_gpu");
  if (replaced == nullptr || gpu == scan.settings.end()) return;
  const auto line_of = [](const Evidence& e) { return std::pair{e.span.source, e.span.first_line}; };
  std::string bus = gpu->second.value;
  if (line_of(gpu->second.evidence) != line_of(replaced->evidence))
    bus = "<BUS ID>";  // of several GPUs
  else if (bus.find('.') == bus.npos)
    bus += ".0";
  const bool failed = std::get<Remark>(replaced->what).number == not_recorded;
  notes.push_back({Severity::warning,
                   fmt::format("{} `nvidia-smi --gpu-reset -i {}`{}",
                               failed ? "start no more work on this GPU, and reset it:"
                                      : "programs can go on. The reset needs an idle GPU:",
                               bus, failed ? ". If it comes again, the GPU needs service" : ""),
                   replaced->evidence});
}

/// Notes a refusal below the limit on one block, which that limit does not explain.
void emit_below_block_limit(const ScanResult& scan, const Incident& primary, std::vector<Note>& notes) {
  const auto limit = size_of_setting(scan, "block_limit");
  if (!limit || !primary.oom.request || primary.oom.request->count < *limit) return;
  for (const Incident& other : scan.incidents) {
    if (&other == &primary || other.handled || !other.oom.request || other.oom.request->count >= *limit) continue;
    notes.push_back({Severity::warning,
                     fmt::format("a request of {} was refused too: it is below the limit on one block, so something "
                                 "else refused it",
                                 bytes_text(other.oom.request->count)),
                     other.evidence});
    return;
  }
}

/// Explains requests that a server preempted: they cost time, and no work.
void emit_preemption(const ScanResult& scan, std::vector<Note>& notes) {
  const auto found = std::find_if(scan.incidents.begin(), scan.incidents.end(),
                                  [](const Incident& incident) { return incident.oom.is_preemption(); });
  if (found == scan.incidents.end()) return;
  notes.push_back(
      {Severity::warning,
       "the server computes such a request again, which takes time. A larger KV cache or fewer requests at once make "
       "that rare; the options: oomdoctor explain cache-share",
       found->evidence});
}

/// Warns about a checkpoint that was saved although memory ran out during its copy.
void emit_damaged_state(const ScanResult& scan, std::vector<Note>& notes) {
  for (const Incident& incident : scan.incidents) {
    if (!incident.oom.has(OomTrait::damages_state)) continue;
    const std::string& line = incident.evidence.excerpt;
    constexpr std::string_view label = "tensor with name ";
    const std::size_t at = line.find(label), name = at == line.npos ? at : at + label.size();
    const std::string entry =
        name == line.npos ? "one of its entries" : line.substr(name, line.find(". ", name) - name);
    notes.push_back({Severity::warning,
                     "the checkpoint that was saved may be damaged: the message says that " + entry +
                         " may point to invalid memory. Load it and compare before you use it",
                     incident.evidence});
    return;
  }
}

/// " of 80", by the bar of the last progress line, "1/80"; "" if it has none. A complete bar says so.
std::string total_words(std::string_view line, i64 step) {
  const std::string bar = std::to_string(step) + '/';
  for (std::size_t at = line.find(bar); at != line.npos; at = line.find(bar, at + 1)) {
    if (at > 0 && is_word_char(line[at - 1])) continue;
    const i64 total = leading_integer(line.substr(at + bar.size()));
    if (total > step) return fmt::format(" of {}", total);
    if (total == step) return ", the last of its bar";
  }
  return "";
}

/// The number of the epoch in its summary, "Epoch 2: train_loss=0.21, epoch time 1877 s"; "" of the line of a step or a
/// bar.
std::string summed_epoch(std::string_view line, i64 step) {
  constexpr std::string_view word = "poch ";
  if (line.find_first_of("%|") != line.npos || lower(line).find("step") != std::string::npos) return "";
  std::string epoch;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (!is_digit(line[at]) || (at > 0 && (is_word_char(line[at - 1]) || line[at - 1] == '.'))) continue;
    const std::size_t end = std::min(line.find_first_not_of("0123456789", at), line.size());
    const bool whole = end == line.size() || (line[end] != '.' && !is_word_char(line[end]));
    if (whole && leading_integer(line.substr(at)) == step) return "";
    if (epoch.empty() && whole && line.substr(0, at).ends_with(word)) epoch = line.substr(at, end - at);
    at = end;
  }
  return epoch;
}

/// Notes the last step of a log that ends without a reason. A bar at 0 is not a step yet. Where more lines follow, some
/// of them may tell the end in words of the program.
void emit_last_step(const ScanResult& scan, const Runs& runs, std::vector<Note>& notes) {
  const bool ended = runs.last().ending || scan.remark_counts.contains("run/completed");
  if (ended || !scan.last_step || !scan.last_progress || scan.inputs.size() != 1) return;
  const i64 step = *scan.last_step - scan.last_before;
  if (step == 0) return;
  constexpr i64 cut_lines = 2;  // a line that was cut, and a blank one
  if (scan.coverage.lines - scan.last_progress->span.last_line > cut_lines) return;
  // The summary of an epoch has no step: the steps, and what follows them, are over.
  if (const std::string epoch = summed_epoch(scan.last_progress->excerpt, step); !epoch.empty()) {
    notes.push_back({Severity::note, "the log ends after epoch " + epoch + "; it does not show how the run ended",
                     *scan.last_progress, true});
    return;
  }
  const std::string total = total_words(scan.last_progress->excerpt, step);
  const bool complete = total.starts_with(',');
  notes.push_back({Severity::note,
                   fmt::format("the log ends after step {}{}{}{}", step, total,
                               complete || scan.last_before == 0 ? "" : " of its epoch",
                               complete ? "" : "; it does not show how the run ended"),
                   *scan.last_progress, true});
}

/// Notes that a launcher ended its processes and the log shows no reason.
void emit_launcher_end(const ScanResult& scan, const Runs& runs, std::vector<Note>& notes) {
  const Event* ended = scan.find_remark("collateral/terminated");
  if (ended == nullptr || runs.last().ending || scan.remark_counts.contains("run/completed")) return;
  notes.push_back(
      {Severity::warning,
       "the launcher ended its processes: one of them had ended, or the launcher got a signal. The log does "
       "not show which, and why",
       ended->evidence});
}

/// Notes that a server which could not start was started again below, and served.
void emit_later_server(const ScanResult& scan, const Incident& failed, std::vector<Note>& notes) {
  if (failed.handled) return;
  const auto last = std::max_element(scan.incidents.begin(), scan.incidents.end(),
                                     [](const auto& a, const auto& b) { return a.when.order < b.when.order; });
  const Event* loads = scan.find_remark("phase/load", {.after = last->when.order});
  if (loads == nullptr) loads = scan.find_remark("run/phase_over", {.after = last->when.order});
  if (loads == nullptr) return;
  const Event* serves = scan.find_remark("run/serving", {.after = loads->when.order});
  if (serves != nullptr && serves->evidence.span.source == failed.evidence.span.source)
    notes.push_back({Severity::note, "after this failure, the server was started again, and answered requests",
                     serves->evidence, true});
}

/// Notes the exit code of a failed program, if nothing else shows why it ended.
void emit_exit_code(const ScanResult& scan, const Runs& runs, std::vector<Note>& notes) {
  const std::optional<Ending>& ending = runs.last().ending;
  if (!ending || ending->decides || runs.last().outcome != Outcome::no_oom ||
      scan.remark_counts.contains("run/completed"))
    return;
  const Span& end = ending->at.span;
  for (const Event& event : scan.remarks)
    if (const auto* exit = std::get_if<Exit>(&event.what); exit != nullptr && exit->code.value_or(0) != 0 &&
                                                           event.evidence.span.source == end.source &&
                                                           event.evidence.span.first_line == end.first_line)
      return notes.push_back(
          {Severity::warning,
           fmt::format("the program failed with exit code {}; the log does not show why", *exit->code), ending->at});
}

/// Notes a table of memory that contains no values, if nothing else shows memory.
void emit_no_values(const ScanResult& scan, std::vector<Note>& notes) {
  if (!scan.series.empty()) return;
  if (const Event* row = scan.find_remark("table/no_values"); row != nullptr)
    notes.push_back(
        {Severity::note,
         "the column of memory contains no values. nvidia-smi prints [N/A] for a GPU that shares the host's "
         "RAM: record the host's memory instead",
         row->evidence, true});
}

/// Notes a line about memory that ran out, if nothing shows that a program reports it about itself.
void emit_unclear(const ScanResult& scan, std::vector<Note>& notes) {
  for (const Event& event : scan.remarks) {
    const bool quoted = remark_of(event, "text/quoted") != nullptr;
    if (!quoted && remark_of(event, "failure/unclear") == nullptr) continue;
    notes.push_back(
        {Severity::note,
         quoted ? "a message about memory is quoted here, by a manual or a program; it is not a failure"
                : "this line speaks of memory that ran out, but it is not clear that a program says it of itself",
         event.evidence, quoted});
    return;
  }
}

/// Sets the sizes of an earlier run that fitted, if the failed run has others.
void earlier_size_facts(const ScanResult& scan, const Runs& runs, Facts& facts) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 3> sizes{
      {{"batch_size", "settings.batch_before"},
       {"image_size", "settings.image_before"},
       {"sequence_length", "settings.sequence_before"}}};
  if (runs.all.size() < 2) return;
  const RunSummary& failed = runs.all[runs.judged];
  for (const auto& [name, fact] : sizes) {
    const auto size = scan.settings.find(std::string(name));
    if (size == scan.settings.end() || size->second.before.empty()) continue;
    for (const RunSummary& run : runs.all)
      if (&run != &failed && !run.failure && size->second.before_line >= run.first_line &&
          size->second.before_line <= run.last_line && size->second.evidence.span.first_line >= failed.first_line)
        facts.set(fact, Value{Number{std::strtod(size->second.before.c_str(), nullptr), 0}}, {size->second.evidence});
  }
}

}  // namespace

std::optional<std::size_t> find_primary(const ScanResult& scan) {
  int run = 0;  // the last run with a failure
  if (scan.inputs.size() == 1)
    for (const Incident& incident : scan.incidents)
      if (!incident.handled) run = std::max(run, incident.run.number);
  // A failure that caused others came first, even if its line was read later.
  for (const Incident& incident : scan.incidents)
    if (!incident.handled && incident.follows && incident.run.number >= run) return incident.follows;
  for (std::size_t i = 0; i < scan.incidents.size(); ++i)
    if (!scan.incidents[i].handled && scan.incidents[i].run.number >= run) return i;
  // All were survived. Requests that a server preempted are not failures.
  for (std::size_t i = scan.incidents.size(); i-- > 0;)
    if (!scan.incidents[i].oom.is_preemption()) return i;
  return std::nullopt;
}

Analysis analyse(const ScanResult& scan, const AnalysisOptions& options) {
  Analysis out;
  out.runs = find_runs(scan);
  out.primary = find_primary(scan);
  for (const Incident& incident : scan.incidents) {
    out.accounts.push_back(build_account(incident));
    out.phases.push_back(find_phase(scan, incident));
  }
  out.quotes = Quotes(scan);
  const Incident* primary = out.primary ? &scan.incidents[*out.primary] : nullptr;
  if (primary != nullptr && primary->oom.has(OomTrait::refusals_counted)) emit_refusals(scan, out.notes);
  if (primary != nullptr) {
    message_facts(*primary, known_capacity(scan, *primary, options), out.facts);
    sibling_facts(scan, *primary, out.facts);
    neighbour_facts(scan, *primary, out.facts);
    phase_facts(scan, *primary, out.phases[*out.primary], out.facts);
    host_facts(scan, *primary, out.facts);
    emit_cut_off(*primary, out.notes);
    emit_waited(*primary, out.notes);
    emit_later_server(scan, *primary, out.notes);
    emit_below_block_limit(scan, *primary, out.notes);
    emit_vgpu_limit(scan, out.notes);
  } else {
    no_phase_facts(out.facts);
    emit_abrupt_end(scan, out.notes);
    emit_refusals(scan, out.notes);
    emit_unclear(scan, out.notes);
    emit_no_values(scan, out.notes);
    emit_room(scan, out.notes);
    emit_lookalikes(scan, out.notes);
    emit_no_budget(scan, out.notes);
    emit_replaced_rows(scan, out.notes);
    emit_preemption(scan, out.notes);
    emit_exit_code(scan, out.runs, out.notes);
    emit_last_step(scan, out.runs, out.notes);
    emit_launcher_end(scan, out.runs, out.notes);
  }
  emit_free_memory(scan, out.notes);
  emit_node_sum(scan, out.notes);
  emit_room_made(scan, out.notes);
  emit_smaller_batch(scan, out.notes);
  emit_profiled(scan, out.notes);
  emit_damaged_state(scan, out.notes);
  setting_facts(scan, primary, out.facts);
  earlier_size_facts(scan, out.runs, out.facts);
  model_facts(out.facts);
  logits_facts(out.facts);
  emit_states(out);
  trend_facts(scan, options, out);
  if (primary == nullptr) emit_claimed_leak(scan, out.facts, out.notes);
  snapshot_facts(scan, out.primary, out.facts);
  compare_ranks(scan, out);
  series_advice(scan, out);
  advice_facts(out.facts);
  return out;
}

}  // namespace oomdoctor
