#include "fold/result_builder.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/ascii.h"
#include "fold/incident_dedup.h"
#include "read/context.h"
#include "read/line_traits.h"
#include "read/statement.h"
#include "read/traceback.h"

namespace oomdoctor {
namespace {

/// Bytes; no machine has this much, but mmcv prints such values after an epoch.
constexpr double max_value = 64.0 * static_cast<double>(TiB);
constexpr double max_step = 1e15;  ///< the same for steps

/// Only the distance separates a report without numbers from the next failure. Loggers, launchers and chained
/// exceptions repeat the same failure within about this many lines.
constexpr i64 repeat_distance = 60;
/// Thousands of lines separate the first line of an allocator dump from the exception after it.
constexpr i64 dump_distance = 20000;

/// "[22410.118204]": the kernel's time stamp, in seconds, at the front or after the host name. It has six decimals.
std::optional<double> kernel_seconds(std::string_view text) {
  for (std::size_t open = text.find('['); open != text.npos && open < 80; open = text.find('[', open + 1)) {
    std::size_t at = text.find_first_not_of(' ', open + 1);
    if (at == text.npos) return std::nullopt;
    const auto number = read_number(text, at);
    if (number && number->decimals == 6 && at < text.size() && text[at] == ']') return number->value;
  }
  return std::nullopt;
}

/// "out of memory at batch 32, retrying …": a notice from its words for the failure on, without its time and logger.
std::string_view words_of_retry(std::string_view line) {
  std::size_t at = line.find("ut of memory");
  if (at == line.npos) at = line.find("OOM");
  return trimmed(at == line.npos ? line : line.substr(at));
}

/// "Mar 12 04:10:01", in front of a line of syslog; empty if there is none. It prints whole seconds.
std::string_view syslog_second(std::string_view text) {
  constexpr std::size_t date = 7, stamp = 15;
  return text.size() > stamp && looks_like_clock(text.substr(date)) ? text.substr(0, stamp) : std::string_view{};
}

bool agrees(const std::optional<int>& a, const std::optional<int>& b) { return !a || !b || *a == *b; }

bool equal_numbers(const Oom& a, const Oom& b) {
  return a.request == b.request && a.capacity == b.capacity && a.free == b.free && a.allocated == b.allocated &&
         a.process == b.process && a.unallocated == b.unallocated && a.reserved == b.reserved && a.limit == b.limit;
}

/// "/site-packages/torch/….py:2224: UserWarning: … CUDA out of memory": code that warns of a failure has caught it.
bool is_python_warning(std::string_view line) {
  const std::size_t at = line.find("Warning: ");
  if (at == line.npos) return false;
  const std::string_view before = line.substr(0, at);
  const std::size_t colon = before.rfind(": "), file = before.rfind(".py:", colon);
  return colon != before.npos && file != before.npos && only_digits(before.substr(file + 4, colon - file - 4));
}

/// "ray::Worker.update() (pid=91987, ip=…": the process in which a task raised the exception below. Ray prints it again
/// in the process that waited for the task.
std::optional<i64> find_ray_process(const Cursor& cursor) {
  constexpr int max_frames = 80;
  static constexpr std::string_view task = "ray::", pid = "(pid=";
  std::optional<i64> found;
  cursor.backward_texts(max_frames, [&](std::string_view text) {
    const std::size_t at = text.find(task), process = text.find(pid, std::min(at, text.size()));
    if (process != text.npos) found = leading_integer(text.substr(process + pid.size()));
    return !found;
  });
  return found.value_or(0) > 0 ? found : std::nullopt;
}

/// True if such a line comes right below: Ray's driver prints the exceptions of its tasks one after the other.
bool is_printed_by_driver(const Cursor& cursor) {
  const auto next = find_after(cursor, 1, "ray::");
  return next && next->text.find("(pid=") != std::string_view::npos;
}

/// True if a runtime of devices refused the memory. A driver answers ENOMEM for the memory of its device, and Python's
/// class for it is MemoryError. Pinned memory is the host's.
bool is_of_device_runtime(const Frame& innermost) {
  static constexpr std::array<std::string_view, 5> runtimes{"tinygrad/runtime/ops_", "tinygrad/runtime/support/",
                                                            "cupy/cuda/memory", "numba/cuda/cudadrv/", "pycuda/"};
  static constexpr std::array<std::string_view, 6> hosts{"ops_cpu",  "ops_clang", "ops_llvm",
                                                         "ops_disk", "ops_npy",   "ops_python"};
  const auto names = [&](std::string_view part) { return innermost.file.find(part) != std::string::npos; };
  return std::any_of(runtimes.begin(), runtimes.end(), names) && std::none_of(hosts.begin(), hosts.end(), names) &&
         innermost.function.find("host") == std::string::npos && innermost.function.find("pinned") == std::string::npos;
}

/// Makes such a refusal one of the device.
void correct_memory_by_runtime(Oom& oom, const Cursor& cursor) {
  if (oom.kind != OomKind::host || oom.agent != Agent::cpu_allocator) return;
  if (!is_general_form(oom) && oom.message_format != "memory-error") return;
  std::vector<Frame> frames = read_traceback(cursor);
  if (frames.empty() || !is_of_device_runtime(frames.back())) return;
  oom.kind = OomKind::device;
  oom.agent = Agent::driver;
  oom.message_format = "general";
  oom.traits = {OomTrait::prose};
  oom.frames = std::move(frames);
}

/// The date in front of a line, which may follow a tag such as "[I ".
std::optional<double> date_of(const Line& line) {
  constexpr std::size_t longest_tag = 8;
  if (line.prefix.time && is_dated(*line.prefix.time)) return line.prefix.time;
  const auto digit = std::find_if(line.text.begin(), line.text.end(), is_digit);
  const auto at = static_cast<std::size_t>(digit - line.text.begin());
  const auto stamp = at < longest_tag ? read_time(line.text.substr(at)) : std::nullopt;
  return stamp && stamp->has_date && is_dated(stamp->seconds) ? std::optional(stamp->seconds) : std::nullopt;
}

/// The date of the current line, else the nearest one above it: the fold knows the times of lines with an event only.
std::optional<double> find_date(const Cursor& cursor) {
  constexpr int max_lines = 200;  // a longer traceback is rare
  std::optional<double> found = date_of(cursor.line());
  if (!found) cursor.backward(max_lines, [&](const Line& line) { return !(found = date_of(line)); });
  return found;
}

}  // namespace

void ResultBuilder::begin_emit(const Cursor& cursor, const LineRef& line) {
  here_.begin(cursor, line);
  last_line_ = line.last_line;
  series_.begin_line();
  runs_.begin_line(here_);
  if (line.line.prefix.time) add_time(*line.line.prefix.time);
}

void ResultBuilder::add_time(double time) {
  last_time_ = time;
  runs_.time(time);
  result_.period.add(time);
}

void ResultBuilder::count_impossible() {
  if (result_.impossible_values++ == 0) result_.first_impossible = here_.evidence();
}

void ResultBuilder::end_block() {
  series_.end_block();
  runs_.end_block();
}

void ResultBuilder::keep_progress() {
  for (auto context = contexts_.rbegin(); context != contexts_.rend() && context->ended == runs_.ended(); ++context)
    if (const StreamProgress* progress = runs_.find_progress(context->stream)) {
      context->progress = *progress;
      context->progress->line.settle();
    }
}

/// PyTorch's own counter below a failure that the program caught includes those whose messages were not printed.
void ResultBuilder::count_refusals() {
  Incident* caught = nullptr;
  for (Incident& incident : result_.incidents) {
    if (incident.oom.kind != OomKind::device || incident.follows) continue;
    if (caught != nullptr || !incident.handled) return;  // whose the others are is unknown
    caught = &incident;
  }
  if (caught == nullptr) return;
  for (const Event& event : result_.remarks) {
    const Remark* remark = remark_of(event, "allocator/failures");
    if (remark == nullptr || event.when.order < caught->when.order) continue;
    const i64 counted = whole_number(remark->number.value_or(0)) - 1;
    const auto printed = static_cast<i64>(caught->occurrences.size()) + caught->more_occurrences;
    if (counted > printed) caught->more_occurrences += counted - printed;
  }
}

namespace {

/// True if the autoencoder was making an image of its latent form.
bool decodes_image(const Incident& incident) {
  static constexpr std::array<std::string_view, 5> words{"decode_first_stage", "decode_latent", "vae_decode",
                                                         "vae.decode(", "first_stage_model.decode("};
  const auto& frames = incident.oom.frames;
  return std::any_of(frames.begin(), frames.end(), [](const Frame& f) {
    return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
      return f.function.find(word) != std::string::npos || f.code.find(word) != std::string::npos;
    });
  });
}

}  // namespace

