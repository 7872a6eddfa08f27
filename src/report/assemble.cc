#include "report/assemble.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <fmt/core.h>
#include <fmt/ranges.h>

#include "analysis/steady.h"
#include "report/advice_words.h"
#include "report/grades.h"
#include "report/host_words.h"
#include "report/series_words.h"
#include "report/words.h"
#include "text/lines.h"

namespace oomdoctor {
namespace {

// Points of a drawn series: four per column for as many columns as a screen shows, fewer if there are very many series.
constexpr std::size_t max_points_of_one = 1600, min_points_of_one = 400, points_of_all = 32'000;
constexpr std::size_t max_locations = 4;  ///< per reason

/// Translates the internal types. Holds references only while assemble() runs. Report ids are numbers in the order of
/// the scan: incident-1, series-1, run-1.
class Assembler {
 public:
  Assembler(const ScanResult& scan, const Analysis& analysis, const Diagnosis& diagnosis)
      : scan_(scan), analysis_(analysis), diagnosis_(diagnosis) {}

  Report report() {
    Report r;
    for (const Input& i : scan_.inputs)
      r.inputs.push_back({i.path, i.kind, i.bytes, i.lines, i.compression, i.truncated});
    for (const auto& [name, setting] : scan_.settings)
      r.settings.push_back({name, setting.value, location(setting.evidence)});
    for (std::size_t i = 0; i < scan_.incidents.size(); ++i) r.incidents.push_back(incident(i));
    r.more_incidents = scan_.more_incidents;
    for (std::size_t i = 0; i < scan_.series.size(); ++i) {
      if (scan_.series[i].metric == Metric::input_length)
        r.input_lengths.push_back(series(i));
      else if (scan_.series[i].followed())
        r.series.push_back(series(i));
      else
        ++r.more_series;
    }
    r.more_series += scan_.more_series;
    for (const RankRow& row : analysis_.ranks) r.ranks.push_back(rank(row));
    if (has_something_to_explain()) add_diagnosis(r);
    const Coverage& coverage = scan_.coverage;
    r.coverage = {coverage.lines, coverage.claimed, {coverage.by_parser.begin(), coverage.by_parser.end()}};
    for (const auto* notes : {&scan_.notes, &analysis_.notes})
      for (const Note& n : *notes)
        r.notes.push_back({n.severity == Severity::error     ? "error"
                           : n.severity == Severity::warning ? "warning"
                                                             : "note",
                           n.text, n.at ? std::optional(location(*n.at)) : std::nullopt});
    r.verdict = verdict(r);
    if (analysis_.runs.all.size() > 1)
      for (std::size_t k = 0; k < analysis_.runs.all.size(); ++k) r.runs.push_back(run(k));
    return r;
  }

  /// True for a failure or a risk. False for a run that something else ended, even if it survived a failure before.
  bool has_something_to_explain() const {
    const auto& runs = analysis_.runs.all;
    return analysis_.runs.outcome != "ended_otherwise" || is_growing_risk() ||
           std::any_of(runs.begin(), runs.end(), [](const RunSummary& run) { return run.failure.has_value(); });
  }

  void add_diagnosis(Report& r) const {
    for (const RankedCause& c : diagnosis_.causes)
      if (c.probability > 0) r.causes.push_back(cause(c));
    for (const RankedFix& f : diagnosis_.fixes) r.fixes.push_back(fix(f));
    if (diagnosis_.plan) {
      const FixPlan& p = *diagnosis_.plan;
      r.plan = ReportPlan{p.fixes, p.need, p.margin, p.predicted_peak, p.would_have_fitted};
    }
    for (const HeldBackFix& h : diagnosis_.held_back) r.held_back.push_back({h.id, h.title, h.because});
    for (const OpenQuestion& q : diagnosis_.questions) r.questions.push_back({q.missing, q.text, q.command});
  }

