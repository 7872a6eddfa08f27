#include "report/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <csignal>
#include <set>
#include <utility>

#include "base/ascii.h"
#include "base/bytes.h"
#include "base/parse_whole.h"
#include "model/evidence.h"

namespace oomdoctor {
namespace {

using Words = std::pair<std::string_view, std::string_view>;

/// The words of an id. An unknown id is printed with blanks for underscores.
std::string look_up(const auto& table, std::string_view id) {
  for (const Words& words : table)
    if (words.first == id) return std::string(words.second);
  std::string own(id);
  std::replace(own.begin(), own.end(), '_', ' ');
  return own;
}

/// A unit of size, in bytes.
struct PrintedUnit {
  const char* name;
  double bytes;
};

/// The largest unit that is not larger than `size`, after rounding.
PrintedUnit unit_for(double size) {
  constexpr std::array<PrintedUnit, 5> units = {
      {{"TiB", 0x1p40}, {"GiB", 0x1p30}, {"MiB", 0x1p20}, {"KiB", 0x1p10}, {"bytes", 1}}};
  for (const PrintedUnit& unit : units)
    if (std::fabs(size) >= 1023.5 / 1024 * unit.bytes) return unit;  // as bytes_text() changes it
  return units.back();
}

std::string file_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

/// Whether the file names of all inputs are different.
bool are_names_enough(const Report& report) {
  std::set<std::string> names;
  for (const auto& input : report.inputs) names.insert(file_name(input.path));
  return names.size() == report.inputs.size();
}

/// The signal in an exit code, "code 139", "code: -11", "Error 134": negative, or above 128; in Torque's
/// "Exit_status=271" above 256. "" for another line.
std::string_view exit_code_words(std::string_view line) {
  constexpr int base = 128, base_of_torque = 256;
  constexpr std::array<std::pair<int, std::string_view>, 6> signals{{{SIGSEGV, "a segmentation fault"},
                                                                     {SIGABRT, "an abort"},
                                                                     {SIGBUS, "a bus error"},
                                                                     {SIGFPE, "an arithmetic error"},
                                                                     {SIGILL, "an illegal instruction"},
                                                                     {SIGTERM, "SIGTERM: something asked it to stop"}}};
  for (const std::string_view label : {"code", "Error ", "Exit_status", "ignal "}) {
    const std::size_t at = line.find(label);
    const std::size_t digits = at == line.npos ? at : line.find_first_of("-0123456789", at + label.size());
    if (digits == line.npos || digits > at + label.size() + 3) continue;
    const int code = leading_integer<int>(line.substr(digits));
    for (const auto& [signal, words] : signals)
      if (code == -signal || (label == "ignal " && code == signal) || code == base + signal ||
          code == base_of_torque + signal)
        return words;
  }
  return "";
}

}  // namespace

bool has_size(std::string_view text, std::string_view size) {
  for (auto at = text.find(size); at != text.npos; at = text.find(size, at + 1))
    if (at == 0 || (!is_digit(text[at - 1]) && text[at - 1] != '.')) return true;
  return false;
}

std::string outcome_words(Outcome outcome) {
  switch (outcome) {
    case Outcome::unrecognised:
      return "NOTHING RECOGNISED";
    case Outcome::no_oom:
      return "NO SIGN OF MEMORY FAILURE";
    case Outcome::ended_otherwise:
      return "NOT A MEMORY FAILURE";
    case Outcome::handled_oom:
      return "OOM CAUGHT, RUN CONTINUED";
    case Outcome::at_risk:
      return "AT RISK";
    case Outcome::possible_oom:
      return "POSSIBLE OOM";
    case Outcome::oom:
      break;
  }
  return "OUT OF MEMORY";
}

std::string verdict_words(const Report& report) {
  const Outcome outcome = report.verdict.outcome;
  const bool caught = report.more_incidents > 0 ||
                      std::any_of(report.incidents.begin(), report.incidents.end(),
                                  [](const ReportIncident& incident) { return incident.handled && !incident.follows; });
  // A request that waits is in the report, and failed nothing.
  if (outcome == Outcome::no_oom && !report.incidents.empty()) return "NO MEMORY FAILURE";
  return outcome == Outcome::handled_oom && !caught ? "EARLIER RUN OUT OF MEMORY" : outcome_words(outcome);
}

// The line distinguishes signals and GPU errors that share a kind, so its words come first.
std::string_view ending_words(std::string_view kind, std::string_view line) {
  using Exact = std::pair<std::string_view, std::string_view>;
  constexpr auto exact = std::to_array<Exact>(
      {{"illegal memory access", "an illegal memory access"},
       {"misaligned address", "a misaligned address on the device"},
       {"assert", "a failed assertion on the device"},
       {"Assertion", "a failed assertion on the device"},
       {"busy or unavailable",
        "a GPU that is busy or unavailable: nvidia-smi shows who holds it, and its compute mode"},
       {"): 13,", "an exception in a kernel of the GPU (Xid 13)"},
       {"): 31,", "an invalid address in a kernel of the GPU (Xid 31)"},
       {"): 48,", "an uncorrectable error of the GPU's memory (Xid 48)"},
       {"): 63,", "a faulty row of the GPU's memory, replaced at the next reset of the GPU (Xid 63)"},
       {"): 64,", "a faulty row of the GPU's memory, which could not be replaced (Xid 64)"},
       {"): 79,", "the loss of a GPU on its bus (Xid 79)"},
       {"): 94,", "an error of the GPU's memory, contained to its process (Xid 94)"},
       {"): 95,", "an error of the GPU's memory, not contained (Xid 95)"},
       {"): 119,", "a timeout of the GPU's system processor (Xid 119)"},
       {"Xid", "an Xid error of the GPU"},
       {"SIGHUP", "SIGHUP: its terminal or session was closed"},
       {"got signal: 15", "SIGTERM: something asked it to stop"},
       {"got signal: 1", "SIGHUP: its terminal or session was closed"},
       {"Received 1 death", "SIGHUP: its terminal or session was closed"},
       {"Hangup", "SIGHUP: its terminal or session was closed"},
       {"SIGTERM", "SIGTERM: something asked it to stop"},
       {"SIGINT", "SIGINT: someone interrupted it"},
       {"got signal: 2", "SIGINT: someone interrupted it"},
       {"Received 2 death", "SIGINT: someone interrupted it"},
       {"Segmentation fault", "a segmentation fault"},
       {"Bus error", "a bus error"},
       {"Memory access fault", "an access to memory that the GPU does not have"},
       {"ncpus", "a kill by PBS: the job used more CPUs than it requested"},
       {"3221225477", "an access violation in Windows (0xC0000005)"},
       {"-1073741819", "an access violation in Windows (0xC0000005)"},
       {"3221225725", "a stack overflow in Windows (0xC00000FD)"},
       {"3221226505", "an abort in Windows (0xC0000409)"},
       {"panic", "a panic"}});
  if (kind == "device_error" || kind == "cancelled" || kind == "crash" || kind == "signal")
    for (const auto& [word, words] : exact)
      if (line.find(word) != line.npos) return words;
  if (const std::string_view words = kind == "signal" ? exit_code_words(line) : ""; !words.empty()) return words;
  constexpr std::array<std::pair<std::string_view, std::string_view>, 17> table = {
      {{"exception", "an exception"},
       {"not_accepted", "a refusal by the scheduler: it did not accept the job"},
       {"probe", "a kill by Kubernetes: the container failed its probe"},
       {"unresponsive", "a kill by the server: its worker did not answer in time (a timeout)"},
       {"peer_gone", "a lost connection to another process"},
       {"agent_lost", "the loss of the machine or agent that ran it"},
       {"rejected", "a rejection by the scheduler"},
       {"crash", "a crash"},
       {"timeout", "a time limit"},
       {"cancelled", "a cancellation"},
       {"preempted", "a preemption"},
       {"disk_full", "a full disk or quota"},
       {"limit", "a limit on threads or processes"},
       {"nccl", "a collective timeout"},
       {"device_error", "a device error"},
       {"signal", "a signal"},
       {"finished", "its work done"}}};
  for (const auto& [id, words] : table)
    if (id == kind) return words;
  return "an error code";
}

std::string phase_words(std::string_view phase) {
  constexpr std::array<Words, 19> table = {{{"load", "while loading the model"},
                                            {"compile", "while XLA compiled the program"},
                                            {"build", "while building the model"},
                                            {"for_cache", "while allocating the KV cache"},
                                            {"resumed_step", "in the first step after resuming"},
                                            {"first_steps", "in the first steps"},
                                            {"profile_run", "in the engine's profile run"},
                                            {"graph_capture", "during CUDA graph capture"},
                                            {"wake_up", "while the engine woke from sleep (wake_up)"},
                                            {"first_step", "in the first step"},
                                            {"optimizer_init", "in the first optimizer step"},
                                            {"forward", "in the forward pass"},
                                            {"backward", "in the backward pass"},
                                            {"optimizer", "in the optimizer step"},
                                            {"evaluation", "during evaluation"},
                                            {"generation", "during generation"},
                                            {"checkpoint_save", "while saving a checkpoint"},
                                            {"checkpoint_load", "while loading a checkpoint"},
                                            {"data_loading", "while loading data"}}};
  return look_up(table, phase);
}

std::string shape_words(std::string_view shape) {
  constexpr std::array<Words, 10> table = {{{"flat", "stays flat"},
                                            {"warmup", "rises in the first steps, then stays flat"},
                                            {"step", "jumps to another level and stays there"},
                                            {"saturating", "rises more and more slowly"},
                                            {"sawtooth", "rises and falls periodically"},
                                            {"spike", "stays flat, with single peaks"},
                                            {"noisy", "goes up and down without a trend"},
                                            {"linear", "grows steadily"},
                                            {"accelerating", "grows at an increasing rate"},
                                            {"too_short", "has too few values for a trend"}}};
  return look_up(table, shape);
}

std::string retry_words(const Verdict& verdict) {
  const Retry& retry = verdict.retry;
  if (retry.decision.empty() || verdict.outcome == Outcome::unrecognised) return "";
  if (verdict.outcome == Outcome::ended_otherwise) return "";  // the end says it, and it is not about memory
  if (retry.decision == "stop")
    return verdict.outcome == Outcome::at_risk ? "no: the same run would fail" : "no: the same run would fail again";
  if (retry.decision == "retry_unchanged") return "yes, unchanged: memory is not the problem";
  if (retry.decision == "unknown")
    return verdict.outcome == Outcome::possible_oom ? "unclear, because evidence is lost" : "";
  return retry.change.empty() ? "yes, after a change" : "yes, after a change: " + retry.change;
}

std::string lost_evidence_words(const ReportLostEvidence& lost) {
  const std::string where = lost.location ? place(*lost.location) : "";
  std::string text = lost.what;
  if (where.empty() && !lost.path.empty()) text += " " + lost.path;
  if (!lost.why.empty() || !where.empty())
    text += fmt::format(" ({}{}{})", lost.why, lost.why.empty() || where.empty() ? "" : "; ", where);
  return text;
}

std::string lost_evidence_words(const Report& report) {
  if (report.lost.empty()) return "";
  const auto more = static_cast<std::int64_t>(report.lost.size() - 1) + report.more_lost;
  const std::string text = "lost: " + lost_evidence_words(report.lost.front());
  return more == 0 ? text : fmt::format("{} and {} more", text, count_text(more));
}

std::string_view device_name(Accelerator accelerator) {
  constexpr std::array<std::string_view, 4> names{"GPU", "NPU", "TPU", "device"};
  return names[static_cast<std::size_t>(accelerator)];
}

bool names_machine(const ReportSeries& series) {
  static constexpr auto processes = std::to_array<std::string_view>({"process", "proc", "pid"});
  static constexpr auto machines = std::to_array<std::string_view>(
      {"ram", "system", "sys", "host", "machine", "server", "node", "virtual", "container"});
  const auto among = [](const auto& words, std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  const std::string label = lower(series.label);
  bool machine = false;
  for (std::size_t at = 0; at < label.size();) {
    std::size_t end = at;
    while (end < label.size() && is_letter(label[end])) ++end;
    const std::string_view word = std::string_view(label).substr(at, end - at);
    if (among(processes, word)) return false;
    machine |= among(machines, word);
    at = end + 1;
  }
  return machine;
}

// Few machines run a program in less.
bool may_be_process(const ReportSeries& series) {
  constexpr double machine = 1e9;  // bytes
  const std::string label = lower(series.label);
  const auto has = [&](std::string_view word) { return label.find(word) != label.npos; };
  return series.metric == "host_used" && !series.trend.capacity_bytes && series.max_value < machine && has("mem") &&
         !has("used") && !names_machine(series);
}

std::string series_name(const ReportSeries& series) {
  constexpr std::array<Words, 13> table = {{{"max_allocated", "peak allocated"},
                                            {"max_reserved", "peak reserved"},
                                            {"used", "GPU memory used"},
                                            {"free", "GPU memory free"},
                                            {"host_rss", "host RAM of the process"},
                                            {"host_used", "host RAM used"},
                                            {"host_available", "host RAM available"},
                                            {"host_free", "host RAM free"},
                                            {"utilization", "share of GPU memory used"},
                                            {"host_utilization", "share of host RAM used"},
                                            {"allocated", "allocated"},
                                            {"reserved", "reserved"},
                                            {"memory", "memory"}}};
  const bool any_share = series.metric == "host_utilization" && !names_machine(series);
  std::string name = any_share                ? "share of memory used"
                     : may_be_process(series) ? "host RAM"
                                              : look_up(table, series.metric);
  constexpr std::string_view gpu = "GPU ";
  if (const std::size_t at = name.find(gpu); at != name.npos)
    name.replace(at, gpu.size() - 1, device_name(series.accelerator));
  if (series.rank)
    name += fmt::format(", rank {}", *series.rank);
  else if (series.device)
    name += fmt::format(", {} {}", device_name(series.accelerator), *series.device);
  return name;
}

std::string find_setting(const Report& report, std::string_view name) {
  for (const ReportSetting& setting : report.settings)
    if (setting.name == name) return setting.value;
  return "";
}

std::string find_gpu(const Report& report, std::optional<int> device) {
  std::string own = find_setting(report, device ? fmt::format("gpu/{}", *device) : "gpu");
  if (!own.empty()) return own;
  for (const ReportSetting& setting : report.settings)
    if (setting.name == "gpu" || setting.name.starts_with("gpu/")) return setting.value;
  return "";
}

// A range with one unit prints it once: "1.10 to 3.30 GiB".
std::string saving_words(const ReportFix& fix) {
  const auto low = fix.saves_low_bytes, high = fix.saves_high_bytes;
  if (!low && !high) return {};
  std::string size = computed_bytes_text(high ? *high : *low);
  if (!low || !high || *low <= 0)
    size = "up to " + size;
  else if (const std::string from = computed_bytes_text(*low); from != size)
    size = drop_common_unit(size, from) + " to " + size;
  return fix.allows ? "allows " + size + " more" : "saves " + size;
}

std::string count_text(std::int64_t count) {
  std::string digits = std::to_string(count);
  const std::size_t start = digits.front() == '-' ? 1 : 0;
  for (std::size_t at = digits.size(); at > start + 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string plural(std::int64_t count, std::string_view one, std::string_view many) {
  return count_text(count) + ' ' + std::string(count == 1 ? one : many);
}

// No thousands commas, because users search for the step in the log, which has none.
std::string time_text(double time) {
  using namespace std::chrono;
  if (!(time > 0 && time < end_of_dates)) return {};
  const sys_seconds at{seconds{static_cast<std::int64_t>(time)}};
  const auto day = floor<days>(at);
  const year_month_day date{day};
  const hh_mm_ss clock{at - day};
  return fmt::format("{}-{:02}-{:02} {:02}:{:02}:{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock.hours().count(),
                     clock.minutes().count(), clock.seconds().count());
}

std::string step_text(double step) {
  if (!std::isfinite(step) || std::fabs(step) > 1e15) return "far in the future";
  const double rounded = std::round(step);
  if (std::fabs(step) >= 100 || step == rounded) return std::to_string(whole_number(rounded));
  return fmt::format("{:.1f}", step);
}

std::string duration_text(double seconds) {
  const std::int64_t all = whole_number(std::round(std::max(0.0, seconds)));
  constexpr std::int64_t minute = 60, hour = 60 * minute, day = 24 * hour;
  const auto two = [](std::int64_t first, const char* unit, std::int64_t second, const char* smaller) {
    return second == 0 ? fmt::format("{} {}", first, unit) : fmt::format("{} {} {} {}", first, unit, second, smaller);
  };
  if (all < minute) return fmt::format("{} s", all);
  if (all < hour) return fmt::format("{} min", all / minute);
  if (all < day) return two(all / hour, "h", all % hour / minute, "min");
  return two(all / day, "d", all % day / hour, "h");
}

std::string epoch_text(double epoch) {
  const double rounded = std::round(100 * epoch) / 100;
  return std::fabs(epoch) < 1 && rounded == 0 ? fmt::format("{:.2g}", epoch) : fmt::format("{}", rounded);
}

std::string drop_common_unit(std::string_view last, std::string_view first) {
  const auto unit_at = [](std::string_view text) { return std::min(text.find_first_of(" %"), text.size()); };
  return std::string(first.substr(unit_at(first)) == last.substr(unit_at(last)) ? first.substr(0, unit_at(first))
                                                                                : first);
}

std::string percent_text(double share) {
  if (share > 0 && share < 0.005) return "<1%";
  return fmt::format("{:.0f}%", 100 * share);
}

namespace {

/// A file that is not text has events or bytes, no lines. Editors and terminals turn "path:line" into a link.
std::string place_in(std::string_view path, const Location& at) {
  if (at.event) return fmt::format("{}, event {}", path, *at.event);
  return at.offset ? std::string(path) : fmt::format("{}:{}", path, at.line);
}

/// The place within its file.
std::string spot(const Location& at) {
  if (at.event) return fmt::format("event {}", *at.event);
  return at.offset ? "the file" : std::to_string(at.line);
}

bool is_in_text(const Location& at) { return !at.event && !at.offset; }

}  // namespace

std::string place(const Location& at) { return place_in(at.path, at); }

std::string read_words(const Report& report) {
  std::set<std::string> files;
  for (const ReportSnapshot& one : report.snapshots) files.insert(one.path);
  const std::string lines = plural(report.coverage.lines, "line", "lines");
  if (files.empty()) return lines;
  const std::string snapshots =
      plural(static_cast<std::int64_t>(files.size()), "allocator snapshot", "allocator snapshots");
  return report.coverage.lines == 0 ? snapshots : lines + " and " + snapshots;
}

std::string places(const std::vector<Location>& all, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < std::min(most, all.size()); ++i) {
    const bool same_path = i > 0 && all[i].path == all[i - 1].path;
    text += (i > 0 ? ", " : "") + (same_path ? spot(all[i]) : place(all[i]));
  }
  if (all.size() > most) text += fmt::format(" and {} more", all.size() - most);
  return text;
}

std::string short_location(const Report& report, const Location& at) {
  return place_in(are_names_enough(report) ? file_name(at.path) : at.path, at);
}

std::string short_locations(const Report& report, std::vector<Location> all, std::size_t most) {
  if (all.empty()) return {};
  if (report.inputs.size() == 1 && !is_in_text(all.front())) return spot(all.front());
  if (report.inputs.size() == 1) {
    if (all.size() == 1) return fmt::format("line {}", all[0].line);
    if (all.size() == 2 && most >= 2) return fmt::format("lines {} and {}", all[0].line, all[1].line);
    std::string text = "lines ";
    for (std::size_t i = 0; i < std::min(most, all.size()); ++i)
      text += (i > 0 ? ", " : "") + std::to_string(all[i].line);
    return all.size() > most ? text + fmt::format(" and {} more", all.size() - most) : text;
  }
  if (are_names_enough(report))
    for (auto& at : all) at.path = file_name(at.path);
  return places(all, most);
}

std::string range_of_lines(const Report& report, const Location& first, const Location& last) {
  if (first.path == last.path && first.line == last.line) return short_locations(report, {first}, 1);
  if (first.path != last.path || first.line > last.line) return short_locations(report, {first, last}, 2);
  const std::string text = short_locations(report, {first}, 1);
  return fmt::format("{}{}–{}", text.starts_with("line ") ? "lines " : text.substr(0, text.rfind(':') + 1), first.line,
                     last.line);
}

// An interval counts as symmetric if its halves differ by at most a tenth.
std::string estimate_text(const ReportEstimate& of) {
  const PrintedUnit unit = unit_for(of.value);
  const double size = std::fabs(of.value) / unit.bytes,
               width = std::max(of.high - of.value, of.value - of.low) / unit.bytes;
  // As many digits as the size needs, and more if the interval would round to nothing.
  int digits = size >= 100 ? 0 : size >= 10 ? 1 : 2;
  for (double last = std::pow(10.0, -digits); digits < 3 && width > 0 && width < last; last /= 10) ++digits;
  const auto amount = [&](double value) { return fmt::format("{:.{}f}", value / unit.bytes, digits); };
  const double up = of.high - of.value, down = of.value - of.low;
  if (std::fabs(up - down) <= 0.1 * std::max(up, down))
    return fmt::format("{} ± {} {}", amount(of.value), amount(std::max(up, down)), unit.name);
  return fmt::format("{} {} ({} to {})", amount(of.value), unit.name, amount(of.low), amount(of.high));
}

RateText rate_text(const ReportEstimate& of) {
  const PrintedUnit unit = unit_for(of.value);
  const double size = std::fabs(of.value) / unit.bytes, up = of.high - of.value, down = of.value - of.low;
  const double width = std::max(up, down) / unit.bytes;
  int digits = size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
  const auto amount = [&](double value) { return fmt::format("{:.{}f}", value / unit.bytes, digits); };
  RateText text{(of.value >= 0 ? "+" : "−") + computed_bytes_text(std::fabs(of.value)), ""};
  // A narrow interval has its own digits.
  for (double last = std::pow(10.0, -digits); digits < 2 && width > 0 && width < last; last /= 10) ++digits;
  text.interval = std::fabs(up - down) <= 0.1 * std::max(up, down)
                      ? fmt::format("±{}", amount(std::max(up, down)))
                      : fmt::format("{} to {}", amount(of.low), amount(of.high));
  if (text.interval == fmt::format("±{}", amount(0))) text.interval.clear();
  return text;
}

// The unit is that of the total. Numbers are rounded to hundredths of it, and percents to integers. Each is rounded by
// itself, so that it is the number of the log: their sum may differ from the total in its last digit.
SharesText shares_text(const std::vector<std::int64_t>& parts, std::int64_t total) {
  const PrintedUnit unit = unit_for(static_cast<double>(total));
  const double hundredth = unit.bytes / 100;
  const auto rounded_to = [](std::int64_t part, double step) {
    return whole_number(step > 0 ? std::round(static_cast<double>(part) / step) : 0);
  };
  std::vector<std::int64_t> numbers, percents;
  for (const auto part : parts) {
    numbers.push_back(rounded_to(part, hundredth));
    percents.push_back(rounded_to(part, static_cast<double>(total) / 100));
  }
  const auto rounded_total = rounded_to(total, hundredth);
  const auto number = [](std::int64_t hundredths) {
    return fmt::format("{:.2f}", static_cast<double>(hundredths) / 100);
  };
  SharesText text{{}, {}, number(rounded_total), unit.name};
  std::size_t widest = text.total.size();
  for (const auto value : numbers) widest = std::max(widest, number(value).size());
  for (const auto value : numbers) text.numbers.push_back(fmt::format("{:>{}}", number(value), widest));
  for (std::size_t i = 0; i < percents.size(); ++i)
    text.percents.push_back(percents[i] == 0 && parts[i] != 0 ? " <1%" : fmt::format("{:>3}%", percents[i]));
  return text;
}

}  // namespace oomdoctor