bool ResultBuilder::was_completed_before(const Incident& incident) const {
  return result_.find_remark("run/completed", {.before = incident.when.order}) != nullptr;
}

Event ResultBuilder::event_here() {
  Event e;
  e.evidence = here_.evidence();
  e.origin = here_.origin();
  e.when.order = here_.number();
  e.when.time = last_time_;
  const RunTracker::StreamState* own = runs_.find_stream(here_.stream());
  if (own == nullptr) own = runs_.find_stream(here_.printer());
  const RunTracker::StreamState* stream = own != nullptr ? own : runs_.find_stream({});
  // Ray's daemon reports the end of a worker, and only the job's driver prints steps. Ranks make the same ones.
  if (stream == nullptr) stream = runs_.find_common_stream(here_.origin().rank.has_value());
  if (stream != nullptr) {
    e.when.step = stream->step;
    e.when.before = stream->before;
    e.when.epoch = stream->epoch;
    e.when.epoch_over = stream->epoch && stream->epoch_over;
    if (stream->step && stream->total != stream->max_total) e.when.bar = stream->total;
    e.when.bar_full = stream->step && stream->max_total && *stream->step == *stream->max_total && !stream->epoch;
  }
  return e;
}

/// The order of the tests matters: same memory, same place, no progress in between, same test, then the numbers. Parts
/// of one report may be thousands of lines apart. Reports without numbers must be close.
bool ResultBuilder::is_same_failure(std::size_t index, const Oom& now) const {
  const Incident& old = result_.incidents[index];
  const IncidentContext& context = contexts_[index];
  // TensorFlow's shape of a tensor alone names no place: it belongs to the pool that refused the request.
  const bool anywhere = of_tensorflow_pool(now) && now.kind == OomKind::device && !here_.origin().device;
  // The exception of a copy does not say why: the pool has said so before.
  const bool explained = of_tensorflow_pool(old.oom) && old.oom.kind == OomKind::device && is_failed_copy(now);
  const bool same_memory = old.oom.kind == now.kind || (anywhere && of_tensorflow_pool(old.oom)) || explained ||
                           ((is_general_form(old.oom) || is_general_form(now)) && may_be_same_memory(old.oom, now));
  if (!same_memory) return false;
  if (!agrees(old.origin.rank, here_.origin().rank) || !agrees(old.origin.device, here_.origin().device)) return false;
  if (old.run.number != runs_.number()) return false;  // a run that starts again may fail in the same way
  const RunTracker::StreamState* stream = runs_.find_stream(context.stream);
  if (stream != nullptr && stream->advances > context.advances) return false;
  const std::string_view test = failed_test(here_.ref().line.body());
  if (!test.empty() && !context.test.empty() && test != context.test) return false;
  const std::string_view part = counted_part(here_.ref().line.body()), part_before = counted_part(old.evidence.excerpt);
  if (!part.empty() && !part_before.empty() && part != part_before) return false;
  const i64 distance = here_.number() - context.line;
  if (old.oom.agent == now.agent && comes_in_parts(now) && old.oom.request && now.request)
    return complement(old.oom, now) && distance <= dump_distance;
  if (explained) return distance <= dump_distance;
  if (of_tensorflow_pool(old.oom) && of_tensorflow_pool(now))
    return complement(old.oom, now) && distance <= dump_distance;
  if (has_numbers(old.oom) && has_numbers(now)) {
    if (is_general_form(old.oom) || is_general_form(now))
      return distance <= repeat_distance && complement(old.oom, now);
    return equal_numbers(old.oom, now);
  }
  // Requests that wait for cache again and again are one state of the server.
  if (old.oom.caught && now.caught && now.kind == OomKind::pool) return old.oom.message_format == now.message_format;
  if (is_general_form(old.oom) || is_general_form(now))
    return distance <= repeat_distance && complement(old.oom, now) && may_be_same_memory(old.oom, now);
  if (old.oom.agent != now.agent || old.oom.message_format != now.message_format) return false;
  // Ranks print the same words. Other words, such as another step or size, are those of another attempt.
  if ((now.message_format == "skipped" || now.message_format == "composer") &&
      !old.evidence.excerpt.ends_with(trimmed(here_.ref().line.body())))
    return false;
  if (now.message_format == "retried" &&
      words_of_retry(old.evidence.excerpt) != words_of_retry(here_.ref().line.body()))
    return false;
  if (now.message_format == "comfyui") return false;  // one process, which decodes one image after the other
  const i64 reach = is_passed_on(here_.ref().line.body()) ? dump_distance : repeat_distance;
  return distance <= reach && has_numbers(old.oom) == has_numbers(now);
}

