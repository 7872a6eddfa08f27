// The memory series before the failure: the one that describes the failure best, and how well its growth explains it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "facts/analysis.h"
#include "facts/growth_risk.h"
#include "facts/unreachable_memory.h"
#include "growth/growth_limits.h"

namespace oomdoctor {
namespace {

// Judgement constants, each with its reason.
constexpr i64 min_points = 8;  ///< fewer values cannot exclude growth
constexpr double outlier_factor =
    1.5;  ///< a batch this much longer than all earlier ones is an outlier, not the upper end of the usual range
constexpr double forecast_tolerance =
    0.10;  ///< of the observed window; the forecast may miss the failure by this much and still agree

constexpr double little_headroom = 0.10;  ///< of the GPU; below, the report mentions it …
constexpr double scarce_headroom =
    0.05;  ///< … and below this, which fragmentation and one longer batch can use, it warns

/// Chooses the series that the diagnosis is about, among those of the failed process.
std::optional<std::size_t> choose_main(const ScanResult& scan, const Runs& runs, const Trends& trends,
                                       const Incident* incident) {
  const bool host = incident != nullptr && incident->oom.kind != OomKind::device &&
                    incident->oom.kind != OomKind::masked && incident->oom.kind != OomKind::pool;
  std::optional<std::size_t> best;
  const auto better = [&](std::size_t a, std::size_t b) {
    const Series &sa = scan.series[a], &sb = scan.series[b];
    const bool enough_a = sa.n >= 4, enough_b = sb.n >= 4;
    if (enough_a != enough_b) return enough_a;
    // Prefer growth within one metric. Then prefer the better metric, then the longer series, then the larger process.
    if (sa.metric == sb.metric && trends.leaks(a) != trends.leaks(b)) return trends.leaks(a);
    if (metric_rank(sa.metric) != metric_rank(sb.metric)) return metric_rank(sa.metric) < metric_rank(sb.metric);
    if (sa.n != sb.n || !is_process_series(sa) || !is_process_series(sb)) return sa.n > sb.n;
    return sa.max_value > sb.max_value;
  };
  for (std::size_t i = 0; i < scan.series.size(); ++i) {
    const Series& s = scan.series[i];
    if (!metric_rank(s.metric) || !s.followed() || !belongs(s, incident)) continue;
    if (incident == nullptr && !runs.follows(s)) continue;
    if (incident != nullptr && is_device_metric(s.metric) == host) continue;
    if (!best || better(i, *best)) best = i;
  }
  return best;
}

/// The capacity of this GPU, or of this part of one ("MIG 0/2/0"), from the log or from the value's line.
std::optional<i64> find_capacity(const ScanResult& scan, const Series& s) {
  if (s.capacity > 0) return whole_number(s.capacity);
  for (const std::string& name : {s.label, s.origin.device ? std::to_string(*s.origin.device) : std::string()})
    if (const auto printed = size_of_setting(scan, "capacity/" + name)) return printed;
  return std::nullopt;
}

/// Notes how close the tensors came to the capacity in a successful run. Caches may fill the GPU without harm, so they
/// do not count.
void emit_headroom(const ScanResult& scan, i64 capacity, Analysis& analysis) {
  const Series* tightest = nullptr;
  for (const Series& s : scan.series)
    if ((s.metric == Metric::allocated || s.metric == Metric::active || s.metric == Metric::max_allocated) &&
        s.n >= min_points && (tightest == nullptr || s.max_value > tightest->max_value))
      tightest = &s;
  if (tightest == nullptr) return;
  const double left = static_cast<double>(capacity) - tightest->max_value, share = left / static_cast<double>(capacity);
  if (share >= little_headroom || share < 0) return;
  const std::vector<Evidence> here{tightest->last_evidence};
  analysis.facts.set("run.headroom", Value{Number{left, 0}}, here);
  analysis.facts.set("run.scarce", Value{share < scarce_headroom}, here);
  analysis.notes.push_back(
      {share < scarce_headroom ? Severity::warning : Severity::note,
       fmt::format("tensors came within {} of the device's {} ({:.1f}%): a longer batch or a larger "
                   "evaluation may not fit",
                   computed_bytes_text(left), bytes_text(capacity), 100 * share),
       tightest->last_evidence});
}

/// A series with too few values for a trend, in which each value is far above the previous one and one more such rise
/// fills the GPU.
std::optional<std::size_t> find_steep_series(const ScanResult& scan, const Runs& runs, std::optional<i64> capacity) {
  constexpr i64 min_values = 4;
  constexpr double min_rise = 0.1;  // of the device, each rise
  for (std::size_t i = 0; i < scan.series.size() && capacity; ++i) {
    const Series& s = scan.series[i];
    if (!runs.follows(s) || !is_device_metric(s.metric) || s.n < min_values || s.n >= min_points || !s.has_steps)
      continue;
    const auto& buckets = s.buckets();
    double smallest_rise = std::numeric_limits<double>::max(), last_rise = 0;
    for (std::size_t k = 1; k < buckets.size(); ++k) {
      last_rise = buckets[k].y - buckets[k - 1].y;
      smallest_rise = std::min(smallest_rise, last_rise);
    }
    const double full = static_cast<double>(*capacity);
    if (buckets.size() >= min_values && smallest_rise >= min_rise * full && s.last_value + last_rise >= full) return i;
  }
  return std::nullopt;
}

/// The process or container that the series is about, if a monitor lists several.
std::string find_owner(const ScanResult& scan, const Series& s) {
  if (s.origin.pid) return "process " + std::to_string(*s.origin.pid);
  const bool containers = scan.coverage.by_parser.contains("containers");
  return containers && s.metric == Metric::host_used ? s.label : "";
}

/// Sets trend.* for the main series.
void set_main_facts(const Series& s, const Trend& t, const Incident* incident, std::optional<i64> capacity,
                    Facts& facts) {
  const std::vector<Evidence> both{s.first_evidence, s.last_evidence};
  const auto number = [](double v) { return Value{Number{v, 0}}; };
  facts.set("trend.points", number(static_cast<double>(s.n)), both);
  facts.set("trend.metric", Value{std::string(to_string(s.metric))}, both);
  for (const std::string_view runtime : {"Java", "Go"})
    if (s.label.starts_with(std::string(runtime) + " heap")) facts.set("trend.heap", Value{std::string(runtime)}, both);
  facts.set("trend.by_step", Value{s.has_steps && !s.has_times && !s.counts_epochs}, both);
  if (t.shape == Shape::too_short) return;
  facts.set("trend.shape", Value{std::string(to_string(t.shape))}, both);
  const bool maxima = s.kind == SeriesKind::running_maximum && !t.equal_records;
  facts.set("trend.leak", Value{t.leak && !maxima}, both);
  facts.set("trend.released", Value{!t.release.empty()}, both);
  facts.set("trend.maxima_only", Value{t.leak && maxima}, both);
  facts.set("trend.accelerating", Value{t.leak && t.shape == Shape::accelerating}, both);
  const bool settled = t.shape == Shape::warmup || t.shape == Shape::step || t.shape == Shape::saturating;
  facts.set("trend.settled", Value{settled}, both);
  facts.set("trend.sawtooth", Value{t.shape == Shape::sawtooth}, both);
  if (s.n >= min_points)
    facts.set("trend.flat", Value{!t.leak && !settled && (!maxima || t.shape == Shape::flat)}, both);
  const double end_slope = last_slope(t);
  facts.set("trend.slope", number(t.slope.value), both);
  facts.set("trend.last_slope", number(end_slope), both);
  const std::string per = s.counts_epochs ? " per epoch"
                          : s.has_times   ? " per second"
                          : s.has_steps   ? " per step"
                                          : " per value";
  facts.set("trend.rate", Value{computed_bytes_text(std::abs(t.slope.value)) + per}, both);
  facts.set("trend.last_rate", Value{computed_bytes_text(std::abs(end_slope)) + per}, both);
  if (!capacity) return;
  const double full = static_cast<double>(*capacity);
  facts.set("trend.headroom", number(full - s.max_value), both);
  facts.set("trend.headroom_share", number((full - s.max_value) / full), both);
  // A step is comparable only to a series that counts steps.
  const std::optional<i64> failure_step = incident != nullptr && s.has_steps ? incident->when.step : std::nullopt;
  // The share of the growth is defined only after a failure.
  if (const double start = t.working.first_value; incident != nullptr && full > start) {
    double reached = s.last_value;
    if (t.leak && failure_step && static_cast<double>(*failure_step) > s.last_x)
      reached += end_slope * (static_cast<double>(*failure_step) - s.last_x);
    facts.set("trend.explained_share", number(std::clamp((reached - start) / (full - start), 0.0, 1.0)), both);
  }
  if (t.leak && t.forecast) {
    facts.set("trend.steps_to_full", number(std::max(0.0, t.forecast->step_low - s.last_x)), both);
    if (failure_step) {
      const auto step = static_cast<double>(*failure_step);
      const double slack = forecast_tolerance * working_length(t);
      facts.set("trend.forecast_agrees",
                Value{step >= t.forecast->step_low - slack &&
                      (!t.forecast->step_high || step <= *t.forecast->step_high + slack)},
                both);
    }
  }
}

/// True if no line of the program precedes this line.
bool is_before_program(const ScanResult& scan, const Span& at) {
  const auto before = [&](const Evidence& e) {
    return e.span.source == at.source && e.span.first_line < at.first_line;
  };
  return scan.progress_lines == 0 &&
         std::none_of(scan.remarks.begin(), scan.remarks.end(), [&](const Event& e) { return before(e.evidence); }) &&
         std::none_of(scan.settings.begin(), scan.settings.end(), [&](const auto& setting) {
           return !setting.first.starts_with("capacity") && before(setting.second.evidence);
         });
}

constexpr double clearly_used = 0.05;  ///< of the device: more than an idle desktop

/// Sets the number and the memory of a GPU that was in use before the program started, and a GPU that was nearly empty.
void set_device_before(const ScanResult& scan, const Series& used, i64 capacity, Facts& facts) {
  facts.set("device.total_before", Bytes{capacity, 0}, {used.first_evidence});
  if (used.origin.device)
    facts.set("device.which", Value{Number{static_cast<double>(*used.origin.device), 0}}, {used.first_evidence});
  const auto emptier = std::find_if(scan.series.begin(), scan.series.end(), [&](const Series& s) {
    return s.metric == Metric::used && s.n == 1 && s.origin.device && s.origin.device != used.origin.device &&
           s.last_value < clearly_used * static_cast<double>(capacity);
  });
  if (emptier != scan.series.end())
    facts.set("device.emptier", Value{Number{static_cast<double>(*emptier->origin.device), 0}},
              {emptier->first_evidence});
}

/// Sets the memory that a GPU had in use before the program started.
void set_used_before(const ScanResult& scan, const Series& used, i64 capacity, Facts& facts) {
  if (used.last_value < clearly_used * static_cast<double>(capacity) || facts.find("device.used_before")) return;
  facts.set("device.used_before", Bytes{whole_number(used.last_value), 0}, {used.first_evidence});
  set_device_before(scan, used, capacity, facts);
}

/// Sets device.* if the log lists the GPUs once, before the program starts, and one of them is nearly full.
void set_full_before(const ScanResult& scan, const Incident& incident, Facts& facts) {
  constexpr double nearly_full = 0.9;
  for (const Series& s : scan.series) {
    const auto capacity = find_capacity(scan, s);
    const Span& at = s.first_evidence.span;
    const bool other = s.origin.device && incident.origin.device && s.origin.device != incident.origin.device;
    if (s.metric != Metric::used || s.n != 1 || other || !capacity || at.source != incident.evidence.span.source)
      continue;
    if (at.first_line >= incident.evidence.span.first_line || !is_before_program(scan, at)) continue;
    if (s.last_value < nearly_full * static_cast<double>(*capacity)) {
      set_used_before(scan, s, *capacity, facts);
      continue;
    }
    facts.set("device.full_before", Bytes{whole_number(s.last_value), 0}, {s.first_evidence});
    set_device_before(scan, s, *capacity, facts);
    return;
  }
}

/// True if a monitor lists both processes, with their pids or only with their names.
bool are_listed_together(const Series& s, const Series& other) {
  if (s.metric != other.metric) return false;
  const auto named = [](const Series& one) { return !one.has_steps && !one.label.empty(); };
  return (is_process_series(s) && is_process_series(other)) ||
         (named(s) && named(other) && s.last_evidence.span.source == other.last_evidence.span.source);
}

/// True if the series is one of several processes that a monitor lists.
bool is_listed(const ScanResult& scan, const Series& s) {
  constexpr std::ptrdiff_t several = 4;
  return is_process_series(s) || std::count_if(scan.series.begin(), scan.series.end(), [&](const Series& other) {
                                   return are_listed_together(s, other);
                                 }) >= several;
}

/// What the growth of a listed process compares with: the largest RAM of another one, or the RAM of the machine. A list
/// may contain only small processes: none of them is smaller than one that could fill a machine. A monitor that also
/// samples the machine lists its processes even if it prints no pid.
double find_largest_process(const ScanResult& scan, const Series& s) {
  constexpr double least = 1.5 * static_cast<double>(GiB);
  if (s.metric != Metric::host_rss) return 0;
  const bool listed = is_listed(scan, s);
  double largest = listed ? least : 0;
  for (const Series& other : scan.series) {
    if (listed && are_listed_together(s, other) && &other != &s && (!s.origin.pid || other.origin.pid != s.origin.pid))
      largest = std::max(largest, other.max_value);
    if ((other.metric != Metric::host_used && other.metric != Metric::host_available) || (!listed && s.has_steps))
      continue;
    largest = std::max(largest, listed ? other.capacity : std::max(other.capacity, other.max_value));
  }
  return largest;
}

/// The inputs of the trend of each series.
std::vector<TrendInputs> trend_inputs(const ScanResult& scan, const Runs& runs, const Incident* incident,
                                      std::optional<i64> capacity) {
  std::vector<TrendInputs> inputs;
  const UnreachableMemory unreachable(scan, min_points);
  for (const Series& s : scan.series) {
    GrowthOptions growth;
    if (capacity && is_device_metric(s.metric)) growth.capacity = static_cast<double>(*capacity);
    if (const auto own = find_capacity(scan, s); own && (s.metric == Metric::used || s.capacity > 0))
      growth.capacity = static_cast<double>(*own);
    if (!runs.follows(s)) growth.capacity.reset();  // a run that is over fills no memory
    growth.unreachable_bytes = unreachable.bytes_for(s);
    growth.at_work = shows_progress(scan, s);
    if (incident == nullptr) growth.largest_process = find_largest_process(scan, s);
    if (incident != nullptr && s.has_steps && incident->when.step && belongs(s, incident))
      growth.failure_step = static_cast<double>(*incident->when.step);
    const bool fills = s.metric != Metric::input_length && s.metric != Metric::free && s.metric != Metric::host_free &&
                       s.metric != Metric::utilization && s.metric != Metric::host_utilization;
    inputs.push_back({&s, growth, fills && s.followed(), s.capacity > 0 ? std::optional(s.capacity) : growth.capacity});
  }
  return inputs;
}

void set_shape_facts(const ScanResult& scan, const Incident* incident, Facts& facts) {
  for (const Series& s : scan.series) {
    if (s.metric != Metric::input_length || s.n < 2 || !belongs(s, incident)) continue;
    const auto& buckets = s.buckets();
    double longest_before = 0, shortest = s.min_value;
    for (std::size_t i = 0; i + 1 < buckets.size(); ++i) longest_before = std::max(longest_before, buckets[i].high);
    const std::vector<Evidence> both{s.first_evidence, s.last_evidence};
    const bool images = s.label == image_label;
    facts.set("shape.varies", Value{s.max_value > 1.1 * shortest}, both);
    if (s.n < min_points || longest_before <= 0) continue;
    const double factor = images ? std::sqrt(outlier_factor) : outlier_factor;  // an area has two sides
    facts.set("shape.of_images", Value{images}, both);
    facts.set("shape.outlier", Value{s.last_value >= factor * longest_before}, {s.last_evidence});
    facts.set("shape.outlier_value", Value{Number{s.last_value, 0}}, {s.last_evidence});
    facts.set("shape.typical_value", Value{Number{longest_before, 0}}, both);
  }
}

/// True if the values rise to the end of the series, where they are highest.
bool rises_to_the_end(const Series& s) {
  constexpr std::size_t least_values = 8;
  constexpr double clear = 0.5;  // of the last value: the rise
  constexpr double late = 0.15;  // of the rise: its part in each third
  const auto& buckets = s.buckets();
  if (buckets.size() < least_values || s.last_value < s.max_value) return false;
  const auto at = [&](std::size_t third) { return buckets[third * (buckets.size() - 1) / 3].y; };
  const double rise = at(3) - at(0);
  if (rise < clear * s.last_value) return false;
  for (std::size_t third = 1; third <= 3; ++third)
    if (at(third) - at(third - 1) < late * rise) return false;
  return true;
}

/// Sets host.rises if the memory that reached its limit was still rising when the job was killed. A series of unknown
/// memory counts if it ends near that limit.
void set_rise_before_kill(const ScanResult& scan, const Incident& incident, Facts& facts) {
  constexpr double least_share = 0.5, most_share = 1.25;  // of what the kill names
  const auto any_of = [&](std::initializer_list<const char*> names) {
    return std::any_of(names.begin(), names.end(), [&](const char* name) { return facts.is_true(name); });
  };
  if (incident.oom.kind != OomKind::host || !any_of({"host.kernel_kill", "host.limit_kill", "host.sigkill_only"}))
    return;
  const double used = facts.number("host.used").value_or(0), limit = facts.number("host.limit").value_or(0),
               machine = limit == 0 ? facts.number("host.capacity").value_or(0) : 0;
  const double whole = std::max({used, limit, machine});
  for (const Series& s : scan.series) {
    const bool host = s.metric == Metric::host_rss || s.metric == Metric::host_used;
    if ((!host && s.metric != Metric::memory) || !belongs(s, &incident) || !rises_to_the_end(s)) continue;
    if (whole == 0 || s.last_value < least_share * whole || s.last_value > most_share * whole) continue;
    const std::vector<Evidence> both{s.first_evidence, s.last_evidence};
    facts.set("host.rises", Value{true}, both);
    facts.set("host.rise",
              Value{"from " + bytes_text(s.first_value, s.quantum) + " to " + bytes_text(s.last_value, s.quantum)},
              both);
    return;
  }
}

/// Sets host.grows by the first growing series of host RAM, and trend.in_evaluation if a series of the GPU grows and
/// the run failed in an evaluation.
void set_growth_facts(const ScanResult& scan, const Incident* incident, Analysis& analysis) {
  Facts& facts = analysis.facts;
  const bool evaluates = incident != nullptr && facts.is_true("phase.evaluation");
  for (std::size_t i = 0; i < scan.series.size(); ++i) {
    const Series& s = scan.series[i];
    if (incident == nullptr && !analysis.runs.follows(s)) continue;
    const bool host = s.metric == Metric::host_rss || s.metric == Metric::host_used;
    if (host && !facts.is_true("host.grows") && analysis.trends[i].shape != Shape::too_short)
      facts.set("host.grows", Value{analysis.trends[i].leak}, {s.first_evidence, s.last_evidence});
    if (evaluates && is_device_metric(s.metric) && analysis.trends.leaks(i))
      facts.set("trend.in_evaluation", Value{true}, {s.first_evidence, s.last_evidence});
  }
}

}  // namespace

bool belongs(const Series& s, const Incident* incident) {
  if (incident == nullptr) return true;
  const Span &first = s.first_evidence.span, &failure = incident->evidence.span;
  if (first.source == failure.source && first.first_line > std::max(failure.first_line, incident->when.order))
    return false;  // it began after the failure
  if (first.source == failure.source && s.last_evidence.span.first_line < incident->run.first_line)
    return false;  // it belongs to an earlier run
  if (is_process_series(s) && s.origin.pid != incident->origin.pid) return false;
  if (s.origin.rank && incident->origin.rank && s.origin.rank != incident->origin.rank) return false;
  return !s.origin.device || !incident->origin.device || s.origin.device == incident->origin.device;
}

bool is_contradicted(const Forecast& forecast, const Series& series, const Incident* primary) {
  if (primary == nullptr || !primary->when.step || primary->handled || !series.has_steps || !belongs(series, primary))
    return false;
  const auto step = static_cast<double>(*primary->when.step);
  return step < forecast.step_low || (forecast.step_high && step > *forecast.step_high);
}

/// Notes growth in a run that the verdict is not about.
void emit_other_growth(const ScanResult& scan, Analysis& analysis) {
  for (std::size_t i = 0; i < scan.series.size(); ++i) {
    const Series& s = scan.series[i];
    if (analysis.runs.follows(s) || s.n < min_points) continue;
    if (s.kind == SeriesKind::running_maximum && !analysis.trends[i].equal_records) continue;
    if (!analysis.trends.leaks(i) || analysis.trends[i].confidence < growth_limits::risk_confidence) continue;
    analysis.notes.push_back(
        {Severity::warning,
         fmt::format("in another run of this log, {} rose from {} to {} and did not level off", to_string(s.metric),
                     bytes_text(s.first_value, s.quantum), bytes_text(s.last_value, s.quantum)),
         s.last_evidence});
    return;
  }
}

/// Notes that the RAM of the machine grew, but not in the processes that a monitor lists.
void emit_unexplained_growth(const ScanResult& scan, Analysis& analysis) {
  const auto growth = find_unexplained_growth(scan, analysis.runs, analysis.trends);
  if (!growth) return;
  analysis.notes.push_back(
      {Severity::note,
       fmt::format("the machine's RAM in use grew by {}, its {} listed processes {} by {}: the rest is in another "
                   "container, in files or in processes not listed",
                   computed_bytes_text(growth->of_machine), growth->listed,
                   growth->of_processes < 0 ? "shrank" : "grew", computed_bytes_text(std::abs(growth->of_processes))),
       scan.series[growth->series].last_evidence});
}

void trend_facts(const ScanResult& scan, const AnalysisOptions& options, Analysis& analysis) {
  const Incident* incident = analysis.primary ? &scan.incidents[*analysis.primary] : nullptr;
  const auto capacity = known_capacity(scan, incident != nullptr ? std::optional(*incident) : std::nullopt, options);
  emit_units(scan, analysis.notes);
  analysis.trends = Trends(trend_inputs(scan, analysis.runs, incident, capacity));
  if (options.all_trends) analysis.trends.compute_all(options.jobs);
  Facts& facts = analysis.facts;
  if (incident == nullptr && capacity) emit_headroom(scan, *capacity, analysis);
  const auto at_risk = incident == nullptr ? find_series_at_risk(scan, analysis.runs, analysis.trends) : std::nullopt;
  const auto steep = incident == nullptr && !at_risk ? find_steep_series(scan, analysis.runs, capacity) : std::nullopt;
  if (incident == nullptr && !at_risk && !steep) {
    emit_other_growth(scan, analysis);
    emit_unexplained_growth(scan, analysis);
  }
  if (incident == nullptr) {
    const auto& risk = at_risk ? at_risk : steep;
    const std::vector<Evidence> evidence =
        risk ? std::vector{scan.series[*risk].first_evidence, scan.series[*risk].last_evidence}
             : std::vector<Evidence>{};
    facts.set("run.at_risk", Value{risk.has_value()}, evidence);
    if (steep) {
      const Series& s = scan.series[*steep];
      facts.set("run.steep",
                Value{fmt::format("{} rose from {} to {} of {} in {} values; one more such rise fills it",
                                  to_string(s.metric), bytes_text(s.first_value), bytes_text(s.last_value),
                                  bytes_text(*capacity), s.n)},
                evidence);
    }
  }
  analysis.main_series = steep     ? steep
                         : at_risk ? at_risk
                                   : choose_main(scan, analysis.runs, analysis.trends, incident);
  // Without a failure, only a report of all series says that the main one is level.
  if (analysis.main_series &&
      (incident != nullptr || options.all_trends || !analysis.trends.is_level(*analysis.main_series))) {
    const Series& main = scan.series[*analysis.main_series];
    const auto own = find_capacity(scan, main);
    set_main_facts(main, analysis.trends[*analysis.main_series], incident,
                   own || !is_device_metric(main.metric) ? own : capacity, facts);
    if (const std::string owner = find_owner(scan, main); !owner.empty() && facts.is_true("run.exports_only"))
      facts.set("trend.owner", Value{owner}, {main.first_evidence, main.last_evidence});
  }
  if (incident != nullptr && incident->oom.kind == OomKind::device) set_full_before(scan, *incident, facts);
  comparison_facts(scan, incident, capacity, analysis);
  increment_fact(facts);
  set_shape_facts(scan, incident, facts);
  set_growth_facts(scan, incident, analysis);
  if (incident != nullptr) set_rise_before_kill(scan, *incident, facts);
  // Nothing has grown from step to step, and no input was unusual, before the first update of a run.
  const bool first_step =
      facts.is_true("phase.first_step") && facts.number("run.done").value_or(0) <= 1 && facts.is_false("run.late");
  if (incident != nullptr && (first_step || facts.is_true("phase.optimizer_init")))
    for (const std::string_view name : {"trend.leak", "shape.outlier"})
      if (facts.find(name) == nullptr) facts.set(name, Value{false}, {incident->evidence});
}

}  // namespace oomdoctor
