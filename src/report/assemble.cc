#include "report/assemble.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <fmt/core.h>

#include "facts/programs.h"
#include "growth/growth_limits.h"
#include "growth/steady.h"
#include "judge/verdict.h"
#include "report/headline.h"
#include "report/incident_words.h"
#include "report/series_choice.h"
#include "report/series_words.h"

namespace oomdoctor {
namespace {

/// A file of a program that oomdoctor knows, also where it runs from a copy of its source: "ultralytics/nn/tasks.py".
bool is_of_program(std::string_view file) {
  const auto& programs = all_programs();
  return std::any_of(programs.begin(), programs.end(), [&](const Program& program) { return program.owns(file); });
}

// Points of a drawn series: four per column for as many columns as a screen shows, fewer if there are very many series.
constexpr std::size_t max_points_of_one = 1600, min_points_of_one = 400, points_of_all = 32'000;
constexpr std::size_t max_locations = 4;  ///< per reason and per fix

/// Translates the internal types. Holds references only while assemble() runs. Report ids are numbers in the order of
/// the scan: incident-1, series-1, run-1.
class Assembler {
 public:
  Assembler(const ScanResult& scan, const Analysis& analysis, const Diagnosis& diagnosis)
      : scan_(scan), analysis_(analysis), diagnosis_(diagnosis) {
    for (const Incident& in : scan_.incidents)
      if (accelerator_ == Accelerator::gpu) accelerator_ = accelerator_of(in);
    if (scan_.incidents.empty()) accelerator_ = accelerator_of(device_vendor(scan_));
  }

  Report report(bool all_series) {
    Report r;
    for (const Input& i : scan_.inputs)
      r.inputs.push_back({i.path, i.kind, i.bytes, i.lines, i.compression, i.truncated});
    for (const auto& [name, setting] : scan_.settings)
      r.settings.push_back({name, setting.value, location(setting.evidence)});
    for (std::size_t i = 0; i < scan_.incidents.size(); ++i) r.incidents.push_back(incident(i));
    r.more_incidents = scan_.more_incidents;
    r.verdict = decide_verdict(analysis_, diagnosis_);
    if (all_series || headline_may_name_series(r.verdict.outcome)) add_series(r, all_series || something_grows());
    for (const RankRow& row : analysis_.ranks) r.ranks.push_back(rank(row));
    for (const MemorySnapshot& snapshot : scan_.snapshots) {
      ReportSnapshot& one = r.snapshots.emplace_back(snapshot.report);
      if (snapshot.joined) one.joined_incident = incident_id(*snapshot.joined);
      if (snapshot.own) one.own_incident = incident_id(*snapshot.own);
    }
    for (const ReportCause& cause : diagnosis_.causes)
      if (cause.probability > 0) r.causes.push_back(cited(cause));
    for (const ReportFix& fix : diagnosis_.fixes) r.fixes.push_back(cited(fix));
    r.plan = diagnosis_.plan;
    r.held_back = diagnosis_.held_back;
    r.questions = diagnosis_.questions;
    const Coverage& coverage = scan_.coverage;
    r.coverage = {coverage.lines, coverage.claimed, {coverage.by_parser.begin(), coverage.by_parser.end()}};
    for (const LostEvidence& lost : scan_.lost) r.lost.push_back(lost_evidence(lost));
    r.more_lost = scan_.more_lost;
    for (const auto* notes : {&scan_.notes, &analysis_.notes})
      for (const Note& n : *notes)
        r.notes.push_back({std::string(to_string(n.severity)), n.text,
                           n.at ? std::optional(location(*n.at)) : std::nullopt, n.brief, n.code});
    if (primary() == nullptr && all_series) add_nearly_full(r);
    if (analysis_.primary && !r.verdict.cause.empty()) r.verdict.incident = incident_id(*analysis_.primary);
    if (const auto& ending = analysis_.runs.last().ending) r.verdict.end = run_end(*ending);
    note_later_exception(r);
    r.verdict.headline = headline(scan_, analysis_, r);
    if (analysis_.runs.all.size() > 1)
      for (std::size_t k = 0; k < analysis_.runs.all.size(); ++k) r.runs.push_back(run(k, r.incidents));
    return r;
  }

