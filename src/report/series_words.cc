#include "report/series_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/ascii.h"
#include "base/bytes.h"
#include "model/evidence.h"
#include "report/incident_words.h"
#include "report/series_choice.h"
#include "report/words.h"

namespace oomdoctor {
namespace {

/// The first step of the working stage in which the run ended; nullopt if no stage is known.
std::optional<double> working_since(const ReportTrend& trend) {
  std::optional<double> since;
  for (const ReportStage& stage : trend.stages) {
    if (stage.kind == "working" && !since) since = stage.first_step;
    // Evaluations and pauses interrupt the work. Every other stage ends the work before it.
    if (stage.kind != "working" && stage.kind != "evaluation" && stage.kind != "pause" && stage.kind != "release" &&
        !(stage.kind == "idle" && &stage == &trend.stages.back()))
      since.reset();
  }
  return since;
}

/// Where the rate of two slopes begins, which is that of the second one; nullopt for another law.
std::optional<double> rate_changes(const ReportTrend& trend) {
  return trend.leak && trend.model == "two_slopes" && !trend.change_points.empty()
             ? std::optional(trend.change_points.front())
             : std::nullopt;
}

/// For example "since step 70"; "" if the growth began with the first value.
std::string since_words(const ReportSeries& of) {
  const ReportTrend& trend = of.trend;
  const std::optional<double> start = trend.onset_step       ? trend.onset_step
                                      : rate_changes(trend)  ? rate_changes(trend)
                                      : trend.stages.empty() ? of.first_step
                                                             : working_since(trend);
  return start ? fmt::format(" since {} {}", of.x_unit, step_text(*start)) : "";
}

/// ", accelerating by 14.6 KiB per step"; "" for growth at one rate.
std::string acceleration_words(const ReportSeries& of) {
  if (of.trend.shape != "accelerating") return "";
  return fmt::format(", accelerating by {} per {}", computed_bytes_text(std::abs(of.trend.acceleration.value)),
                     of.x_unit);
}

// Of the batch that fits: a reserve for the rounding of the allocator, fragments and longer samples, and the CUDA
// context and kernels, which no counter of PyTorch has: about 0.5 GiB on most GPUs, 1 GiB with all libraries loaded.
constexpr double batch_margin = 0.05, beside_tensors = 1.2 * static_cast<double>(GiB);

/// PyTorch's counters. The device's own has the context in it.
bool is_of_framework(const ReportSeries& of) { return of.metric != "used"; }

/// Peaks of the steps. A gauge of tensors between the steps is lower.
bool is_peak_of_gpu(const ReportSeries& of) {
  return of.metric == "max_allocated" || of.metric == "max_reserved" || of.metric == "reserved" || of.metric == "used";
}

/// The date and time of x; "" in a log without dates, and far in the future.
std::string clock_text(const ReportSeries& of, double x) {
  return of.start_time > 0 ? time_text(of.start_time + x) : "";
}

/// True if the name of a share says more than that it is of memory.
bool names_more_than_memory(std::string_view label) {
  const std::string name = lower(label);
  return !name.empty() && name != "memory" && name != "mem";
}

/// True for a place in a program: "tables.py:46 df = pd.read_csv(name)".
bool names_source_line(std::string_view label) {
  const std::size_t colon = label.find(".py:");
  return colon != label.npos && colon + 4 < label.size() && is_digit(label[colon + 4]);
}

/// The ranks that neither failed nor grow, of the first one's kind of memory.
std::vector<const ReportRank*> find_calm_ranks(const Report& report) {
  std::vector<const ReportRank*> calm;
  for (const ReportRank& rank : report.ranks)
    if (rank.max_value && !rank.metric.empty() && !rank.failed && !rank.leak &&
        (calm.empty() || rank.metric == calm.front()->metric))
      calm.push_back(&rank);
  return calm;
}

}  // namespace

bool changes_between_counts(const ReportSeries& of) {
  constexpr double far = 0.1;  // of the last level
  const std::vector<ReportStage>& stages = of.trend.stages;
  const auto last =
      std::find_if(stages.rbegin(), stages.rend(), [](const ReportStage& s) { return s.kind == "restart"; });
  // The sessions of a monitor are on one clock: the words are about the last one, whatever was before.
  const auto by_x = [](const ReportPoint& a, const ReportPoint& b) { return a.x < b.x; };
  if (last != stages.rend() && of.x_unit == "second" && std::is_sorted(of.points.begin(), of.points.end(), by_x))
    return true;
  return std::any_of(last, stages.rend(), [&](const ReportStage& stage) {
    return stage.kind == "working" && std::abs(stage.last_value - of.last_value) > far * std::abs(of.last_value);
  });
}

std::string value_text(const ReportSeries& of, double value) {
  return of.unit == "%" ? fmt::format("{:.1f}%", value) : bytes_text(value, of.quantum);
}

std::string series_title(const Report& report, const ReportSeries& of) {
  std::string title = series_name(of);
  const auto same_name = std::count_if(report.series.begin(), report.series.end(),
                                       [&](const ReportSeries& other) { return series_name(other) == title; });
  if (of.metric == "memory" && !of.label.empty())
    title = of.label + title.substr(std::string("memory").size());
  else if (may_be_process(of) || (of.kind == "reset_maximum" && names_source_line(of.label)) ||
           (of.metric == "host_utilization" && !names_machine(of) && names_more_than_memory(of.label)) ||
           (of.metric == "host_used" && of.label.starts_with("container ")))  // not the machine's
    title += ", " + of.label;
  else if (same_name > 1 && !of.label.empty() && of.label != title)
    title = of.label.starts_with(title + ",") ? of.label : title + ", " + of.label;
  // A counter that only rises, or that the program resets, is one of peaks.
  const std::string named = lower(title);
  const bool has_no_peak_metric = of.metric == "memory" || of.metric.starts_with("host_");
  if (has_no_peak_metric && (of.kind == "running_maximum" || of.kind == "reset_maximum") &&
      named.find("peak") == named.npos && named.find("max") == named.npos && named.find(',') == named.npos)
    title = "peak " + title;
  const bool in_other_runs =
      of.run && std::any_of(report.series.begin(), report.series.end(), [&](const ReportSeries& other) {
        return other.run != of.run && other.metric == of.metric && other.label == of.label;
      });
  return in_other_runs ? title + fmt::format(" in run {}", *of.run) : title;
}

std::string range_words(const ReportSeries& of) {
  std::string first = value_text(of, of.first_value), last = value_text(of, of.last_value);
  if (of.unit != "%" && first == last && of.first_value != of.last_value) {
    first = decimal_bytes_text(whole_number(of.first_value));
    last = decimal_bytes_text(whole_number(of.last_value));
  }
  std::string text = drop_common_unit(last, first) + " → " + last;
  const bool is_free = measures_free_memory(of);
  double extreme = is_free ? of.first_value : of.max_value;
  if (is_free)
    for (const ReportPoint& point : of.points) extreme = std::min(extreme, point.y);
  const std::string beyond = value_text(of, extreme);
  if (is_free ? extreme < std::min(of.first_value, of.last_value) : extreme > std::max(of.first_value, of.last_value))
    if (beyond != first && beyond != last) text += (is_free ? ", min " : ", max ") + beyond;
  return text;
}

std::string step_range_words(const ReportSeries& of) {
  if (!of.first_step || !of.last_step) return "";
  const bool anew = std::any_of(of.points.begin(), of.points.end(),
                                [&](const ReportPoint& point) { return point.x > *of.last_step; });
  double last = *of.last_step;
  for (const ReportPoint& point : of.points) last = std::max(last, point.x);
  return fmt::format("{}s {}–{}{}", of.x_unit, step_text(*of.first_step), step_text(last),
                     anew ? ", counted anew in between" : "");
}

std::string growth_words(const ReportSeries& of) {
  const RateText rate = rate_text(of.trend.slope);
  std::string text = fmt::format("{} per {}{}", rate.rate, of.x_unit, since_words(of));
  if (!rate.interval.empty()) text += " (" + rate.interval + ")";
  return text + acceleration_words(of);
}

std::string known_rate_words(const ReportSeries& of) {
  if (!is_growth(of.trend)) return trend_words(of);
  const RateText rate = rate_text(of.trend.slope);
  std::string text = (of.trend.slope.value < 0 ? "falling" : "rising") + since_words(of);
  if (!rate.interval.empty()) text += fmt::format(" ({}{})", rate.interval, rate.rate.substr(rate.rate.rfind(' ')));
  text += acceleration_words(of);
  return text + (of.trend.release.empty() ? "" : "; " + of.trend.release);
}

std::string nearly_full_words(const Report& report, const ReportSeries& of, double time, double x) {
  const bool host = of.metric == "host_used" || of.metric == "host_utilization";
  const bool any_memory = of.metric == "host_utilization" && !names_machine(of);
  const bool limited = host && of.label.starts_with("container ");
  std::string what = limited      ? of.label
                     : any_memory ? "memory" + (names_more_than_memory(of.label) ? " (" + of.label + ")" : "")
                     : host       ? "host RAM"
                     : of.device  ? fmt::format("{} {}", device_name(of.accelerator), *of.device)
                     : of.metric == "memory" ? series_title(report, of)
                     : !of.label.empty()     ? of.label
                                             : fmt::format("the {}", device_name(of.accelerator));
  if (of.rank && of.metric != "memory") what += fmt::format(" of rank {}", *of.rank);
  const double whole = of.unit == "%" ? 100 : static_cast<double>(*of.trend.capacity_bytes);
  const std::string when = time >= first_dated_time ? time_text(time)
                           : of.x_unit == "second"  ? (x > 0 ? step_text(x) + " s after the first value" : "")
                           : of.x_unit != "value"   ? of.x_unit + " " + step_text(x)
                                                    : "";
  const std::string size = of.unit == "%" ? value_text(of, whole) : bytes_text(*of.trend.capacity_bytes);
  // Of host RAM that is not in use, a part is neither free nor available, and another is cache that is both.
  const double rest = whole - of.max_value;
  const std::string left =
      of.unit == "%" ? value_text(of, rest) : computed_bytes_text(rest, of.quantum) + " of " + size;
  // Only a full one is 100% full.
  const double full = of.max_value < whole ? std::min(99.0, std::round(100 * of.max_value / whole)) : 100;
  return fmt::format("{} was {:.0f}% full at its peak{}{}: {} {}", what, full,
                     of.metric == "reserved" ? " (reserved)" : "", when.empty() ? "" : ", " + when, left,
                     host ? "not in use" : "free");
}

std::string headroom_words(const Report& report) {
  const ReportSeries* fullest = nullptr;
  for (const ReportSeries& of : report.series)
    if (const auto share = peak_share(of); share && of.trend.capacity_bytes && is_peak_of_gpu(of))
      if (fullest == nullptr || *share > *peak_share(*fullest)) fullest = &of;
  if (fullest == nullptr) return "";
  const double capacity = static_cast<double>(*fullest->trend.capacity_bytes), peak = fullest->max_value;
  std::string text =
      fmt::format("Peak {} of {} ({}), {} free", value_text(*fullest, peak), bytes_text(*fullest->trend.capacity_bytes),
                  percent_text(peak / capacity), computed_bytes_text(capacity - peak, fullest->quantum));
  const std::string batch = find_setting(report, "batch_size");
  if (batch.empty() || report.verdict.outcome != Outcome::no_oom) return text + ".";
  // Weights and states do not grow with the batch. So the peak grows less than in proportion to it.
  const double now = std::strtod(batch.c_str(), nullptr);
  const double usable = (1 - batch_margin) * capacity - (is_of_framework(*fullest) ? beside_tensors : 0);
  const double fits = peak > 0 ? std::floor(now * usable / peak) : 0;
  if (!(now >= 1) || fits <= now) return text + ".";
  return text + fmt::format(". A batch of at least {} fits (now {}), with samples of the same size.",
                            count_text(whole_number(fits)), count_text(whole_number(now)));
}

std::string trend_words(const ReportSeries& of) {
  if (is_growth(of.trend)) return growth_words(of) + (of.trend.release.empty() ? "" : "; " + of.trend.release);
  if (of.trend.unsure)
    return fmt::format("{}; {} values are too few to distinguish growth from loading",
                       measures_free_memory(of) ? "fell" : "rose", of.n);
  // Shares and the free memory next to them are shown only.
  constexpr i64 enough = 5;  // values for a trend
  if (of.trend.why.empty() && of.trend.shape == "too_short" && of.n >= enough) return "its growth is not measured";
  if (changes_between_counts(of) && !of.trend.why.empty()) return "in the last long stretch: " + of.trend.why;
  return of.trend.why.empty() ? shape_words(of.trend.shape) : of.trend.why;
}

std::string full_words(const Report& report, const ReportSeries& of) {
  if (!of.trend.forecast || report.verdict.outcome == Outcome::oom)
    return {};  // a run that ran out of memory needs no forecast
  const ReportForecast& full = *of.trend.forecast;
  const std::string clock = clock_text(of, full.step);
  const std::string when =
      clock.empty() ? fmt::format("at {} {}", of.x_unit, step_text(std::round(full.step))) : "at " + clock;
  return measures_free_memory(of) ? "nothing left " + when
                                  : fmt::format("{} full {}", bytes_text(full.capacity_bytes), when);
}

std::string forecast_words(const Report& report, const ReportSeries& of) {
  std::string text = full_words(report, of);
  if (text.empty()) return text;
  const ReportForecast& full = *of.trend.forecast;
  const std::string expected = clock_text(of, full.step);
  // A clock time without the date that the text has already.
  const auto place = [&](double x) {
    const std::string time = clock_text(of, x);
    if (expected.empty() || time.empty()) return step_text(x);
    const auto clock = time.find(' ') + 1;
    return time.compare(0, clock, expected, 0, clock) == 0 ? time.substr(clock) : time;
  };
  text += full.step_high
              ? fmt::format(" (90%: {} to {})", place(std::floor(full.step_low)), place(std::ceil(*full.step_high)))
              : fmt::format(" (90%: not before {})", place(std::floor(full.step_low)));
  if (full.beyond_data) text += ", further ahead than the log is long";
  return text;
}

std::string only_growing_words(const Report& report, const ReportSeries& growing) {
  if (!growing.rank && !growing.device) return "";
  const auto is_like = [&](const ReportSeries& other) {
    return other.trend.shape != "too_short" && (growing.rank ? other.rank : other.device) &&
           other.metric == growing.metric && other.label == growing.label;
  };
  const auto alike = std::count_if(report.series.begin(), report.series.end(), is_like);
  const auto grow = std::count_if(report.series.begin(), report.series.end(),
                                  [&](const ReportSeries& other) { return is_like(other) && other.trend.leak; });
  if (alike < 2 || grow != 1) return "";
  const int number = growing.rank ? *growing.rank : *growing.device;
  return fmt::format("only {} {} of {}{} grows", growing.rank ? "rank" : device_name(growing.accelerator), number,
                     alike, number < alike ? "" : " in the log");
}

// Compares series of the same rank only. A growing counter next to a constant one shows the component that grows.
std::string relation_words(const Report& report, const ReportSeries& growing) {
  const auto torch = [](const ReportSeries& s) { return s.metric == "allocated" || s.metric == "reserved"; };
  const auto host = [](const ReportSeries& s) { return s.metric == "host_rss" || s.metric == "host_used"; };
  // Whose memory a value without a word for it is, is unknown.
  const auto on_gpu = [&](const ReportSeries& s) {
    return !host(s) && !measures_free_memory(s) &&
           (s.metric != "memory" || s.device || s.label.find("gpu") != std::string::npos ||
            s.label.find("GPU") != std::string::npos || s.label.find("VRAM") != std::string::npos ||
            s.label.find("vram") != std::string::npos || s.label.find("cuda") != std::string::npos);
  };
  const auto has_trend = [](const ReportSeries& s) { return s.trend.shape != "too_short"; };
  bool allocated_flat = false, torch_flat = false, gpu_flat = false;
  bool gpu_grows = false;
  for (const ReportSeries& other : report.series) {
    if (!has_trend(other)) continue;
    if (growing.rank && other.rank && growing.rank != other.rank) continue;
    allocated_flat = allocated_flat || (other.metric == "allocated" && !other.trend.leak);
    torch_flat = torch_flat || (torch(other) && !other.trend.leak);
    gpu_flat = gpu_flat || (on_gpu(other) && !other.trend.leak && other.max_value > 0);
    gpu_grows = gpu_grows || (!host(other) && other.trend.leak);
  }
  std::string words;
  if (growing.metric == "reserved" && allocated_flat)
    words = "allocated memory does not grow: PyTorch's cache fragments";
  else if ((growing.metric == "used" || growing.metric == "memory") && torch_flat)
    words = "PyTorch's own memory does not grow: another process or a library takes it";
  else if (host(growing) && gpu_flat && !gpu_grows)
    words = "GPU memory does not grow: the leak is in host RAM";
  const std::string alone = only_growing_words(report, growing);
  return words + (words.empty() || alone.empty() ? "" : "; ") + alone;
}

std::vector<const ReportRank*> sort_ranks(const Report& report) {
  std::vector<const ReportRank*> rows;
  for (const ReportRank& rank : report.ranks) rows.push_back(&rank);
  const ReportIncident* named = verdict_incident(report);
  const auto weight = [&](const ReportRank* r) {
    const bool first = named != nullptr && named->rank == r->rank;
    return (first ? 4 : 0) + (r->failed ? 2 : 0) + (r->leak ? 1 : 0);
  };
  std::stable_sort(rows.begin(), rows.end(), [&](const ReportRank* a, const ReportRank* b) {
    if (weight(a) != weight(b)) return weight(a) > weight(b);
    return a->max_value.value_or(0) > b->max_value.value_or(0);
  });
  return rows;
}

std::string other_gpus_words(const Report& report, const ReportSeries& of) {
  if (!of.device || of.metric != "used" || !of.label.empty() || of.rank) return "";
  std::vector<const ReportSeries*> others;
  for (const ReportSeries& other : report.series)
    if (&other != &of && other.metric == of.metric && other.label.empty() && other.device && !other.rank &&
        other.device != of.device && other.run == of.run)
      others.push_back(&other);
  if (others.empty()) return "";
  const auto [least, most] = std::minmax_element(
      others.begin(), others.end(), [](const auto* a, const auto* b) { return a->max_value < b->max_value; });
  const std::string low = value_text(**least, (*least)->max_value), high = value_text(**most, (*most)->max_value);
  const bool one = others.size() == 1;
  return fmt::format("{} {} at {}",
                     one ? fmt::format("GPU {}", *others.front()->device) : fmt::format("{} more GPUs", others.size()),
                     one ? "peaks" : "peak", low == high ? low : drop_common_unit(high, low) + " to " + high);
}

// A gauge is read between the steps: its maximum is not a peak.
std::string other_ranks_words(const Report& report) {
  constexpr double close = 0.02;  // of a level: less is not a change
  const std::vector<const ReportRank*> others = find_calm_ranks(report);
  if (others.empty()) return "";
  double low = *others.front()->max_value, high = low;
  bool flat = true;
  for (const ReportRank* of : others) {
    const double least = std::min(of->first_value.value_or(*of->max_value), of->last_value.value_or(*of->max_value));
    low = std::min(low, least), high = std::max(high, *of->max_value);
    flat &= *of->max_value - least <= close * *of->max_value;
  }
  const bool several_values = std::any_of(report.series.begin(), report.series.end(), [&](const ReportSeries& of) {
    return of.n > 1 && of.metric == others.front()->metric &&
           std::any_of(others.begin(), others.end(), [&](const ReportRank* rank) { return rank->rank == of.rank; });
  });
  const auto count = static_cast<std::int64_t>(others.size());
  const ReportSeries* const main = find_main_series(report);
  // Below the series of one of them, "others" would be others than this one.
  const bool shown = main != nullptr && std::any_of(others.begin(), others.end(),
                                                    [&](const ReportRank* rank) { return main->rank == rank->rank; });
  const std::string who = others.size() == report.ranks.size() ? "all " + plural(count, "rank", "ranks")
                          : shown ? plural(count, "rank that did not fail:", "ranks that did not fail:")
                                  : plural(count, "other", "others");
  const std::string top = computed_bytes_text(high), bottom = computed_bytes_text(low);
  const bool known_flat = flat && several_values;
  if (high - low <= close * high) return fmt::format("{}{} at {}", who, known_flat ? " flat" : "", top);
  const std::string from = drop_common_unit(top, bottom);
  return known_flat ? fmt::format("{} flat at {} to {}", who, from, top)
                    : fmt::format("{} between {} and {}", who, from, top);
}

std::string ranks_summary(const Report& report) {
  const auto failed =
      std::count_if(report.ranks.begin(), report.ranks.end(), [](const ReportRank& rank) { return rank.failed; });
  std::string text = plural(static_cast<std::int64_t>(report.ranks.size()), "rank", "ranks");
  if (failed > 0) text += fmt::format(", {} of them out of memory", count_text(failed));
  const std::string others = other_ranks_words(report);
  if (!others.empty() && find_calm_ranks(report).size() == report.ranks.size()) return others;
  return text + (others.empty() ? "" : "; " + others);
}

}  // namespace oomdoctor