  ReportCause cause(const RankedCause& c) const {
    ReportCause out;
    out.cause = c.id;
    out.title = c.title;
    out.explain = c.explain;
    out.guide = c.guide;
    out.probability = c.probability;
    for (const FiredSign& s : c.supporting) out.because.push_back(because(s));
    for (const FiredSign& s : c.against) out.against.push_back(because(s));
    return out;
  }

  /// The known facts, each with at most two citations, in the order of the vocabulary.
  std::vector<std::string> trace() const {
    std::vector<std::string> out;
    for (const FactSpec& spec : fact_specs()) {
      const Fact* fact = analysis_.facts.find(spec.name);
      if (fact == nullptr || !known(fact->value)) continue;
      std::string line = fmt::format("{} = {}", spec.name, fact_text(spec, fact->value));
      for (std::size_t i = 0; i < fact->evidence.size() && i < 2; ++i) {
        const Location at = location(fact->evidence[i]);
        line += fmt::format("{}{}:{}", i == 0 ? "   from " : ", ", at.path, at.line);
      }
      out.push_back(std::move(line));
    }
    return out;
  }

 private:
  Location location(const Evidence& e) const {
    Location at;
    at.path = scan_.inputs.at(static_cast<std::size_t>(e.span.source)).path;
    at.line = e.span.first_line;
    at.end_line = std::max(e.span.first_line, e.span.last_line);
    at.excerpt = e.excerpt;
    at.column = e.span.column;
    at.end_column = e.span.end_column;
    at.lead = e.lead;
    return at;
  }

  /// The report's form of a sign. It cites the lines of all facts that the sign read, without duplicates.
  Reason because(const FiredSign& sign) const {
    Reason out;
    out.text = sign.text;
    out.weight = sign.weight;
    for (const std::string& name : sign.facts) {
      if (out.fact.empty()) out.fact = name;
      const Fact* fact = analysis_.facts.find(name);
      if (fact == nullptr) continue;
      for (const Evidence& e : fact->evidence) {
        const Location at = location(e);
        if (out.locations.size() < max_locations &&
            std::none_of(out.locations.begin(), out.locations.end(),
                         [&](const Location& l) { return l.path == at.path && l.line == at.line; }))
          out.locations.push_back(at);
      }
    }
    return out;
  }

  /// The ranks that ran out of memory independently like this one. A rank whose own request was refused is no
  /// consequence of another rank's failure.
  std::vector<int> ranks_alike(std::size_t index) const {
    const Incident& first = scan_.incidents[index];
    std::set<int> ranks;
    for (const Incident& other : scan_.incidents)
      if (other.follows == index && first.origin.rank && other.origin.rank && other.oom.kind == first.oom.kind &&
          other.oom.request)
        ranks.insert(*other.origin.rank);
    if (ranks.empty()) return {};
    ranks.insert(*first.origin.rank);
    return {ranks.begin(), ranks.end()};
  }

  static std::string incident_id(std::size_t i) { return "incident-" + std::to_string(i + 1); }

