// Six lines are what an eye tells apart: of more series, those of the place that failed are drawn in colour, the same
// metric of other ranks behind them, and the rest is left to the table. The value axis begins at zero, but for growth
// within its upper half: there a leak of a few per cent would not show, and else noise would look like one.
#include "report/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/bytes.h"
#include "report/series_words.h"
#include "report/sink.h"
#include "report/words.h"

namespace oomdoctor {
namespace {

constexpr std::size_t most_faint = 63;  ///< with the main one, the ranks of eight machines
constexpr std::size_t most_faint_points = 80;
constexpr std::size_t most_points = 4000;  ///< 1,000 columns, each with its first, least, greatest and last value
constexpr std::size_t most_marks = 8;
constexpr std::size_t most_bands = 200;  // of 80 evaluations and what lies about them
constexpr double far_capacity = 2.5;     ///< times the largest value: further up it would press the lines flat

using Chosen = std::vector<const ReportSeries*>;

const ReportIncident* named_incident(const Report& report) {
  for (const auto& incident : report.incidents)
    if (report.verdict.incident == incident.id) return &incident;
  return nullptr;
}

std::string kind_of(const ReportSeries& of) {
  return of.unit == "%" ? "Share of the device's memory" : of.metric.starts_with("host") ? "Host memory" : "GPU memory";
}

bool same_place(const ReportSeries& a, const ReportSeries& b) { return a.rank == b.rank && a.device == b.device; }

/// Does nothing that is known say that the failure struck elsewhere?
bool may_belong(const ReportSeries& series, const ReportIncident* to) {
  return to == nullptr || ((!series.rank || !to->rank || series.rank == to->rank) &&
                           (!series.device || !to->device || series.device == to->device));
}

/// Steps that fall (a run began anew) make no axis: the values are then drawn in their order.
bool is_ordered(const ReportSeries& of) {
  return std::is_sorted(of.points.begin(), of.points.end(),
                        [](const ReportPoint& a, const ReportPoint& b) { return a.x < b.x; });
}

/// Two values are no course, nor are many at one step or moment.
bool has_course(const ReportSeries& of) {
  return of.points.size() > 2 &&
         std::any_of(of.points.begin(), of.points.end(), [&](const ReportPoint& p) { return p.x != of.points[0].x; });
}

struct Unit {
  std::string name;
  double size;
};

Unit unit_of(const ReportSeries& main) {
  if (main.unit == "%") return {"%", 1};
  constexpr std::array<std::pair<const char*, double>, 3> units = {{{"GiB", 0x1p30}, {"MiB", 0x1p20}, {"KiB", 0x1p10}}};
  for (const auto& [name, size] : units)
    if (std::fabs(main.max_value) >= 0.5 * size) return {name, size};
  return {"bytes", 1};
}

/// At most `most` points, the first, least, greatest and last of each run of them: no peak is lost.
std::vector<ReportPoint> thinned(const std::vector<ReportPoint>& points, std::size_t most) {
  const std::size_t run = (4 * points.size() + most - 1) / most;
  if (points.size() <= most) return points;
  std::vector<ReportPoint> out;
  for (std::size_t i = 0; i < points.size(); i += run) {
    const auto first = points.begin() + static_cast<std::ptrdiff_t>(i),
               end = points.begin() + static_cast<std::ptrdiff_t>(std::min(points.size(), i + run));
    const auto [least, greatest] =
        std::minmax_element(first, end, [](const ReportPoint& a, const ReportPoint& b) { return a.y < b.y; });
    std::array<const ReportPoint*, 4> kept = {&*first, &*least, &*greatest, &*(end - 1)};
    std::sort(kept.begin(), kept.end());
    const auto kept_end = std::unique(kept.begin(), kept.end());
    for (auto k = kept.begin(); k != kept_end; ++k) out.push_back(**k);
  }
  return out;
}

std::vector<ReportPoint> drawn_points(const ReportSeries& of, const Unit& unit, bool by_order, std::size_t most) {
  std::vector<ReportPoint> points;
  for (const ReportPoint& p : of.points)
    if (std::isfinite(p.x) && std::isfinite(p.y))
      points.push_back({by_order ? static_cast<double>(points.size() + 1) : p.x, p.y / unit.size});
  return thinned(points, most);
}

/// 1, 2 or 5 times a power of ten, so that about `count` of them make up the range.
double tick_step(double range, int count) {
  const double raw = range / count, power = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= raw * 0.999) return factor * power;
  return 10 * power;
}

std::vector<double> ticks(double from, double to, int count, double least_step) {
  const double step = std::max(tick_step(to - from, count), least_step);
  std::vector<double> out;
  const double first = std::ceil(from / step - 1e-9);
  // Of steps beyond what a double counts, one more is none: then there is no next tick.
  for (double k = 0; k <= 2 * count && (first + k) * step <= to + 1e-9 * step; ++k)
    if (out.empty() || (first + k) * step > out.back()) out.push_back((first + k) * step);
  return out;
}

/// Where the usual colour is taken, another one is.
class Palette {
 public:
  int colour_for(const ReportSeries& of) {
    const int wished = usual_colour(of);
    for (const int colour : {wished, 2, 3, 4, 5, 1, 0})
      if (!taken_[static_cast<std::size_t>(colour)]) {
        taken_[static_cast<std::size_t>(colour)] = true;
        return colour;
      }
    return wished;
  }

