#include "report/headline.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/core.h>
#include <fmt/ranges.h>

#include "report/advice_words.h"
#include "report/series_words.h"
#include "report/utf8.h"
#include "report/words.h"
#include "text/lines.h"

namespace oomdoctor {
namespace {

std::string file_and_line(const std::string& path, std::int64_t line) {
  return fmt::format("{}:{}", path.substr(path.rfind('/') + 1), line);
}

std::string file_and_line(const Location& at) {
  if (at.event || at.offset) return at.path.substr(at.path.rfind('/') + 1);
  return file_and_line(at.path, at.line);
}

/// "Row Remapper: New row marked …": what the driver says after the numbers of an Xid, its process and the name of
/// this.
std::string_view skip_xid(std::string_view message) {
  constexpr std::string_view begin = "Xid (";
  if (const std::size_t at = message.find(begin); at == message.npos || message.find("): ", at) == message.npos)
    return message;
  else
    message.remove_prefix(message.find("): ", at) + 3);
  for (const std::string_view field : {"", "pid=", "name="})
    if (message.starts_with(field) && message.find(", ") != message.npos) message.remove_prefix(message.find(", ") + 2);
  return message;
}

/// What follows PyTorch's "[enforce fail at inline_container.cc:445] . ", after the name of the exception.
std::string_view skip_check(std::string_view message) {
  constexpr std::string_view begin = "[enforce fail at ", end = "] . ";
  const std::size_t at = message.find(begin), close = message.find(end, at);
  if (at != message.npos && close != message.npos) message.remove_prefix(close + end.size());
  return message;
}

/// The message of the line, without what a logger, the driver or the recorder of a run puts before it.
std::string quoted_message(std::string_view line) {
  constexpr std::size_t longest = 100;  // bytes
  constexpr std::string_view recorder = "oomdoctor run ";
  std::string_view message = skip_location(line.substr(std::min(peel_prefix(line).length, line.size())));
  if (message.starts_with(recorder)) message.remove_prefix(std::min(message.find(": ") + 2, message.size()));
  message = skip_xid(message);
  message = skip_check(message);
  while (message.ends_with(' ') || message.ends_with(':')) message.remove_suffix(1);  // its text is on the next line
  const std::string_view shown = utf8_prefix(message, longest);
  return fmt::format("`{}{}`", shown, shown.size() < message.size() ? "…" : "");
}

/// For example "`NotImplementedError: no kernel`". The words of a kind that has many reasons come with the message.
std::string end_words(const RunEnd& end) {
  constexpr std::array many{"disk_full", "limit", "rejected", "agent_lost", "exit", "signal", "crash"};
  const std::string_view line = end.location.excerpt;
  std::string what = end.kind == "exception" ? "" : std::string(ending_words(end.kind, line));
  const bool has_many = std::find(many.begin(), many.end(), end.kind) != many.end() || line.find("Xid (") != line.npos;
  if (what.empty() || has_many) what += (what.empty() ? "" : ": ") + quoted_message(line);
  return what;
}

/// For example "`NotImplementedError: no kernel` (train.log:293)".
std::string end_with_place(const RunEnd& end) {
  return fmt::format("{} ({})", end_words(end), file_and_line(end.location));
}

/// Xid 63 and 64: the driver takes cells of the GPU's memory out of use. Programs go on.
bool records_wear(const RunEnd& end) {
  const std::string_view line = end.location.excerpt;
  return line.find("Xid (") != line.npos && (line.find("): 63,") != line.npos || line.find("): 64,") != line.npos);
}

std::string numbers_with_place(const ReportIncident& of) {
  // What the log says elsewhere is not in the line of the failure.
  if (of.numbers.empty())
    return fmt::format("{}failed at {}", of.other_memory.empty() ? "" : of.other_memory + "; ",
                       file_and_line(of.location));
  return fmt::format("{} ({})", of.numbers, file_and_line(of.location));
}

/// The cause, then a detail. A title with a colon has its own first clause.
std::string with_title(const std::string& title, const std::string& detail) {
  return fmt::format("{}{} {}", title, title.find(':') == title.npos ? ':' : ';', detail);
}

std::string after_semicolon(const std::string& text) { return text.empty() ? "" : "; " + text; }

/// The earlier runs that ran out of memory, by their index. Those that may have done so count only if no other did.
struct EarlierFailures {
  std::vector<std::size_t> runs;
  std::string_view verb = "ran out of memory";
};
EarlierFailures find_earlier_failures(const Runs& runs, const ScanResult& scan) {
  EarlierFailures proved, possible{{}, "may have run out of memory"};
  for (std::size_t k = 0; k + 1 < runs.all.size(); ++k) {
    if (!runs.all[k].failure) continue;
    const Oom& oom = scan.incidents[*runs.all[k].failure].oom;
    const bool unclear = oom.has(OomTrait::sigkill) || oom.has(OomTrait::vanished) || oom.has(OomTrait::suspected);
    (unclear ? possible : proved).runs.push_back(k);
  }
  return proved.runs.empty() ? possible : proved;
}

/// For example "an earlier run (1 of 3) ran out of memory (train.log:88)"; "" if none did.
std::string earlier_failure(const Runs& runs, const ScanResult& scan, const Report& report) {
  const auto& [failed, verb] = find_earlier_failures(runs, scan);
  if (failed.empty()) return "";
  const ReportIncident& last = report.incidents[*runs.all[failed.back()].failure];
  const std::string place = fmt::format(" {} ({})", verb, file_and_line(last.location));
  if (failed.size() > 1) return fmt::format("{} earlier runs of {}{}", failed.size(), runs.all.size(), place);
  return fmt::format("an earlier run ({} of {}){}", failed.front() + 1, runs.all.size(), place);
}

/// For example "runs 1 and 2 ran out of memory"; "" if only the last run did.
std::string earlier_failures(const Runs& runs, const ScanResult& scan) {
  const auto& [indices, verb] = find_earlier_failures(runs, scan);
  std::vector<std::string> failed;
  for (const std::size_t k : indices) failed.push_back(std::to_string(k + 1));
  if (failed.empty()) return "";
  if (failed.size() > 3) return fmt::format("{} earlier runs {}", failed.size(), verb);
  return fmt::format("{} {} {}", failed.size() == 1 ? "run" : "runs", fmt::join(failed, " and "), verb);
}

/// Words the headline. Holds references only while headline() runs.
class Headline {
 public:
  Headline(const ScanResult& scan, const Analysis& analysis, const Report& report)
      : scan_(scan), analysis_(analysis), report_(report), verdict_(report.verdict) {}