/// The line that shows that the program continued after the incident with this index, before the traceback that ends at
/// the current line. Only a message alone is printed by the code that caught it; a traceback may be printed twice. Work
/// that a logger dated a minute later shows it as well.
std::optional<Line> ResultBuilder::find_work_since(std::size_t index, const Oom& now) const {
  constexpr double other_request = 60;  // seconds: a stream prints one failure again within few, also a slow handler
  constexpr i64 handler_lines = 5;      // an exception that is raised again may draw its bar once more
  const Incident& old = result_.incidents[index];
  if (comes_in_parts(now) || contexts_[index].stream != here_.stream()) return std::nullopt;
  if (has_numbers(now) || has_numbers(old.oom)) {  // in a loop over models, each fails with the same numbers
    const RunTracker::StreamState* stream = runs_.find_stream(here_.stream());
    const bool begins_anew = stream != nullptr && stream->bar_line >= contexts_[index].line + handler_lines;
    return begins_anew ? find_work_before_traceback(here_.cursor(), contexts_[index].line) : std::nullopt;
  }
  if (const auto work = find_later_work(here_.cursor(), contexts_[index].line, other_request)) return work;
  if (!old.oom.frames.empty()) return std::nullopt;
  return find_work_before_traceback(here_.cursor(), contexts_[index].line);
}

