// Series match by metric, rank, device and label. The rest matches if only one series of a metric remains on each side,
// because a run may get another GPU.
#include "compare/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/bytes.h"
#include "compare/setting_effects.h"
#include "facts/analysis.h"
#include "report/series_choice.h"
#include "report/series_words.h"
#include "report/words.h"

namespace oomdoctor {
namespace {

bool is_host(const ReportSeries& of) { return of.metric.starts_with("host"); }

/// Half a unit of the last printed digit on each side.
double print_slack(const ReportSeries& a, const ReportSeries& b) { return (a.quantum + b.quantum) / 2; }

/// The width of the level of a settled series, in the unit of its values.
double level_width(const ReportSeries& of) { return of.steady ? of.steady->high - of.steady->low : 0; }

Change classify_change(double difference, double slack) {
  return std::fabs(difference) <= slack ? Change::same : difference > 0 ? Change::more : Change::less;
}

/// Settled levels differ if four fifths of the values of one are beyond those of the other.
Figure steady_figure(const ReportSeries& good, const ReportSeries& bad) {
  Figure figure;
  if (good.steady) figure.good = good.steady->value;
  if (bad.steady) figure.bad = bad.steady->value;
  if (!good.steady || !bad.steady) return figure;
  const double slack = print_slack(good, bad);
  figure.change = bad.steady->low - good.steady->high > slack   ? Change::more
                  : good.steady->low - bad.steady->high > slack ? Change::less
                                                                : Change::same;
  return figure;
}

/// The slope of unbounded growth; 0 for a warm-up or a sawtooth.
ReportEstimate unbounded_slope(const ReportSeries& of) { return of.trend.leak ? of.trend.slope : ReportEstimate{}; }

/// Slopes differ if their intervals do not overlap and the difference over the whole run would be visible in print.
Figure slope_figure(const ReportSeries& good, const ReportSeries& bad) {
  Figure figure;
  const ReportEstimate a = unbounded_slope(good), b = unbounded_slope(bad);
  if (good.trend.shape != "too_short") figure.good = a.value;
  if (bad.trend.shape != "too_short") figure.bad = b.value;
  if (!figure.good || !figure.bad || good.x_unit != bad.x_unit) return figure;
  const double window = bad.last_step.value_or(0) - bad.first_step.value_or(0);
  const bool visible = std::fabs(figure.difference()) * window > print_slack(good, bad);
  figure.change = !visible || (b.low <= a.high && a.low <= b.high) ? Change::same
                  : b.value > a.value                              ? Change::more
                                                                   : Change::less;
  return figure;
}

void scale(ReportSeries& series, double factor) {
  const auto scale_all = [&](auto&... values) { ((values *= factor), ...); };
  ReportTrend& trend = series.trend;
  scale_all(series.first_value, series.last_value, series.max_value, series.quantum);
  scale_all(trend.slope.value, trend.slope.low, trend.slope.high);
  scale_all(trend.acceleration.value, trend.acceleration.low, trend.acceleration.high);
  if (series.steady) scale_all(series.steady->value, series.steady->low, series.steady->high);
  for (ReportPoint& point : series.points) point.y *= factor;
}

/// If "GB" leaves open whether it is 10^9 or 2^30 bytes, each report takes the size that fits its own run. One program
/// has one meaning: the smaller one, because some value would not fit otherwise. The ratio of the print steps shows
/// which size each report took.
void unify_units(ReportSeries& good, ReportSeries& bad) {
  if (good.unit != bad.unit || good.quantum <= 0 || bad.quantum <= 0) return;
  double ratio = bad.quantum / good.quantum;
  ratio /= std::pow(10, std::round(std::log10(ratio)));  // the number of printed digits may differ
  for (const double factor : {0x1p10 / 1e3, 0x1p20 / 1e6, 0x1p30 / 1e9, 0x1p40 / 1e12}) {
    if (std::fabs(ratio / factor - 1) < 1e-6) scale(bad, 1 / factor);
    if (std::fabs(ratio * factor - 1) < 1e-6) scale(good, 1 / factor);
  }
}

SeriesComparison compare_series(ReportSeries good, ReportSeries bad) {
  unify_units(good, bad);
  SeriesComparison out{{}, good, bad, {}, steady_figure(good, bad), slope_figure(good, bad)};
  if (measures_free_memory(good)) return out;
  out.peak = {good.max_value, bad.max_value, Change::unknown};
  out.peak.change =
      classify_change(out.peak.difference(), print_slack(good, bad) + std::max(level_width(good), level_width(bad)));
  return out;
}

/// Series of both runs, and the names of those without a counterpart.
struct Pairs {
  std::vector<SeriesComparison> both;
  std::vector<std::string> only_good, only_bad;
};

// Two passes: exact matches first, then by metric alone. The second pass requires that only one series on each side
// matches, because any other choice would be a guess.
Pairs match_series(const std::vector<ReportSeries>& good, const std::vector<ReportSeries>& bad) {
  std::vector<const ReportSeries*> left, right;
  for (const auto& s : good)
    if (s.followed) left.push_back(&s);
  for (const auto& s : bad)
    if (s.followed) right.push_back(&s);
  Pairs pairs;
  const auto take = [&](auto same, bool require_unique) {
    for (auto a = left.begin(); a != left.end();) {
      const auto matches = [&](const ReportSeries* b) { return same(**a, *b); };
      const auto b = std::find_if(right.begin(), right.end(), matches);
      const auto alike = std::count_if(left.begin(), left.end(), matches);
      if (b == right.end() ||
          (require_unique && (alike > 1 || std::count_if(right.begin(), right.end(), matches) > 1))) {
        ++a;
        continue;
      }
      pairs.both.push_back(compare_series(**a, **b));
      right.erase(b);
      a = left.erase(a);
    }
  };
  const auto same_thing = [](const ReportSeries& a, const ReportSeries& b) {
    return a.metric == b.metric && (a.unit == "%") == (b.unit == "%");
  };
  take(
      [&](const auto& a, const auto& b) {
        return same_thing(a, b) && a.rank == b.rank && a.device == b.device && a.label == b.label;
      },
      false);
  take(same_thing, true);
  for (const auto* s : left) pairs.only_good.push_back(series_name(*s));
  for (const auto* s : right) pairs.only_bad.push_back(series_name(*s));
  return pairs;
}

/// A smaller number is closer to the tensors. The program's own counters say more than the GPU's usage.
int distance_from_tensors(const ReportSeries& of) {
  constexpr auto order = std::to_array<std::string_view>(
      {"allocated", "max_allocated", "active", "memory", "reserved", "max_reserved", "used"});
  return static_cast<int>(std::find(order.begin(), order.end(), of.metric) - order.begin());
}

bool is_share(const SeriesComparison& of) { return of.good.unit == "%"; }

/// Sorts by growth. But a series closer to the tensors comes first if it has at least half of the largest growth,
/// because the cache and the GPU's usage grow with the tensors.
void sort_by_growth(std::vector<SeriesComparison>& series) {
  std::stable_sort(series.begin(), series.end(), [](const SeriesComparison& a, const SeriesComparison& b) {
    return is_share(a) != is_share(b) ? is_share(b) : measure_growth(a) > measure_growth(b);
  });
  auto first = series.begin();
  for (auto it = series.begin(); it != series.end(); ++it)
    if (2 * measure_growth(*it) >= measure_growth(series.front()) && is_share(*it) == is_share(series.front()) &&
        distance_from_tensors(it->good) < distance_from_tensors(first->good))
      first = it;
  if (first != series.end()) std::rotate(series.begin(), first, first + 1);
}

std::optional<i64> find_capacity(const Report& report) {
  for (const auto& incident : report.incidents)
    if (incident.kind == "device" && incident.capacity_bytes) return incident.capacity_bytes;
  for (const auto& setting : report.settings)
    if (setting.name == "capacity") return read_capacity(setting.value);
  return std::nullopt;
}

void compare_settings(Comparison& all) {
  auto a = all.good.settings.begin(), b = all.bad.settings.begin();
  const MemoryKind place = all.grew && is_host(all.series.front().good) ? MemoryKind::host : MemoryKind::device;
  while (a != all.good.settings.end() || b != all.bad.settings.end()) {
    const bool left = b == all.bad.settings.end() || (a != all.good.settings.end() && a->name <= b->name);
    const bool right = a == all.good.settings.end() || (b != all.bad.settings.end() && b->name <= a->name);
    SettingComparison row{left ? a->name : b->name, {}, {}, Change::unknown, {}};
    if (left) row.good = *a++;
    if (right) row.bad = *b++;
    if (left && right && row.good->value == row.bad->value) {
      ++all.same_settings;
      continue;
    }
    const auto value = [](const std::optional<ReportSetting>& side) { return side ? side->value : std::string(); };
    if (const auto effect = find_setting_effect(row.name, value(row.good), value(row.bad), place)) {
      row.need = effect->direction > 0 ? Change::more : effect->direction < 0 ? Change::less : Change::same;
      row.factor = effect->factor;
    }
    all.settings.push_back(std::move(row));
  }
}

}  // namespace

std::string relative_text(const Figure& figure) {
  const double percent = 100 * (*figure.bad / *figure.good - 1);
  return fmt::format("{:+.{}f}%", percent, std::fabs(percent) < 10 ? 1 : 0);
}

std::string change_text(const SettingComparison& of) {
  const auto text = [](const std::optional<ReportSetting>& s) { return s ? s->value : std::string("(not printed)"); };
  return fmt::format("{} {} → {}", of.name, text(of.good), text(of.bad));
}

double measure_growth(const SeriesComparison& of) {
  if (of.peak.change == Change::more) return of.peak.difference();
  if (of.steady.change == (measures_free_memory(of.good) ? Change::less : Change::more))
    return std::fabs(of.steady.difference());
  // Growth that has just begun is not visible in the peak.
  return of.slope.change == Change::more && of.bad.trend.leak ? of.bad.last_value - of.bad.first_value : 0;
}

// Settings come after the series, because their effect depends on the kind of memory that grew.
Comparison compare(Report good, Report bad) {
  Comparison all;
  Pairs pairs = match_series(good.series, bad.series);
  all.series = std::move(pairs.both);
  all.only_good = std::move(pairs.only_good);
  all.only_bad = std::move(pairs.only_bad);
  for (SeriesComparison& series : all.series) series.title = series_title(good, series.good);
  sort_by_growth(all.series);
  all.grew = !all.series.empty() && measure_growth(all.series.front()) > 0;
  all.input_lengths = match_series(good.input_lengths, bad.input_lengths).both;
  all.good_capacity = find_capacity(good);
  all.bad_capacity = find_capacity(bad);
  all.good = std::move(good);
  all.bad = std::move(bad);
  compare_settings(all);
  explain(all);
  return all;
}

bool only_bad_failed(const Comparison& comparison) {
  return comparison.bad.verdict.outcome == Outcome::oom && comparison.good.verdict.outcome != Outcome::oom;
}

std::optional<GrowthLimit> read_growth_limit(std::string_view text) {
  GrowthLimit limit;
  limit.text = std::string(text);
  const auto plus = text.find('+');
  if (plus == std::string_view::npos) return std::nullopt;
  const std::string_view of = text.substr(0, plus), amount = text.substr(plus + 1);
  if (of != "peak" && of != "steady" && of != "slope") return std::nullopt;
  limit.of = of == "peak" ? GrowthLimit::Of::peak : of == "steady" ? GrowthLimit::Of::steady : GrowthLimit::Of::slope;
  const auto unit = std::min(amount.find_first_not_of("0123456789."), amount.size());
  if (amount.substr(unit) == "%") {
    const auto share = read_bytes(amount.substr(0, unit), "GiB");  // any unit will do: only the number counts
    if (!share) return std::nullopt;
    limit.share = static_cast<double>(share->count) / static_cast<double>(GiB) / 100;
    return limit;
  }
  const auto size = read_bytes(amount.substr(0, unit), amount.substr(unit));
  if (!size) return std::nullopt;
  limit.bytes = static_cast<double>(size->count);
  return limit;
}

void check_limit(Comparison& comparison, const GrowthLimit& limit) {
  CheckedLimit checked{limit.text, {}, false};
  for (std::size_t i = 0; i < comparison.series.size(); ++i) {
    const SeriesComparison& series = comparison.series[i];
    const Figure& figure = limit.of == GrowthLimit::Of::peak     ? series.peak
                           : limit.of == GrowthLimit::Of::steady ? series.steady
                                                                 : series.slope;
    if (measures_free_memory(series.good) || figure.change == Change::unknown) continue;
    if (limit.bytes > 0 && series.good.unit == "%") continue;
    checked.told = true;
    const double allowed = limit.share * std::fabs(*figure.good) + limit.bytes;
    if (figure.change == Change::more && figure.difference() > allowed) checked.beyond.push_back(i);
  }
  comparison.limits.push_back(std::move(checked));
}

}  // namespace oomdoctor