  ReportIncident incident(std::size_t index) const {
    const Incident& in = scan_.incidents[index];
    const Oom& oom = in.oom;
    const auto count = [](const std::optional<Bytes>& b) {
      return b ? std::optional<std::int64_t>(b->count) : std::nullopt;
    };
    ReportIncident r;
    r.id = incident_id(index);
    r.kind = to_string(oom.kind);
    r.agent = to_string(oom.agent);
    r.framework = oom.framework;
    r.message_format = oom.message_format;
    r.location = location(in.evidence);
    for (const Evidence& e : in.occurrences) r.occurrences.push_back(location(e));
    r.more_occurrences = in.more_occurrences;
    r.handled = in.handled;
    if (in.follows) r.follows = incident_id(*in.follows);
    r.ranks = ranks_alike(index);
    r.device = in.origin.device;
    r.rank = in.origin.rank;
    r.pid = in.origin.pid;
    r.host = in.origin.host;
    r.step = in.when.step;
    if (in.when.time && *in.when.time >= first_dated_time) r.time = in.when.time;
    r.epoch = in.when.epoch;
    r.phase = analysis_.phases[index].id;
    r.moment = analysis_.phases[index].moment;
    r.numbers = numbers_of(in);
    r.requested_bytes = count(oom.request);
    r.capacity_bytes = count(oom.capacity);
    r.free_bytes = count(oom.free);
    r.process_bytes = count(oom.process);
    r.allocated_bytes = count(oom.allocated);
    r.reserved_bytes = count(oom.reserved);
    r.unallocated_bytes = count(oom.unallocated);
    r.private_pool_bytes = count(oom.private_pools);
    r.limit_bytes = count(oom.limit);
    for (const OtherProcess& o : oom.others)
      if (o.pid != 0) r.other_processes.emplace_back(o.pid, o.used.count);
    const auto frame = [](const Frame& f) { return ReportFrame{f.file, f.line, f.function, f.code}; };
    if (!oom.frames.empty()) r.ask_frame = frame(oom.frames.back());
    for (auto f = oom.frames.rbegin(); f != oom.frames.rend() && !r.frame; ++f)
      if (!f->library) r.frame = frame(*f);
    if (const auto& account = analysis_.accounts[index]) {
      ReportAccount a;
      a.capacity_bytes = account->capacity.count;
      for (const auto& s : account->shares) a.shares.push_back({s.label, s.size.count});
      a.unexplained_bytes = account->unexplained.count;
      a.slack_bytes = account->unexplained.slack;
      r.account = std::move(a);
    }
    return r;
  }

  /// The first, last, smallest and largest value of each run of buckets, because a drawing of this width shows exactly
  /// these.
  std::vector<ReportPoint> thinned(const Series& s) const {
    const std::size_t max_points =
        std::clamp(points_of_all / std::max<std::size_t>(scan_.series.size(), 1), min_points_of_one, max_points_of_one);
    std::vector<ReportPoint> out;
    const auto& buckets = s.buckets();
    const std::size_t run = std::max<std::size_t>(1, (buckets.size() * 4 + max_points - 1) / max_points);
    for (std::size_t i = 0; i < buckets.size(); i += run) {
      const std::size_t end = std::min(buckets.size(), i + run);
      if (end - i == 1 && buckets[i].n == 1) {
        out.push_back({buckets[i].x, buckets[i].y});
        continue;
      }
      const auto by = [](auto field) {
        return [field](const Bucket& a, const Bucket& b) { return a.*field < b.*field; };
      };
      const auto first = buckets.begin() + static_cast<std::ptrdiff_t>(i),
                 last = buckets.begin() + static_cast<std::ptrdiff_t>(end);
      const Bucket& lowest = *std::min_element(first, last, by(&Bucket::low));
      const Bucket& highest = *std::max_element(first, last, by(&Bucket::high));
      std::vector<ReportPoint> four{{first->x, first->y},
                                    {lowest.x_low, lowest.low},
                                    {highest.x_high, highest.high},
                                    {std::prev(last)->x, std::prev(last)->y}};
      std::stable_sort(four.begin(), four.end(), [](const ReportPoint& a, const ReportPoint& b) { return a.x < b.x; });
      for (const ReportPoint& p : four)
        if (out.empty() || out.back().x != p.x || out.back().y != p.y) out.push_back(p);
    }
    return out;
  }

  static std::int64_t round_to_integer(double v) { return whole_number(std::round(v)); }