  /// Notes another exception that ended the run: the program had caught that of PyTorch's allocator, and then missed
  /// what it brings. A native library only prints its failure.
  void note_later_exception(Report& r) const {
    const auto& end = r.verdict.end;
    if (!end || end->kind != "exception" || r.verdict.outcome != Outcome::oom || primary()->handled) return;
    if (primary()->oom.agent != Agent::cuda_allocator) return;
    if (end->location.line <= primary()->evidence.span.last_line) return;
    r.notes.push_back({"note", "after this failure, " + last_end_words(r), end->location, true, ""});
  }

  /// The cause with the cited lines of its reasons.
  ReportCause cited(ReportCause cause) const {
    for (auto* reasons : {&cause.because, &cause.against})
      for (Reason& reason : *reasons) reason.locations = citations(reason.facts);
    return cause;
  }

  /// The fix with the cited lines of its facts, and of the old values of its settings.
  ReportFix cited(ReportFix fix) const {
    fix.locations = citations(fix.facts);
    for (FixSetting& setting : fix.settings) setting.from_locations = citations(setting.from_facts);
    return fix;
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
  const Incident* primary() const { return analysis_.primary ? &scan_.incidents[*analysis_.primary] : nullptr; }

  Location location(const Evidence& e) const {
    Location at;
    at.path = scan_.inputs.at(static_cast<std::size_t>(e.span.source)).path;
    at.line = e.span.first_line;
    at.end_line = std::max(e.span.first_line, e.span.last_line);
    at.excerpt = e.excerpt;
    at.column = e.span.column;
    at.end_column = e.span.end_column;
    at.lead = e.lead;
    at.event = e.span.event;
    at.offset = e.span.offset;
    return at;
  }

  ReportLostEvidence lost_evidence(const LostEvidence& lost) const {
    ReportLostEvidence r{lost.what, lost.why, lost.path, std::nullopt};
    if (!lost.at) return r;
    r.location = location(*lost.at);
    if (r.path.empty()) r.path = r.location->path;
    return r;
  }

  /// The lines of these facts, without duplicates.
  std::vector<Location> citations(const std::vector<std::string>& facts) const {
    std::vector<Location> all;
    for (const std::string& name : facts) {
      const Fact* fact = analysis_.facts.find(name);
      if (fact == nullptr) continue;
      for (const Evidence& e : fact->evidence) {
        Location at = location(e);
        const auto is_same_line = [&](const Location& other) {
          return other.path == at.path && other.line == at.line && other.event == at.event;
        };
        if (all.size() < max_locations && std::none_of(all.begin(), all.end(), is_same_line))
          all.push_back(std::move(at));
      }
    }
    return all;
  }

  /// The ranks that ran out of memory independently like this one. A rank whose own request was refused is not
  /// a consequence of another rank's failure.
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

  Accelerator accelerator_of(const Incident& incident) const {
    const std::string_view vendor = device_vendor(scan_, incident);
    if (vendor.empty() && incident.oom.framework == "mindspore") return Accelerator::device;  // mostly an NPU
    if (vendor.empty() && incident.oom.has(OomTrait::unnamed_device)) return Accelerator::device;
    return accelerator_of(vendor);
  }

  static Accelerator accelerator_of(std::string_view vendor) {
    constexpr std::array<std::string_view, 4> other{"habana", "neuron", "tenstorrent", "graphcore"};
    if (std::find(other.begin(), other.end(), vendor) != other.end()) return Accelerator::device;
    return vendor == "google" ? Accelerator::tpu : vendor == "huawei" ? Accelerator::npu : Accelerator::gpu;
  }

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
    r.accelerator = accelerator_of(in);
    r.location = location(in.evidence);
    for (const Evidence& e : in.context) r.context.push_back(location(e));
    for (const Evidence& e : in.occurrences) r.occurrences.push_back(location(e));
    r.more_occurrences = in.more_occurrences;
    r.handled = in.handled;
    if (in.follows) r.follows = incident_id(*in.follows);
    r.ranks = ranks_alike(index);
    r.device = in.origin.device;
    r.rank = in.origin.rank;
    r.pid = in.origin.pid;
    r.host = in.origin.host;
    r.run_step = in.when.step;
    if (in.when.step && !in.oom.has(OomTrait::planned)) r.step = *in.when.step - in.when.before;
    if (in.when.time && *in.when.time >= first_dated_time) r.time = in.when.time;
    r.epoch = in.when.epoch;
    r.epoch_over = in.when.epoch_over;
    if (analysis_.phases[index].id == "evaluation") r.bar = in.when.bar;
    r.phase = analysis_.phases[index].id;
    const bool compiled = in.oom.agent == Agent::xla && in.oom.has(OomTrait::planned);
    r.moment = compiled ? "compile" : analysis_.phases[index].moment;
    const DecisiveNumbers numbers = decisive_numbers(in.oom, analysis_.facts);
    r.numbers = numbers.text;
    if (analysis_.primary == index) r.other_memory = known_memory(in.oom, analysis_.facts, numbers);
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
    const auto frame = [](const Frame& f) { return ReportFrame{f.file, f.line, f.function, f.code, f.runs_any}; };
    // Where the log ends within the traceback, its entry point says nothing of the place, unless an import failed.
    const auto is_entry = [](const Frame& f) {
      return f.outer && f.function == "<module>" && f.code.find("import ") == f.code.npos;
    };
    const auto asks =
        std::find_if_not(oom.frames.rbegin(), oom.frames.rend(), [](const Frame& f) { return f.passes_on; });
    if (asks != oom.frames.rend() && !asks->outer && !asks->file.empty()) r.ask_frame = frame(*asks);
    const auto is_own = [](const Frame& f) { return !f.library && !f.runs_any && !f.file.empty(); };
    auto own = std::find_if(oom.frames.rbegin(), oom.frames.rend(), is_own);
    // The code that calls a program is the user's, unless it only starts the program.
    if (own != oom.frames.rend() && is_of_program(own->file))
      if (const auto caller = std::find_if(own, oom.frames.rend(),
                                           [&](const Frame& f) {
                                             return is_own(f) && !is_of_program(f.file) && f.function != "main" &&
                                                    !f.function.starts_with('<');
                                           });
          caller != oom.frames.rend())
        own = caller;
    if (own != oom.frames.rend() && !is_entry(*own)) r.frame = frame(*own);
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

  /// Pairs of step and date. Empty if a value has no date: a clock that begins anew each day does not show which day.
  static std::vector<ReportPoint> clock(const Series& s) {
    constexpr std::size_t max_points = 48;  // of a chart; in between the time is interpolated
    std::vector<ReportPoint> dated;
    for (const Bucket& bucket : s.buckets()) {
      if (!is_dated(bucket.t)) return {};
      if (dated.empty() || (bucket.x > dated.back().x && bucket.t > dated.back().y))
        dated.push_back({bucket.x, bucket.t});
    }
    std::vector<ReportPoint> out;
    for (std::size_t i = 0; i < std::min(dated.size(), max_points); ++i)
      out.push_back(dated.size() <= max_points ? dated[i] : dated[i * (dated.size() - 1) / (max_points - 1)]);
    return out;
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

  /// Whether it is a memory series with values.
  static bool is_reported(const Series& s) { return s.metric != Metric::input_length && s.followed(); }

  bool something_grows() const {
    for (std::size_t i = 0; i < scan_.series.size(); ++i)
      if (analysis_.trends.leaks(i)) return true;
    return false;
  }

  /// Level series are left out on request: a headline names them only next to a growing one.
  void add_series(Report& r, bool with_level_ones) const {
    for (std::size_t i = 0; i < scan_.series.size(); ++i) {
      if (scan_.series[i].metric == Metric::input_length)
        r.input_lengths.push_back(series(i));
      else if (is_reported(scan_.series[i]) && (with_level_ones || !analysis_.trends.is_level(i)))
        r.series.push_back(series(i));
      else
        ++r.more_series;
    }
    r.more_series += scan_.more_series;
  }

  /// Notes each memory that was nearly full at its peak, the fullest first. A device is named once: by what a monitor
  /// read of all of it, else by what a program counted.
  void add_nearly_full(Report& r) const {
    constexpr std::array metrics{Metric::used,     Metric::utilization, Metric::memory,
                                 Metric::reserved, Metric::host_used,   Metric::host_utilization};
    std::vector<std::pair<double, ReportNote>> levels;
    std::vector<std::pair<Metric, std::optional<int>>> named;
    for (const Metric metric : metrics) {
      auto of = r.series.begin();
      for (const Series& s : scan_.series) {
        if (!is_reported(s)) continue;
        const ReportSeries& series = *of++;
        const auto share = peak_share(series);
        if (s.metric != metric || !share || *share < nearly_full) continue;
        if (metric != Metric::host_used && std::any_of(named.begin(), named.end(), [&](const auto& other) {
              return other.first != metric && other.second == s.origin.device;
            }))
          continue;
        named.emplace_back(metric, s.origin.device);
        levels.push_back(
            {*share, {"note", nearly_full_words(r, series, s.max_time, s.max_x), location(s.max_evidence), true}});
      }
    }
    std::stable_sort(levels.begin(), levels.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    for (auto& [share, note] : levels) r.notes.push_back(std::move(note));
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
    r.accelerator = accelerator_;
    if (analysis_.runs.all.size() > 1) r.run = s.run + 1;
    r.followed = analysis_.runs.follows(s);
    r.unit = s.unit;
    r.x_unit = s.counts_epochs ? "epoch" : s.has_times ? "second" : s.has_steps ? "step" : "value";
    r.n = s.n;
    if (s.n > 0) r.first_step = s.first_x, r.last_step = s.last_x;
    if (s.has_times && !s.buckets().empty() && s.buckets().front().t >= first_dated_time)
      r.start_time = s.buckets().front().t - s.buckets().front().x;
    r.first_value = s.first_value;
    r.last_value = s.last_value;
    r.max_value = s.max_value;
    r.quantum = s.quantum;
    if (!t.leak)
      if (const auto level = steady_level(s)) r.steady = ReportLevel{level->value, level->low, level->high, level->n};
    r.points = thinned(s);
    r.clock = clock(s);
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
               {},
               t.why,
               t.release,
               t.moves,
               t.equal_rises,
               t.leak && s.n < growth_limits::enough_values && t.confidence < growth_limits::risk_confidence &&
                   !analysis_.primary,
               {},
               {},
               {}};
    if (t.capacity) r.trend.capacity_bytes = round_to_integer(*t.capacity);
    if (index == analysis_.main_series)
      if (const auto increment = analysis_.facts.text("trend.increment")) r.trend.increment = *increment;
    for (const Stage& stage : t.stages)
      r.trend.stages.push_back({std::string(to_string(stage.kind)), stage.first_step, stage.last_step,
                                stage.first_value, stage.last_value, stage.slope});
    for (const CurvePoint& p : t.curve) r.trend.curve.push_back({p.x, p.y, p.low, p.high});
    if (t.forecast && t.release.empty() && !r.trend.unsure && !is_contradicted(*t.forecast, s, primary()))
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
    r.leak = analysis_.trends.leaks(*row.series);
    r.location = location(s.last_evidence);
    return r;
  }

  RunEnd run_end(const Ending& ending) const {
    constexpr std::size_t max_bytes = 200;
    std::string text = ending.at.excerpt;
    if (text.size() > max_bytes) text = text.substr(0, max_bytes) + "…";
    return {ending.kind, std::move(text), location(ending.at)};
  }

  ReportRun run(std::size_t k, const std::vector<ReportIncident>& incidents) const {
    const RunSummary& of = analysis_.runs.all[k];
    ReportRun out{
        "run-" + std::to_string(k + 1), scan_.inputs.front().path, of.first_line, of.last_line, of.outcome, {}, {}, {}};
    if (of.ending) out.end = run_end(*of.ending);
    if (of.failure) out.failure = incidents[*of.failure].location;
    out.several_ends = of.several_ends;
    out.headline = run_headline(out, of.failure ? &incidents[*of.failure] : nullptr);
    return out;
  }

  const ScanResult& scan_;
  const Analysis& analysis_;
  const Diagnosis& diagnosis_;
  Accelerator accelerator_ = Accelerator::gpu;  ///< of the series: a job has devices of one kind
};

}  // namespace

Report assemble(const ScanResult& scan, const Analysis& analysis, const Diagnosis& diagnosis,
                const AssembleOptions& options) {
  Assembler assembler(scan, analysis, diagnosis);
  Report report = assembler.report(options.series);
  if (options.trace) report.trace = assembler.trace();
  if (!options.why_not.empty())
    for (const ReportCause& cause : diagnosis.causes)
      if (cause.cause == options.why_not) report.why_not = assembler.cited(cause);
  return report;
}

}  // namespace oomdoctor