void ResultBuilder::add_occurrence(std::size_t index, const Evidence& evidence) {
  Incident& incident = result_.incidents[index];
  if (incident.occurrences.size() < ScanLimits::occurrences)
    incident.occurrences.push_back(evidence);
  else
    ++incident.more_occurrences;
}

/// The kernel prints such victims within a second, two lines apart at most: a cgroup at its limit, or a process with
/// its children.
bool ResultBuilder::is_one_sweep(const Incident& old, const IncidentContext& context, const Oom& now) const {
  constexpr i64 max_lines = 2;
  constexpr double max_seconds = 1;
  const auto kills = [](const Oom& oom) {
    return (oom.message_format == "oom-killer" || oom.message_format == "oom-killer-cut") &&
           (oom.agent == Agent::kernel || oom.agent == Agent::cgroup);
  };
  if (!kills(old.oom) || !kills(now) || old.oom.agent != now.agent || here_.number() - context.line > max_lines)
    return false;
  const auto then = kernel_seconds(old.occurrences.empty() ? old.evidence.excerpt : old.occurrences.back().excerpt);
  const auto here = kernel_seconds(here_.ref().line.text);
  if (then && here) return *here - *then >= 0 && *here - *then <= max_seconds;
  const std::string_view second = syslog_second(old.evidence.excerpt);
  return now.agent == Agent::cgroup && !second.empty() && second == syslog_second(here_.ref().line.text);
}

std::vector<Evidence> ResultBuilder::context_here() const {
  std::vector<Evidence> context;
  const auto keep = [&](const Line& line) {
    context.push_back(LineRef{line, {}, line.number, line.last}.evidence());
    return true;
  };
  here_.cursor().backward(ScanLimits::context, keep);
  std::reverse(context.begin(), context.end());
  here_.cursor().forward(ScanLimits::context, keep);
  return context;
}

/// The more trusted report becomes the main one. The old report fills its gaps.
void ResultBuilder::replace_main_report(std::size_t index, const Oom& now) {
  add_occurrence(index, result_.incidents[index].evidence);
  Incident& old = result_.incidents[index];
  Oom better = now;
  fill_gaps(better, old.oom);
  better.frames = std::move(old.oom.frames);
  better.caught |= old.oom.caught;
  old.oom = std::move(better);
  old.evidence = here_.evidence();
  old.context = context_here();
}