 private:
  std::array<bool, Plot::colours> taken_{};
};

class Drawing {
 public:
  Drawing(const Report& report, const Chosen& all) : report_(report), all_(all), main_(*all.front()) {
    by_order_ = !std::all_of(all.begin(), all.end(), [](const auto* s) { return is_ordered(*s); });
    unit_ = unit_of(main_);
    plot_.title = kind_of(main_);
    plot_.unit = unit_.name;
    plot_.x_name = by_order_ ? "values in the order of the log" : main_.x_unit;
  }

  Plot plot() {
    add_lines();
    add_curve();
    add_marks();
    fit_ranges();
    return std::move(plot_);
  }

 private:
  void add_lines() {
    std::vector<const ReportSeries*> own, others;
    for (const auto* series : all_) {
      const bool in_colour = all_.size() <= Plot::colours || same_place(*series, main_);
      if (in_colour && own.size() < Plot::colours)
        own.push_back(series);
      else if (series->metric == main_.metric && series->label == main_.label && others.size() < most_faint)
        others.push_back(series);
    }
    plot_.not_drawn = all_.size() - own.size() - others.size();
    Palette palette;
    const auto add = [&](const ReportSeries* series, int colour, bool faint) {
      plot_.lines.push_back({plain_line(series_title(report_, *series)), colour, faint,
                             drawn_points(*series, unit_, by_order_, faint ? most_faint_points : most_points)});
    };
    for (const auto* series : own) add(series, palette.colour_for(*series), false);
    const int main_colour = plot_.lines.front().colour;
    for (const auto* series : others) add(series, main_colour, true);
    std::reverse(plot_.lines.begin(), plot_.lines.end());
  }

  void add_curve() {
    if (by_order_ || (!is_growth(main_.trend) && main_.trend.shape != "saturating")) return;
    for (const auto& p : main_.trend.curve)
      plot_.curve.push_back({p.x, p.y / unit_.size, p.low / unit_.size, p.high / unit_.size});
  }

  /// Of marks that say the same, the first one does.
  void add_mark(PlotMark::Kind kind, double x, const std::string& what) {
    const bool said = kind == PlotMark::change && !plot_.marks.empty();
    plot_.marks.push_back({kind, x, said ? "" : fmt::format("{} {}: {}", plot_.x_name, tick_text(x), what)});
  }

  void add_bands() {
    const auto& stages = main_.trend.stages;
    std::size_t run = stages.size();  // the last one: those before it count their own steps
    while (run > 0 && stages[run - 1].kind != "restart") --run;
    for (std::size_t i = run; i < stages.size() && plot_.bands.size() < most_bands; ++i) {
      if (stages[i].kind == "working") continue;
      const double right = i + 1 < stages.size() ? stages[i + 1].first_step : stages[i].last_step;
      plot_.bands.push_back({stages[i].first_step, std::max(right, stages[i].last_step), stages[i].kind});
    }
  }

  void add_marks() {
    if (by_order_) return;
    add_bands();
    if (main_.trend.onset_step)
      add_mark(PlotMark::onset, *main_.trend.onset_step, "grows from here");
    else if (main_.trend.shape == "step")
      for (const double at : main_.trend.change_points)
        if (plot_.marks.size() < most_marks) add_mark(PlotMark::change, at, "level changes");
    if (main_.x_unit != "step") return;
    for (const auto& incident : report_.incidents) {
      if (incident.follows || !incident.step || plot_.marks.size() >= most_marks) continue;
      if (!may_belong(main_, &incident)) continue;
      std::string text = incident.handled ? "out of memory, went on" : "out of memory";
      if (!incident.phase.empty()) text += ", " + phase_words(incident.phase);
      add_mark(PlotMark::failure, static_cast<double>(*incident.step), text);
    }
  }