  ReportSeries series(std::size_t index) const {
    const Series& s = scan_.series[index];
    const Trend& t = analysis_.trends[index];
    ReportSeries r;
    r.id = "series-" + std::to_string(index + 1);
    r.metric = to_string(s.metric);
    r.kind = to_string(s.kind);
    r.label = s.phase.empty() ? s.label : s.label.empty() ? s.phase : s.label + ", " + s.phase;
    r.rank = s.origin.rank;
    r.device = s.origin.device;
    r.unit = s.unit;
    r.x_unit = s.has_times ? "second" : s.has_steps ? "step" : "value";
    r.n = s.n;
    if (s.n > 0) r.first_step = s.first_x, r.last_step = s.last_x;
    r.first_value = s.first_value;
    r.last_value = s.last_value;
    r.max_value = s.max_value;
    r.quantum = s.quantum;
    if (!t.leak)
      if (const auto level = steady_level(s)) r.steady = ReportLevel{level->value, level->low, level->high, level->n};
    r.points = thinned(s);
    r.first = location(s.first_evidence);
    r.last = location(s.last_evidence);
    const auto estimate = [](const Estimate& e) { return ReportEstimate{e.value, e.low, e.high}; };
    r.trend = {t.leak,
               std::string(to_string(t.shape)),
               t.confidence,
               estimate(t.slope),
               estimate(t.acceleration),
               t.onset_step,
               t.change_points,
               t.period,
               t.model,
               t.models,
               {},
               t.why,
               {},
               {},
               {}};
    if (index == analysis_.main_series)
      if (const auto increment = analysis_.facts.text("trend.increment")) r.trend.increment = *increment;
    for (const Stage& stage : t.stages)
      r.trend.stages.push_back({std::string(to_string(stage.kind)), stage.first_step, stage.last_step,
                                stage.first_value, stage.last_value, stage.slope});
    for (const CurvePoint& p : t.curve) r.trend.curve.push_back({p.x, p.y, p.low, p.high});
    if (t.forecast)
      r.trend.forecast = ReportForecast{round_to_integer(t.forecast->capacity), t.forecast->step, t.forecast->step_low,
                                        t.forecast->step_high, t.forecast->beyond_data};
    return r;
  }

  ReportRank rank(const RankRow& row) const {
    ReportRank r;
    r.rank = row.rank;
    r.failed = row.failed;
    r.last_step = row.last_step;
    if (!row.series) return r;
    const Series& s = scan_.series[*row.series];
    r.metric = to_string(s.metric);
    r.first_value = s.first_value;
    r.last_value = s.last_value;
    r.max_value = s.max_value;
    r.leak = analysis_.trends[*row.series].leak;
    r.location = location(s.last_evidence);
    return r;
  }

  ReportFix fix(const RankedFix& f) const {
    ReportFix r;
    r.id = f.id;
    r.title = f.title;
    r.causes = f.causes;
    r.saves_low_bytes = f.saves_low;
    r.saves_high_bytes = f.saves_high;
    r.saves_formula = f.saves_formula;
    r.cost = {f.cost, cost_text(f.cost)};
    r.risk = {f.risk, risk_text(f.risk)};
    r.enough = f.enough;
    r.if_not_already = f.if_not_already;
    r.why = f.why;
    for (const FixSettingText& s : f.settings) r.settings.push_back({s.scope, s.text, s.from, s.to});
    r.not_with = f.not_with;
    r.verify = f.verify;
    r.locations = because({"", 0, f.facts}).locations;
    return r;
  }

  /// File name and line. A headline has no room for a long path, and the location has it.
  static std::string short_location(const Location& at) {
    return fmt::format("{}:{}", at.path.substr(at.path.rfind('/') + 1), at.line);
  }