/// Kernel, scheduler, launcher and shell all report the same kill. This finds the latest incident nearby that may be
/// the same death; a report of the same victim wins at any distance.
bool ResultBuilder::merge_kill_report(const Oom& now) {
  if (kill_report_rank(now) == 0) return false;
  std::optional<std::size_t> found;
  for (std::size_t i = result_.incidents.size(); i-- > 0;) {
    const Incident& old = result_.incidents[i];
    if (is_one_sweep(old, contexts_[i], now)) {
      found = i;
      break;
    }
    const bool near = here_.number() - contexts_[i].line <= repeat_distance;
    const bool victim = same_victim(old, here_.origin());
    if (!(near || victim) || !may_be_same_kill(old, now, here_.origin())) continue;
    if (!found || victim) found = i;
    if (victim) break;
  }
  if (!found) return false;
  Incident& old = result_.incidents[*found];
  contexts_[*found].line = here_.last();
  if (kill_report_rank(now) > kill_report_rank(old.oom)) {
    replace_main_report(*found, now);
    if (here_.origin().pid) old.origin.pid = here_.origin().pid;
  } else if (old.evidence.span.first_line != here_.number()) {
    fill_gaps(old.oom, now);
    add_occurrence(*found, here_.evidence());
  }
  if (!old.origin.pid) old.origin.pid = here_.origin().pid;
  if (!old.origin.rank) old.origin.rank = here_.origin().rank;
  if (old.oom.frames.empty()) old.oom.frames = read_traceback(here_.cursor());
  return true;
}

void ResultBuilder::merge_report(std::size_t index, const Oom& now) {
  Incident& old = result_.incidents[index];
  if (old.evidence.span.first_line == here_.number()) return;
  if (is_general_form(old.oom) && !is_general_form(now))
    replace_main_report(index, now);
  else
    add_occurrence(index, here_.evidence());
  if (now.allocated && !old.oom.allocated) old.in_use = here_.cited();
  if (comes_in_parts(now) || is_general_form(old.oom)) fill_gaps(old.oom, now);
  if (old.oom.frames.empty()) old.oom.frames = read_traceback(here_.cursor());
  if (!old.origin.rank) old.origin.rank = here_.origin().rank;
  if (!old.origin.device) old.origin.device = here_.origin().device;
  if (!old.origin.pid) old.origin.pid = here_.origin().pid;
  if (!now.caught && old.oom.caught) {  // a warning first, then nobody caught the exception
    old.oom.caught = old.handled = false;
    old.handled_by.reset();
  }
  old.handled |= now.caught;
  IncidentContext& context = contexts_[index];
  if (context.test.empty()) {
    context.test = failed_test(here_.ref().line.body());
    if (!context.test.empty())
      result_.settings.insert_or_assign("failed_test", KnownSetting{context.test, here_.cited(), "", 0});
  }
  context.line = here_.last();
}

void ResultBuilder::oom(Oom oom) {
  const Cursor& cursor = here_.cursor();
  if (is_raised_in_code(cursor.line().body()) || is_in_patch(cursor) || is_manual_example(cursor))
    return remark("text/quoted", {});
  // Nobody writes the sizes of an allocator or a scheduler by hand: a full report is hardly ever a quotation.
  const bool full_report = (oom.request && (oom.capacity || oom.free || oom.allocated)) || (oom.process && oom.limit);
  const bool may_be_quoted = !full_report || is_program_text(cursor.line().body());
  if (may_be_quoted && (is_catalogue_entry(cursor) || is_quoted_in_text(cursor, !is_general_form(oom)) ||
                        is_in_back_ticks(cursor) || is_in_literal_block(cursor)))
    return remark("text/quoted", {});
  oom.caught |= is_python_warning(here_.cursor().line().body());
  correct_memory_by_runtime(oom, cursor);
  if (merge_kill_report(oom)) return;
  const bool death = kill_report_rank(oom) > 0;
  for (std::size_t i = result_.incidents.size(); i-- > 0;) {
    const Incident& old = result_.incidents[i];
    // A kill that follows a refusal in the program's own words is the end of the same shortage of host RAM.
    const bool announced = is_general_form(old.oom) && old.oom.kind == OomKind::host && !has_numbers(old.oom);
    if (death && !announced) break;
    if (!agrees(old.origin.rank, here_.origin().rank) || !agrees(old.origin.device, here_.origin().device)) continue;
    if (is_same_failure(i, oom)) {
      const auto work = find_work_since(i, oom);
      if (!work) return merge_report(i, oom);
      result_.incidents[i].handled = true;
      break;
    }
    if (has_numbers(oom) == has_numbers(old.oom)) break;  // a different failure in between: this one is new
  }
  add_incident(std::move(oom));
}