  /// For several runs, it names the run that the verdict is about.
  std::string text() const {
    const std::size_t runs = analysis_.runs.all.size();
    if (verdict_.outcome == Outcome::unrecognised) return of_unreadable();
    const std::string earlier = earlier_failures(analysis_.runs, scan_);
    if (verdict_.outcome == Outcome::ended_otherwise) {
      const bool progressed =
          scan_.last_progress && scan_.last_progress->span.first_line >= analysis_.runs.last().first_line;
      const std::string step = scan_.last_step && progressed
                                   ? fmt::format(" at step {}{}", *scan_.last_step - scan_.last_before,
                                                 scan_.last_before == 0 ? "" : " of its epoch")
                                   : "";
      if (records_wear(*verdict_.end)) return "the log shows " + end_with_place(*verdict_.end);
      return fmt::format("the {}run ended with {}{}{}", runs == 1 ? "" : "last ", end_with_place(*verdict_.end), step,
                         after_semicolon(earlier_failure(analysis_.runs, scan_, report_)));
    }
    if (is_open()) return fmt::format("{}; {}", lost_evidence_words(report_), of_rest());
    if (analysis_.runs.overcome) return fmt::format("{} runs; {}, the last one got further", runs, earlier);
    if (runs == 1) return of_run();
    const std::size_t judged = analysis_.runs.judged + 1;
    if (judged < runs) return fmt::format("{} runs, the last one unfinished; run {}: {}", runs, judged, of_run());
    return fmt::format("run {} of {}: {}", runs, runs, of_run());
  }

 private:
  std::string of_unreadable() const {
    const Input& first = scan_.inputs.front();
    const bool any = std::any_of(scan_.inputs.begin(), scan_.inputs.end(),
                                 [](const Input& input) { return input.unreadable.empty(); });
    if (any) {
      const std::string lines = plural(scan_.coverage.lines, "line", "lines");
      const bool table = std::any_of(scan_.notes.begin(), scan_.notes.end(), [](const Note& n) { return n.unread; });
      return fmt::format("{} in {}{}", table ? "no memory values that oomdoctor can read" : "no known format", lines,
                         after_semicolon(lost_evidence_words(report_)));
    }
    if (scan_.inputs.size() > 1) return fmt::format("none of the {} files could be read", scan_.inputs.size());
    return fmt::format("{} is {}", first.path == "-" ? "standard input" : first.path, first.unreadable);
  }

  /// True if only the lost evidence makes the outcome a possible failure.
  bool is_open() const {
    return verdict_.outcome == Outcome::possible_oom && analysis_.runs.outcome != Outcome::possible_oom;
  }

  /// What was read, where evidence is lost.
  std::string of_rest() const {
    if (analysis_.facts.is_true("run.at_risk") || analysis_.facts.is_true("run.scarce")) return of_risk();
    if (analysis_.runs.outcome == Outcome::ended_otherwise) return "the log shows " + end_with_place(*verdict_.end);
    if (analysis_.runs.overcome) return earlier_failures(analysis_.runs, scan_) + ", the last one got further";
    if (analysis_.runs.outcome == Outcome::handled_oom) return "the log shows an OOM that the program survived";
    return fmt::format("no memory failure in the {} that could be read{}",
                       plural(scan_.coverage.lines, "line", "lines"), after_semicolon(growing_series_words(report_)));
  }