  /// The decisive numbers of a failure; "" if the log prints none.
  std::string numbers_of(const Incident& in) const {
    const Oom& oom = in.oom;
    const auto text = [](const Bytes& b) { return bytes_text(b.count); };
    if (const auto victims = analysis_.facts.number("host.victims"); victims && !analysis_.facts.find("host.used"))
      return fmt::format("{} processes killed at once", *victims);
    if (const std::string host = oom.kind == OomKind::host ? host_numbers(oom) : ""; !host.empty()) return host;
    if (oom.limit && oom.request && analysis_.facts.is_true("account.limit_reached"))
      return fmt::format("{} requested with {} of {} allowed in use", text(*oom.request),
                         text(oom.reserved.value_or(oom.allocated.value_or(Bytes{}))), text(*oom.limit));
    if (oom.request && oom.free && oom.capacity)
      return fmt::format("{} requested, {} of {} free", text(*oom.request), text(*oom.free), text(*oom.capacity));
    if (oom.request && oom.limit) return fmt::format("{} requested, {} allowed", text(*oom.request), text(*oom.limit));
    if (oom.free && oom.limit) return fmt::format("{} free, {} wanted", text(*oom.free), text(*oom.limit));
    if (oom.process && oom.limit) return fmt::format("{} used of {} allowed", text(*oom.process), text(*oom.limit));
    if (oom.request && oom.allocated)
      return fmt::format("{} requested with {} allocated", text(*oom.request), text(*oom.allocated));
    if (oom.request) return text(*oom.request) + " requested";
    if (oom.process) return text(*oom.process) + " in use";
    return "";
  }

  /// The decisive numbers, and the line that prints them.
  std::string numbers_with_place(const Incident& in) const {
    const std::string numbers = numbers_of(in);
    return fmt::format("{} ({})", numbers.empty() ? "no numbers printed" : numbers,
                       short_location(location(in.evidence)));
  }

  /// The growth of the main series in words; "" if it is no leak.
  std::string growth_sentence() const {
    if (!analysis_.main_series) return "";
    const Series& s = scan_.series[*analysis_.main_series];
    const Trend& t = analysis_.trends[*analysis_.main_series];
    if (!t.leak) return "";
    const Location at = location(s.last_evidence);
    return fmt::format("{} {} from {} to {} ({})", to_string(s.metric),
                       t.working.last_value < t.working.first_value ? "fell"
                       : t.shape == Shape::accelerating             ? "grew at an increasing rate"
                                                                    : "grew",
                       bytes_text(round_to_integer(t.working.first_value)),
                       bytes_text(round_to_integer(t.working.last_value)), short_location(at));
  }

  /// Whether the strongest reason of the first cause is a memory series instead of the message.
  bool growth_is_first_reason() const {
    if (diagnosis_.causes.empty() || diagnosis_.causes.front().supporting.empty()) return false;
    const auto& facts = diagnosis_.causes.front().supporting.front().facts;
    return std::any_of(facts.begin(), facts.end(),
                       [](const std::string& f) { return f == "trend.leak" || f == "trend.accelerating"; });
  }

  bool is_growing_risk() const { return analysis_.facts.is_true("run.at_risk"); }

  /// The headline for several runs names the run that the verdict is about. For one run it is headline_of_run().
  std::string headline(const Report& r, const Verdict& v) const {
    const std::size_t runs = analysis_.runs.all.size();
    const std::string earlier = earlier_failures();
    if (v.outcome == "unrecognised") {
      const Input& first = scan_.inputs.front();
      if (scan_.inputs.size() > 1) return fmt::format("none of the {} files is text", scan_.inputs.size());
      return fmt::format("{} is {}", first.path == "-" ? "standard input" : first.path, first.unreadable);
    }
    if (v.outcome == "ended_otherwise") {
      const std::string step = scan_.last_step ? fmt::format(" at step {}", *scan_.last_step) : "";
      if (runs == 1) return fmt::format("the run ended with {}{}", end_words(*v.end), step);
      return fmt::format("{} runs; the last ended with {}{}{}", runs, end_words(*v.end), step,
                         earlier.empty() ? "" : "; " + earlier);
    }
    if (analysis_.runs.overcome) return fmt::format("{} runs; {}, the last one got further", runs, earlier);
    const std::string of_run = headline_of_run(r, v);
    if (runs == 1) return of_run;
    if (analysis_.runs.judged + 1 < runs)
      return fmt::format("{} runs, the last one unfinished; run {}: {}", runs, analysis_.runs.judged + 1, of_run);
    return fmt::format("run {} of {}: {}", runs, runs, of_run);
  }