/// Ray and vLLM tag each line with the process that printed it: "(WorkerDict pid=7001)". Such a process is of this job,
/// and the driver may list it as another one.
void ResultBuilder::note_workers(const Oom& oom) {
  const std::string_view text = oom.others.empty() ? std::string_view() : here_.cursor().surroundings();
  for (const OtherProcess& process : oom.others) {
    const std::string tag = "pid=" + std::to_string(process.pid);
    if (process.pid != 0 && (text.find(tag + ')') != text.npos || text.find(tag + ',') != text.npos))
      remark("job/worker", static_cast<double>(process.pid));
  }
}

void ResultBuilder::add_incident(Oom oom) {
  if (result_.incidents.size() >= ScanLimits::incidents) drop_incident();
  runs_.failure(here_, oom.kind);
  note_workers(oom);
  const Event here = event_here();
  Incident incident;
  if (oom.frames.empty() && !oom.caught) oom.frames = read_traceback(here_.cursor());
  incident.handled = oom.caught;
  const bool of_end = is_of_log_below(oom.described && !oom.caught);
  if (oom.caught)
    incident.handled_by = here_.evidence();
  else if (!of_end)
    runs_.died(here_);
  incident.oom = std::move(oom);
  incident.evidence = here_.evidence();
  if (here_.cited().span != incident.evidence.span) incident.in_use = here_.cited();
  incident.context = context_here();
  incident.origin = here_.origin();
  if (incident.oom.kind == OomKind::device && incident.origin.pid && !incident.oom.frames.empty())
    if (const auto process = find_ray_process(here_.cursor()); process || is_printed_by_driver(here_.cursor()))
      incident.origin.pid = process;
  if (quotes_worker(here_.ref().line.body())) incident.origin.pid.reset();
  incident.when = here.when;
  if (!incident.when.time) incident.when.time = find_date(here_.cursor());
  incident.run = runs_.place();
  result_.incidents.push_back(std::move(incident));
  contexts_.push_back({here_.stream(), runs_.stream(here_).advances, runs_.ended(), here_.last(),
                       std::string(failed_test(here_.ref().line.body()))});
  contexts_.back().of_end = of_end;
  if (!contexts_.back().test.empty())
    result_.settings.insert_or_assign("failed_test", KnownSetting{contexts_.back().test, here_.cited(), "", 0});
}

/// True for an end that is described before anything ran: "kubectl describe" before "kubectl logs".
bool ResultBuilder::is_of_log_below(bool described) const {
  return described && !result_.first_step && result_.progress_lines == 0;
}

/// Moves such failures after everything that ran.
void ResultBuilder::place_described_ends() {
  for (std::size_t i = 0; i < contexts_.size(); ++i) {
    if (!contexts_[i].of_end || result_.progress_lines == 0) continue;
    Incident& incident = result_.incidents[i];
    incident.run = runs_.place();
    incident.when.order = std::max(incident.when.order, last_line_);
    incident.when.step = result_.last_step;
    incident.when.before = result_.last_before;
    if (last_time_) incident.when.time = last_time_;
  }
}

/// Drops one from the middle. The first ones stay. The latest may be the one that ended the run, so there is always
/// room for it.
void ResultBuilder::drop_incident() {
  const std::size_t victim = result_.incidents.size() / 2;
  result_.incidents.erase(result_.incidents.begin() + static_cast<std::ptrdiff_t>(victim));
  contexts_.erase(contexts_.begin() + static_cast<std::ptrdiff_t>(victim));
  ++result_.more_incidents;
}

void ResultBuilder::reading(const Reading& reading, std::optional<double> step, std::optional<double> time) {
  if (!(std::abs(reading.value) <= max_value) || (step && !(std::abs(*step) <= max_step))) return count_impossible();
  if (step) *step -= to_double(runs_.stream(here_).shift);
  if (runs_.counts_anew(here_) && series_.starts_again(here_, reading, runs_.number())) runs_.begin_counted_run(here_);
  const auto stream_step = runs_.stream(here_).step;
  const auto epoch = step || time ? std::nullopt : runs_.epoch_of(here_);
  if (epoch) return series_.add(here_, reading, runs_.number(), epoch, {}, {}, true);
  if (!step && !stream_step && !time) time = here_.ref().line.prefix.time;  // without steps, the clock is the axis
  series_.add(here_, reading, runs_.number(), step, time, stream_step);
}