  std::string of_run() const {
    if (verdict_.outcome == Outcome::no_oom) return of_clear_run();
    return verdict_.outcome == Outcome::at_risk ? of_risk() : of_failure();
  }

  std::string of_clear_run() const {
    return fmt::format("no memory failure in {}{}", read_words(report_),
                       after_semicolon(growing_series_words(report_)));
  }

  std::string of_risk() const {
    const Facts& facts = analysis_.facts;
    if (!facts.is_true("run.at_risk"))
      return fmt::format("tensors came within {} of the GPU's capacity",
                         bytes_text(facts.number("run.headroom").value_or(0)));
    if (const auto steep = facts.text("run.steep")) return *steep;
    if (const auto kept = facts.text("snapshot.growth"); kept && growth().empty()) return *kept;
    const ReportSeries* main = main_series();
    if (main == nullptr) return growth();
    const auto& forecast = main->trend.forecast;
    const std::string full =
        forecast ? fmt::format("full at {} {:.0f}", main->x_unit, forecast->step) : capacity_hint(*main);
    return growth() + after_semicolon(relation_words(report_, *main)) + after_semicolon(full);
  }

  /// The cause with the decisive numbers. Growth replaces the numbers of the message if it is the reason for the cause.
  std::string of_failure() const {
    const Incident& failure = scan_.incidents[*analysis_.primary];
    const ReportIncident& in = report_.incidents[*analysis_.primary];
    const bool unclear = verdict_.cause == "undetermined";
    const std::string title = unclear ? "cause unclear" : verdict_.cause_title;
    if (const std::string grew = growth(); !grew.empty() && growth_is_first_reason())
      return with_title(title, grew + after_semicolon(only_growing()) +
                                   after_semicolon(analysis_.facts.text("trend.increment").value_or("")));
    if (failure.oom.agent == Agent::signal && failure.oom.kind == OomKind::host)
      return fmt::format("{}; {}{} ({})",
                         analysis_.facts.is_true("host.vanished") ? "a process vanished without a message"
                                                                  : "killed; the log does not say why",
                         unclear ? "" : "most likely: ", title, file_and_line(in.location));
    return with_title(title, numbers_with_place(in));
  }

  /// The growth of the main series in words; "" if it is not a leak.
  std::string growth() const {
    if (!analysis_.main_series) return "";
    const Series& s = scan_.series[*analysis_.main_series];
    const Trend& t = analysis_.trends[*analysis_.main_series];
    if (!t.leak) return "";
    const Evidence& last = s.last_evidence;
    return fmt::format(
        "{} {} from {} to {} ({})", to_string(s.metric),
        t.working.last_value < t.working.first_value ? "fell"
        : t.shape == Shape::accelerating             ? "grew at an increasing rate"
                                                     : "grew",
        bytes_text(t.working.first_value), bytes_text(t.working.last_value),
        file_and_line(scan_.inputs.at(static_cast<std::size_t>(last.span.source)).path, last.span.first_line));
  }

  /// "only rank 3 of 4 grows"; "" if that is not so.
  std::string only_growing() const {
    const ReportSeries* main = main_series();
    return main == nullptr ? "" : only_growing_words(report_, *main);
  }

  const ReportSeries* main_series() const {
    const std::string id = "series-" + std::to_string(*analysis_.main_series + 1);
    const auto found =
        std::find_if(report_.series.begin(), report_.series.end(), [&](const ReportSeries& of) { return of.id == id; });
    return found == report_.series.end() ? nullptr : &*found;
  }

  /// Whether the strongest reason of the first cause is a memory series instead of the message.
  bool growth_is_first_reason() const {
    if (report_.causes.empty() || report_.causes.front().because.empty()) return false;
    const auto& facts = report_.causes.front().because.front().facts;
    return std::any_of(facts.begin(), facts.end(),
                       [](const std::string& name) { return name == "trend.leak" || name == "trend.accelerating"; });
  }

  const ScanResult& scan_;
  const Analysis& analysis_;
  const Report& report_;
  const Verdict& verdict_;
};

}  // namespace

bool headline_may_name_series(Outcome outcome) {
  return outcome == Outcome::no_oom || outcome == Outcome::at_risk || outcome == Outcome::possible_oom ||
         outcome == Outcome::oom;
}

std::string headline(const ScanResult& scan, const Analysis& analysis, const Report& report) {
  return Headline(scan, analysis, report).text();
}

std::string last_end_words(const Report& report) {
  const RunEnd& end = *report.verdict.end;
  if (records_wear(end)) return "the log shows " + end_words(end);
  return fmt::format("the {}run ended with {}", report.runs.empty() ? "" : "last ", end_words(end));
}

std::string run_headline(const ReportRun& run, const ReportIncident* failure) {
  if (failure != nullptr) return numbers_with_place(*failure);
  if (!run.end) return "no failure; no line says how it ended";
  const bool last = run.several_ends && run.end->kind == "exception";
  return (last ? "exceptions of several kinds, the last is " : "ended with ") + end_with_place(*run.end);
}

}  // namespace oomdoctor