  /// The headline of the judged run: its cause with the decisive numbers. Growth replaces the numbers of the message if
  /// it is the reason for the cause.
  std::string headline_of_run(const Report& r, const Verdict& v) const {
    const std::string growth = growth_sentence();
    if (v.outcome == "no_oom") {
      const bool cut =
          std::any_of(scan_.inputs.begin(), scan_.inputs.end(), [](const Input& i) { return i.truncated; });
      const std::string growing = growing_series_words(r);
      return fmt::format("no memory failure in {} lines{}{}", scan_.coverage.lines,
                         cut ? "; the rest of the log is missing" : "", growing.empty() ? "" : "; " + growing);
    }
    if (v.outcome == "at_risk" && !is_growing_risk())
      return fmt::format("tensors came within {} of the GPU's capacity",
                         bytes_text(round_to_integer(analysis_.facts.number("run.headroom").value_or(0))));
    if (v.outcome == "at_risk" && analysis_.facts.find("run.steep") != nullptr)
      return std::string(*analysis_.facts.text("run.steep"));
    if (v.outcome == "at_risk") {
      const Trend& t = analysis_.trends[*analysis_.main_series];
      const Series& series = scan_.series[*analysis_.main_series];
      const std::string when = t.forecast ? fmt::format("; full at {} {:.0f}",
                                                        series.has_times   ? "second"
                                                        : series.has_steps ? "step"
                                                                           : "value",
                                                        t.forecast->step)
                               : std::string(to_string(series.metric)).starts_with("host_")
                                   ? ""
                                   : "; add --capacity 80GiB to see when it is full";
      const auto main = std::find_if(r.series.begin(), r.series.end(), [&](const ReportSeries& of) {
        return of.id == "series-" + std::to_string(*analysis_.main_series + 1);
      });
      const std::string relation = main == r.series.end() ? "" : relation_words(r, *main);
      return growth + (relation.empty() ? "" : "; " + relation) + when;
    }
    const Incident& in = scan_.incidents[*analysis_.primary];
    const std::string title = v.cause == "undetermined" ? "cause unclear" : v.cause_title;
    if (!growth.empty() && growth_is_first_reason()) {
      const auto kept = analysis_.facts.text("trend.increment");
      return fmt::format("{}{} {}{}", title, title.find(':') == title.npos ? ':' : ';', growth,
                         kept ? "; " + std::string(*kept) : "");
    }
    if (in.oom.agent == Agent::signal && in.oom.kind == OomKind::host)
      return fmt::format("{}; {}{} ({})",
                         analysis_.facts.is_true("host.vanished") ? "a process vanished without a message"
                                                                  : "killed; the log does not show by what",
                         v.cause == "undetermined" ? "" : "most likely: ", title,
                         short_location(location(in.evidence)));
    return fmt::format("{}{} {}", title, title.find(':') == title.npos ? ':' : ';', numbers_with_place(in));
  }

  /// Whether another try makes sense. Without a setting to change, the same run would fail again.
  Retry retry(const Verdict& v) const {
    if (v.outcome == "unrecognised") return {"", ""};
    if (v.outcome == "ended_otherwise") return {"unknown", ""};
    if (v.outcome == "no_oom" || v.outcome == "handled_oom" || (v.outcome == "at_risk" && !is_growing_risk()))
      return {"retry_unchanged", ""};
    if (analysis_.facts.is_true("account.free_beyond_request") &&
        analysis_.facts.number("oom.others_count").value_or(0) > 0)
      return {"retry_unchanged", ""};
    // On the host, a diagnostic comes before any change, because a change would be a guess.
    if (analysis_.primary && scan_.incidents[*analysis_.primary].oom.kind == OomKind::host &&
        !diagnosis_.fixes.empty() && diagnosis_.fixes.front().diagnostic)
      return {"retry_with_change", diagnosis_.fixes.front().title};
    for (const RankedFix& f : diagnosis_.fixes)
      for (const FixSettingText& s : f.settings)
        if (!s.text.empty() && !f.diagnostic) return {"retry_with_change", f.title};
    return {"stop", ""};
  }