void ResultBuilder::step(const Step& step) {
  if (step.step && !(std::abs(to_double(*step.step)) <= max_step)) return count_impossible();
  runs_.step(here_, step);
}

void ResultBuilder::go_on(const StepRun& run) {
  if (run.lines == 1) return;
  if (run.first_time) add_time(*run.first_time);
  if (run.last_time) add_time(*run.last_time);
  result_.period.add(run.period);
  if (run.last.line.prefix.time) add_time(*run.last.line.prefix.time);  // a log collector's
  runs_.go_on(here_, run);
}

void ResultBuilder::setting(std::string_view name, std::string_view value) {
  if (value.size() > ScanLimits::setting_bytes) return;
  const auto found = result_.settings.find(name);
  const bool known = found != result_.settings.end(), same = known && found->second.value == value;
  runs_.setting(here_, known && !same);
  if ((name == "script" && same) || (name == "job_number" && known && !same)) runs_.command(here_);
  if (same) return;  // keep the line that printed it first
  if (!known && result_.settings.size() >= ScanLimits::settings) return;
  KnownSetting setting{std::string(value), here_.cited(), "", 0};
  if (known) setting.before = found->second.value, setting.before_line = found->second.evidence.span.first_line;
  result_.settings.insert_or_assign(std::string(name), std::move(setting));
}

void ResultBuilder::exit(const Exit& exit) {
  if (!is_of_log_below(exit.described)) runs_.exit(here_, exit);
  i64& count = result_.remark_counts["exit"];
  if (static_cast<std::size_t>(++count) > ScanLimits::remarks_per_id) return;
  Event e = event_here();
  e.what = exit;
  result_.remarks.push_back(std::move(e));
}

void ResultBuilder::remark(std::string_view id, std::optional<double> number) {
  runs_.remark(here_, id, number);
  recovery_.remark(here_, id, runs_.ended(), runs_.number());
  if (id == "collateral/terminated" && !killed_) killed_ = event_here();
  const std::string name(id);
  i64& count = result_.remark_counts[name];
  if (static_cast<std::size_t>(++count) > ScanLimits::remarks_per_id) {
    // The latest one matters most (the phase at the end): it replaces the latest one kept so far.
    for (auto it = result_.remarks.rbegin(); it != result_.remarks.rend(); ++it)
      if (remark_of(*it, name) != nullptr) {
        result_.remarks.erase(std::next(it).base());
        break;
      }
  }
  Event e = event_here();
  e.what = Remark{name, number};
  result_.remarks.push_back(std::move(e));
}

void ResultBuilder::lost(LostEvidence evidence) {
  evidence.at = here_.evidence();
  result_.lose(std::move(evidence));
}

void ResultBuilder::add_unreported(Incident incident) {
  incident.run = runs_.place();
  contexts_.push_back({{}, 0, runs_.ended(), incident.evidence.span.first_line, ""});
  result_.incidents.push_back(std::move(incident));
}

/// The launcher killed its processes, nothing printed a reason, and host RAM was nearly full. The kernel probably
/// killed one of them for it.
void ResultBuilder::emit_silent_death() {
  constexpr double nearly_full = 0.8;  // printed values are seconds old, and the peak inside a step is higher
  const bool explained = !result_.incidents.empty() || result_.remark_counts.contains("end/exception") ||
                         result_.remark_counts.contains("run/completed");
  if (!killed_ || explained) return;
  const auto full = std::find_if(result_.series.begin(), result_.series.end(), [&](const Series& s) {
    return s.metric == Metric::host_used && s.capacity > 0 && s.last_value >= nearly_full * s.capacity;
  });
  if (full == result_.series.end()) return;
  Incident incident;
  incident.oom = host_oom(Agent::signal, "launcher-kill");
  incident.oom.traits = {OomTrait::vanished};
  incident.oom.capacity = Bytes{whole_number(full->capacity), whole_number(full->quantum)};
  incident.oom.free = *incident.oom.capacity - Bytes{whole_number(full->last_value), whole_number(full->quantum / 2)};
  incident.evidence = killed_->evidence;
  incident.when.order = killed_->when.order;
  incident.when.time = killed_->when.time;
  add_unreported(std::move(incident));
}