  /// The device's size where the log tells it, else the limit that growth runs into.
  void find_capacity(double greatest) {
    const ReportIncident* incident = named_incident(report_);
    std::optional<std::int64_t> size;
    if (main_.trend.forecast && main_.trend.forecast->capacity_bytes > 0) size = main_.trend.forecast->capacity_bytes;
    const bool host = main_.metric.starts_with("host");
    if (!size && incident != nullptr && (incident->kind != "device") == host && main_.unit != "%")
      size = incident->limit_bytes ? incident->limit_bytes : incident->capacity_bytes;
    if (main_.unit == "%") plot_.capacity = 100;
    if (size) plot_.capacity = static_cast<double>(*size) / unit_.size;
    if (plot_.capacity && *plot_.capacity > far_capacity * greatest) plot_.capacity.reset();
    if (plot_.capacity) plot_.capacity_name = (size ? bytes_text(*size) : "100%") + ": full";
  }

  void fit_ranges() {
    double least = HUGE_VAL, greatest = -HUGE_VAL;
    plot_.left = HUGE_VAL, plot_.right = -HUGE_VAL;
    for (const auto& line : plot_.lines)
      for (const ReportPoint& p : line.points) {
        least = std::min(least, p.y), greatest = std::max(greatest, p.y);
        plot_.left = std::min(plot_.left, p.x), plot_.right = std::max(plot_.right, p.x);
      }
    find_capacity(greatest);
    const double window = std::max(plot_.right - plot_.left, 1e-9);
    // A failure or a forecast a little behind the last value belongs to the picture; one far away is in the words.
    const double furthest = plot_.right + window;
    for (const auto& mark : plot_.marks)
      if (mark.x <= plot_.right + window / 2) plot_.right = std::max(plot_.right, mark.x);
    std::erase_if(plot_.marks, [&](const PlotMark& m) { return m.x > plot_.right || m.x < plot_.left; });
    const auto& forecast = main_.trend.forecast;
    if (forecast && plot_.capacity && !by_order_ && forecast->step <= furthest && forecast->step >= plot_.left) {
      plot_.forecast = forecast;
      plot_.right = std::max(plot_.right, std::min(forecast->step_high.value_or(forecast->step), furthest));
    }
    if (!plot_.curve.empty()) plot_.right = std::max(plot_.right, std::min(plot_.curve.back().x, furthest));
    plot_.right += 0.02 * window;
    plot_.top = std::max(greatest, plot_.capacity.value_or(greatest)) * (greatest > 0 ? 1.06 : 0.94);
    plot_.bottom = is_growth(main_.trend) && least > plot_.top / 2 ? least - 0.15 * (plot_.top - least)
                                                                   : std::min(0.0, least * 1.05);
    if (plot_.top - plot_.bottom < 0.02 * std::fabs(plot_.top) || plot_.top <= plot_.bottom)
      plot_.bottom = plot_.top - std::max(0.1 * std::fabs(plot_.top), 1e-3);
    plot_.x_ticks = ticks(plot_.left, plot_.right, 8, main_.x_unit == "second" ? 0 : 1);
    plot_.y_ticks = ticks(plot_.bottom, plot_.top, 6, 0);
  }

  const Report& report_;
  const Chosen& all_;
  const ReportSeries& main_;
  bool by_order_ = false;
  Unit unit_;
  Plot plot_;
};

}  // namespace

int usual_colour(const ReportSeries& of) {
  if (of.metric.ends_with("reserved")) return 1;
  return of.metric.ends_with("allocated") || of.metric == "memory" ? 0 : 2;
}

std::string tick_text(double value) { return fmt::format("{:.10g}", std::fabs(value) < 1e-9 ? 0 : value); }

std::vector<Plot> plots_of(const Report& report) {
  const ReportIncident* incident = named_incident(report);
  std::vector<const ReportSeries*> order = by_weight(report);
  std::stable_partition(order.begin(), order.end(), [&](const auto* s) { return may_belong(*s, incident); });
  std::vector<Chosen> groups;
  for (const auto* series : order) {
    if (!has_course(*series)) continue;
    const auto like = [&](const Chosen& group) {
      return kind_of(*group.front()) == kind_of(*series) && group.front()->x_unit == series->x_unit;
    };
    const auto group = std::find_if(groups.begin(), groups.end(), like);
    if (group == groups.end())
      groups.push_back({series});
    else
      group->push_back(series);
  }
  std::vector<Plot> plots;
  for (const Chosen& group : groups) plots.push_back(Drawing(report, group).plot());
  return plots;
}

}  // namespace oomdoctor