  RunEnd run_end(const Ending& ending) const {
    constexpr std::size_t max_bytes = 200;
    std::string text = ending.at.excerpt;
    if (text.size() > max_bytes) text = text.substr(0, max_bytes) + "…";
    return {ending.kind, std::move(text), location(ending.at)};
  }

  /// For example "`NotImplementedError` (train.log:293)".
  std::string end_words(const RunEnd& end) const {
    const std::string_view line = std::string_view(end.location.excerpt);
    const std::string_view message = skip_location(line.substr(std::min(peel_prefix(line).length, line.size())));
    const std::string name(message.substr(0, message.find(':')));
    const std::string what = end.kind == "exception" ? "`" + name + "`" : std::string(ending_words(end.kind, line));
    return fmt::format("{} ({})", what, short_location(end.location));
  }

  ReportRun run(std::size_t k) const {
    const RunSummary& of = analysis_.runs.all[k];
    ReportRun out{
        "run-" + std::to_string(k + 1), scan_.inputs.front().path, of.first_line, of.last_line, of.outcome, {}, {}};
    if (of.ending) out.end = run_end(*of.ending);
    if (of.failure)
      out.headline = numbers_with_place(scan_.incidents[*of.failure]);
    else if (out.end)
      out.headline = "ended with " + end_words(*out.end);
    else
      out.headline = "no end in the log";
    return out;
  }

  /// For example "runs 1 and 2 ran out of memory".
  std::string earlier_failures() const {
    std::vector<std::string> failed;
    for (std::size_t k = 0; k + 1 < analysis_.runs.all.size(); ++k)
      if (analysis_.runs.all[k].failure) failed.push_back(std::to_string(k + 1));
    if (failed.empty()) return "";
    const std::string list = failed.size() <= 3 ? fmt::format("{}", fmt::join(failed, " and "))
                                                : std::to_string(failed.size()) + " earlier runs";
    return (failed.size() > 3 ? list : (failed.size() == 1 ? "run " : "runs ") + list) + " ran out of memory";
  }

  /// Outcome, cause and headline. Growth or nearly full memory turns a run without a failure into a risk.
  Verdict verdict(const Report& r) const {
    Verdict v;
    v.outcome = analysis_.runs.outcome;
    const bool alive = v.outcome == "no_oom" || (v.outcome == "ended_otherwise" && is_growing_risk());
    if (alive && (is_growing_risk() || analysis_.facts.is_true("run.scarce"))) v.outcome = "at_risk";
    if (analysis_.runs.last().ending) v.end = run_end(*analysis_.runs.last().ending);
    const bool explained = v.outcome != "no_oom" && v.outcome != "unrecognised" && v.outcome != "ended_otherwise" &&
                           !analysis_.runs.overcome;
    if (explained && (v.outcome != "at_risk" || is_growing_risk())) {  // else there is nothing to explain
      v.cause = diagnosis_.cause.empty() ? "undetermined" : diagnosis_.cause;
      if (!r.causes.empty()) {
        v.confidence = r.causes.front().probability;
        if (v.cause == r.causes.front().cause) v.cause_title = r.causes.front().title;
      }
    }
    if (analysis_.primary && explained) v.incident = incident_id(*analysis_.primary);
    v.headline = headline(r, v);
    v.retry = retry(v);
    return v;
  }

  const ScanResult& scan_;
  const Analysis& analysis_;
  const Diagnosis& diagnosis_;
};

}  // namespace

Report assemble(const ScanResult& scan, const Analysis& analysis, const Diagnosis& diagnosis,
                const AssembleOptions& options) {
  Assembler assembler(scan, analysis, diagnosis);
  Report report = assembler.report();
  if (options.trace) report.trace = assembler.trace();
  if (!options.why_not.empty())
    for (const RankedCause& c : diagnosis.causes)
      if (c.id == options.why_not) report.why_not = assembler.cause(c);
  return report;
}

}  // namespace oomdoctor