/// PyTorch's memory table counts a refused request whose message is not in the log. A program that only prints the
/// table may end right after it; work below the first such table shows that it continued.
void ResultBuilder::emit_counted_refusal() {
  const auto counts = [](const Event& event) {
    const Remark* remark = remark_of(event, "allocator/failures");
    return remark != nullptr && remark->number.value_or(0) > 0;
  };
  const auto first = std::find_if(result_.remarks.begin(), result_.remarks.end(), counts);
  if (!result_.incidents.empty() || first == result_.remarks.end()) return;
  const auto counted = std::find_if(result_.remarks.rbegin(), result_.remarks.rend(), counts);
  const auto last = [&](Metric metric) -> std::optional<Bytes> {
    for (const Series& s : result_.series)
      if (s.metric == metric && s.origin.device == counted->origin.device)
        return Bytes{whole_number(s.last_value), whole_number(s.quantum / 2)};
    return std::nullopt;
  };
  Incident incident;
  incident.oom.framework = "pytorch";
  incident.oom.message_format = "torch-counted";
  incident.oom.traits = {OomTrait::refusals_counted};
  incident.oom.allocated = last(Metric::allocated);
  incident.oom.reserved = last(Metric::reserved);
  if (incident.oom.allocated && incident.oom.reserved)
    incident.oom.unallocated = *incident.oom.reserved - *incident.oom.allocated;
  incident.evidence = counted->evidence;
  incident.origin = counted->origin;
  incident.when.order = counted->when.order;  // the counter does not show the step
  incident.handled = result_.last_progress && result_.last_progress->span.first_line > first->evidence.span.first_line;
  incident.more_occurrences = whole_number(std::get<Remark>(counted->what).number.value_or(1)) - 1;
  add_unreported(std::move(incident));
}

/// An engine that computed no room for its cache stops right after that. Its last message may be missing at the end of
/// the log; a request that it answers later shows that it continued.
void ResultBuilder::emit_empty_cache() {
  const Event* tokens = result_.find_remark("pool/no_tokens");
  const Event* found = tokens != nullptr ? tokens : result_.find_remark("pool/no_memory");
  if (!result_.incidents.empty() || found == nullptr) return;
  if (result_.find_remark("run/serving", {.after = found->when.order}) != nullptr) return;
  const bool sglang = found == tokens;
  Incident incident;
  incident.oom.kind = OomKind::pool;
  incident.oom.agent = Agent::serving;
  incident.oom.framework = sglang ? "sglang" : "vllm";
  incident.oom.message_format = sglang ? "sglang-negative-pool" : "vllm-negative-cache";
  incident.oom.traits = {OomTrait::no_cache_blocks};
  incident.evidence = found->evidence;
  incident.origin = found->origin;
  incident.when = found->when;
  add_unreported(std::move(incident));
}

/// A bar is drawn once more when an exception ends its loop, and a log may have only that line of it, below the
/// failure. It counts the steps that were done.
void ResultBuilder::take_step_of_redrawn_bar(Incident& incident) const {
  constexpr i64 reach = 60;  // in lines: the traceback may be between
  if (incident.handled || incident.when.step || incident.oom.kind != OomKind::device) return;
  if (result_.progress_lines != 1 || !result_.last_progress || !result_.last_step) return;
  const Span &bar = result_.last_progress->span, &failed = incident.evidence.span;
  const std::string_view text = result_.last_progress->excerpt;
  const bool drawn = text.find("it/s") != text.npos || text.find("s/it") != text.npos;
  if (!drawn || bar.source != failed.source || bar.first_line <= failed.first_line ||
      bar.first_line > failed.first_line + reach)
    return;
  incident.when.step = result_.last_step;
  incident.run.progress_lines = result_.progress_lines;
}

void ResultBuilder::finish() {
  end_block();
  place_described_ends();
  series_.finish();
  emit_silent_death();
  emit_counted_refusal();
  emit_empty_cache();
  runs_.finish();
  recovery_.mark(result_.incidents, contexts_);
  count_refusals();
  for (Incident& incident : result_.incidents) {
    read_lines_of(incident);
    take_step_of_redrawn_bar(incident);
    // A save after the training belongs to no step and no epoch, and so does the image that a sampler's steps made.
    const bool after_sampler = decodes_image(incident) && result_.last_progress &&
                               result_.last_progress->excerpt.find("100%|") != std::string::npos;
    if (after_sampler || (incident.oom.has(OomTrait::saves_state) && was_completed_before(incident))) {
      incident.when.step.reset();
      incident.when.epoch.reset();
    }
  }
}

}  // namespace oomdoctor
