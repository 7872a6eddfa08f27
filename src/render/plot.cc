// The eye distinguishes about six lines. If there are more series, those of the failed rank or GPU are drawn in colour,
// the same metric of other ranks below them, and only the table shows the rest. The value axis begins at zero, except
// for growth within its upper half: a leak of a few percent would be invisible there. In all other cases a cut axis
// would make noise look like a leak.
#include "render/plot.h"
#include "report/incident_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/ascii.h"
#include "base/bytes.h"
#include "render/ticks.h"
#include "report/escape.h"
#include "report/series_choice.h"
#include "report/series_words.h"
#include "report/words.h"

namespace oomdoctor {
namespace {

constexpr std::size_t max_faint = 63;  ///< with the main line, the ranks of eight machines
constexpr std::size_t max_faint_points = 80;
constexpr std::size_t max_points = 4000;  ///< 1,000 columns, each with its first, smallest, largest and last value
constexpr std::size_t max_marks = 8;
constexpr std::size_t max_bands = 200;  // 80 evaluations and the stages around them
constexpr std::size_t day_length = 10;  ///< of "2026-03-14 14:05:09"
// Times the largest value; a capacity above it would flatten the lines. Flat lines show the headroom.
constexpr double far_capacity = 4, far_capacity_of_flat = 12;
constexpr double headroom = 1.06;       ///< of the value axis above the highest drawn value
constexpr double covered_share = 0.02;  ///< share of the value axis; a fit this close to the values is hidden

using Chosen = std::vector<const ReportSeries*>;

std::string plot_title(const ReportSeries& of) {
  return of.unit == "%" ? "Share of the device's memory" : of.metric.starts_with("host") ? "Host memory" : "GPU memory";
}

bool same_origin(const ReportSeries& a, const ReportSeries& b) { return a.rank == b.rank && a.device == b.device; }

/// False if rank or GPU show that the failure was elsewhere.
bool may_belong(const ReportSeries& series, const ReportIncident* to) {
  return to == nullptr || ((!series.rank || !to->rank || series.rank == to->rank) &&
                           (!series.device || !to->device || series.device == to->device));
}

/// Falling steps (a run restarted) give no axis. Such values are drawn in their order.
bool is_ordered(const ReportSeries& of) {
  return std::is_sorted(of.points.begin(), of.points.end(),
                        [](const ReportPoint& a, const ReportPoint& b) { return a.x < b.x; });
}

/// Two values have no trend, and neither have many values at one step or time.
bool has_trend(const ReportSeries& of) {
  return of.points.size() > 2 &&
         std::any_of(of.points.begin(), of.points.end(), [&](const ReportPoint& p) { return p.x != of.points[0].x; });
}

struct PlotUnit {
  std::string name;
  double size;
};

PlotUnit choose_unit(const ReportSeries& main) {
  if (main.unit == "%") return {"%", 1};
  constexpr std::array<std::pair<const char*, double>, 3> units = {{{"GiB", 0x1p30}, {"MiB", 0x1p20}, {"KiB", 0x1p10}}};
  for (const auto& [name, size] : units)
    if (std::fabs(main.max_value) >= 0.5 * size) return {name, size};
  return {"bytes", 1};
}

/// At most `limit` points: the first, smallest, largest and last of each run of points, so that no peak is lost.
std::vector<ReportPoint> thinned(const std::vector<ReportPoint>& points, std::size_t limit) {
  const std::size_t run = (4 * points.size() + limit - 1) / limit;
  if (points.size() <= limit) return points;
  std::vector<ReportPoint> out;
  for (std::size_t i = 0; i < points.size(); i += run) {
    const auto first = points.begin() + static_cast<std::ptrdiff_t>(i),
               end = points.begin() + static_cast<std::ptrdiff_t>(std::min(points.size(), i + run));
    const auto [lowest, greatest] =
        std::minmax_element(first, end, [](const ReportPoint& a, const ReportPoint& b) { return a.y < b.y; });
    std::array<const ReportPoint*, 4> kept = {&*first, &*lowest, &*greatest, &*(end - 1)};
    std::sort(kept.begin(), kept.end());
    const auto kept_end = std::unique(kept.begin(), kept.end());
    for (auto k = kept.begin(); k != kept_end; ++k) out.push_back(**k);
  }
  return out;
}

std::vector<ReportPoint> drawn_points(const ReportSeries& of, const PlotUnit& unit, bool by_order, std::size_t limit) {
  std::vector<ReportPoint> points;
  for (const ReportPoint& p : of.points)
    if (std::isfinite(p.x) && std::isfinite(p.y))
      points.push_back({by_order ? static_cast<double>(points.size() + 1) : p.x, p.y / unit.size});
  return thinned(points, limit);
}

/// The colour of a series if it is free.
int usual_colour(const ReportSeries& of) {
  if (of.metric.ends_with("reserved")) return 1;
  return of.metric.ends_with("allocated") || of.metric == "memory" ? 0 : 2;
}

/// The value of a line at `x`, interpolated between its points; nullopt beyond its ends.
std::optional<double> value_at(const std::vector<ReportPoint>& points, double x) {
  const auto right = std::lower_bound(points.begin(), points.end(), x,
                                      [](const ReportPoint& p, double wanted) { return p.x < wanted; });
  if (right == points.end() || (right == points.begin() && right->x > x)) return std::nullopt;
  if (right == points.begin() || right->x == x) return right->y;
  const ReportPoint &a = *(right - 1), &b = *right;
  return a.y + (b.y - a.y) * (x - a.x) / (b.x - a.x);
}

/// The part before the comma: "allocated" of "allocated, rank 3"; "" without a comma.
std::string shared_part(const std::string& name) {
  const auto comma = name.find(", ");
  return comma == name.npos ? "" : name.substr(0, comma);
}

/// Assigns the usual colour, or another one if it is taken.
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
    unit_ = choose_unit(main_);
    plot_.title = plot_title(main_);
    plot_.unit = unit_.name;
    plot_.x_unit = by_order_ ? "value" : main_.x_unit;
    plot_.x_name = plot_.x_unit == "second"  ? "time (s)"
                   : plot_.x_unit == "value" ? "values in log order"
                                             : plot_.x_unit;
    if (by_order_ || main_.clock.size() < 2) return;
    plot_.clock = main_.clock;
    const std::string first = time_text(plot_.clock.front().y), last = time_text(plot_.clock.back().y);
    plot_.x_name += first.substr(0, day_length) == last.substr(0, day_length)
                        ? "; clock time on " + first.substr(0, day_length)
                        : "; clock time";
  }

  Plot plot() {
    add_lines();
    name_lines();
    add_curve();
    add_marks();
    add_request();
    fit_ranges();
    hide_covered_fit();
    add_forecast_band();
    return std::move(plot_);
  }

 private:
  // Draws at most six series in colour: all if they fit, else those of the main series' rank and GPU.
  void add_lines() {
    std::vector<const ReportSeries*> own, others;
    for (const auto* series : all_) {
      const bool in_colour = all_.size() <= Plot::colours || same_origin(*series, main_);
      if (in_colour && own.size() < Plot::colours)
        own.push_back(series);
      else if (series->metric == main_.metric && series->label == main_.label && others.size() < max_faint)
        others.push_back(series);
    }
    plot_.not_drawn = all_.size() - own.size() - others.size();
    Palette palette;
    const auto add = [&](const ReportSeries* series, int colour, bool faint) {
      plot_.lines.push_back({series->id, plain_line(series_title(report_, *series)), "", colour, faint,
                             drawn_points(*series, unit_, by_order_, faint ? max_faint_points : max_points),
                             location_text(series->first), location_text(series->last)});
    };
    for (const auto* series : own) add(series, palette.colour_for(*series), false);
    const int main_colour = plot_.lines.front().colour;
    for (const auto* series : others) add(series, main_colour, true);
    std::reverse(plot_.lines.begin(), plot_.lines.end());
  }

  /// The common beginning of all names labels the axis, and the rest of each name its line.
  void name_lines() {
    const std::string shared = shared_part(plot_.lines.back().name);
    const bool alike = !shared.empty() && std::all_of(plot_.lines.begin(), plot_.lines.end(),
                                                      [&](const PlotLine& l) { return shared_part(l.name) == shared; });
    for (PlotLine& line : plot_.lines)
      if (!line.faint) line.label = alike ? line.name.substr(shared.size() + 2) : line.name;
    plot_.y_name = fmt::format("{} ({})", alike ? capitalised(shared) : plot_.title, unit_.name);
  }

  void add_curve() {
    if (by_order_ || (!is_growth(main_.trend) && main_.trend.shape != "saturating")) return;
    // A run that ran out of memory needs no forecast.
    const double end = is_dead() ? plot_.lines.back().points.back().x : HUGE_VAL;
    for (const auto& p : main_.trend.curve)
      if (p.x <= end) curve_.push_back({p.x, p.y / unit_.size, p.low / unit_.size, p.high / unit_.size});
  }

  bool is_dead() const { return report_.verdict.outcome == Outcome::oom; }

  /// For example "line 32", or with the file if there are several.
  std::string location_text(const Location& at) const {
    return at.line > 0 ? plain_line(short_locations(report_, {at}, 1)) : std::string();
  }

  /// One mark of each kind has a text: that of the verdict's failure, else the first one.
  void add_mark(PlotMark mark, bool has_text) {
    if (!has_text) mark.text.clear();
    plot_.marks.push_back(std::move(mark));
  }

  void add_bands() {
    const auto& stages = main_.trend.stages;
    std::size_t run = stages.size();  // only the last run, because earlier runs count their own steps
    while (run > 0 && stages[run - 1].kind != "restart") --run;
    for (std::size_t i = run; i < stages.size() && plot_.bands.size() < max_bands; ++i) {
      if (stages[i].kind == "working") continue;
      const double right = i + 1 < stages.size() ? stages[i + 1].first_step : stages[i].last_step;
      plot_.bands.push_back({stages[i].first_step, std::max(right, stages[i].last_step), stages[i].kind});
    }
  }

  void add_marks() {
    if (by_order_) return;
    add_bands();
    const auto at = [&](double x) { return fmt::format("{} {}", plot_.x_unit, tick_text(x)); };
    if (main_.trend.onset_step)
      add_mark({PlotMark::onset, *main_.trend.onset_step, "grows from " + at(*main_.trend.onset_step), ""}, true);
    else if (main_.trend.shape == "step")
      for (const double x : main_.trend.change_points)
        if (plot_.marks.size() < max_marks)
          add_mark({PlotMark::change, x, "new level, " + at(x), ""}, x == main_.trend.change_points.front());
    if (main_.x_unit == "step") add_failures();
  }

  void add_failures() {
    const ReportIncident* named = verdict_incident(report_);
    if (named != nullptr && (!named->step || !may_belong(main_, named))) named = nullptr;
    for (const auto& incident : report_.incidents) {
      if (incident.follows || !incident.step || plot_.marks.size() >= max_marks || !may_belong(main_, &incident))
        continue;
      if (named == nullptr) named = &incident;
      add_mark({PlotMark::failure, static_cast<double>(incident.run_step.value_or(*incident.step)),
                fmt::format("{}, step {}", incident.handled ? "OOM caught" : "OOM", *incident.step),
                location_text(incident.location)},
               &incident == named);
    }
  }

  /// Whether the failure is about the kind of memory in this plot.
  bool same_memory(const ReportIncident& incident) const {
    return main_.unit != "%" && (incident.kind != "device") == main_.metric.starts_with("host");
  }

  /// The request is drawn on top of the last value before the failure. A survived failure without a step has no
  /// position among the values.
  void add_request() {
    const ReportIncident* incident = verdict_incident(report_);
    if (incident == nullptr || by_order_ || !incident->requested_bytes || !same_memory(*incident)) return;
    if (measures_free_memory(main_) || !may_belong(main_, incident) || (incident->handled && !incident->step)) return;
    const auto& points = plot_.lines.back().points;
    double x = points.back().x;
    if (main_.x_unit == "step" && incident->step) x = static_cast<double>(incident->run_step.value_or(*incident->step));
    const auto after = std::find_if(points.begin(), points.end(), [&](const ReportPoint& p) { return p.x > x; });
    const double from = (after == points.begin() ? after : after - 1)->y;
    const double size = static_cast<double>(*incident->requested_bytes) / unit_.size;
    plot_.request = PlotRequest{x, from, from + size, "+" + bytes_text(*incident->requested_bytes)};
  }

  /// The capacity that the input prints for the lines; nullopt if they are of GPUs of different sizes.
  std::optional<std::int64_t> common_capacity() const {
    std::optional<std::int64_t> size;
    for (const PlotLine& line : plot_.lines) {
      const auto of = std::find_if(all_.begin(), all_.end(), [&](const auto* s) { return s->id == line.series; });
      const std::optional<std::int64_t>& own = (*of)->trend.capacity_bytes;
      if (!own || *own <= 0) continue;
      if (size && *size != *own) return std::nullopt;
      size = own;
    }
    return size;
  }

  /// The capacity of the forecast, else the limit or the capacity of the failure, else that of the lines.
  void find_capacity(double greatest) {
    const ReportIncident* incident = verdict_incident(report_);
    std::optional<std::int64_t> size;
    bool limit = false;
    if (main_.trend.forecast && main_.trend.forecast->capacity_bytes > 0) size = main_.trend.forecast->capacity_bytes;
    if (!size && incident != nullptr && same_memory(*incident)) {
      limit = incident->limit_bytes.has_value();
      size = limit ? incident->limit_bytes : incident->capacity_bytes;
    }
    if (!size && main_.unit != "%") size = common_capacity();
    if (main_.unit == "%") plot_.capacity = 100;
    if (size && *size > 0) plot_.capacity = static_cast<double>(*size) / unit_.size;
    if (!plot_.capacity) return;
    const bool grows = is_growth(main_.trend) || plot_.request;
    plot_.capacity_above = *plot_.capacity > (grows ? far_capacity : far_capacity_of_flat) * greatest;
    plot_.capacity_size = size ? bytes_text(*size) : "100%";
    plot_.capacity_word = limit ? "limit" : "capacity";
  }

  // The value axis starts at zero, unless growth stays in the upper half. A minimum height keeps a constant series
  // visible.
  void fit_ranges() {
    double lowest = HUGE_VAL, greatest = -HUGE_VAL;
    plot_.left = HUGE_VAL, plot_.right = -HUGE_VAL;
    for (const auto& line : plot_.lines)
      for (const ReportPoint& p : line.points) {
        lowest = std::min(lowest, p.y), greatest = std::max(greatest, p.y);
        plot_.left = std::min(plot_.left, p.x), plot_.right = std::max(plot_.right, p.x);
      }
    find_capacity(greatest);
    fit_steps();
    double highest = plot_.capacity && !plot_.capacity_above ? std::max(greatest, *plot_.capacity) : greatest;
    if (plot_.request) {
      // A request of many times the GPU's size would flatten the lines. Its bar ends above everything else, and its
      // text has the size.
      plot_.request->to = std::min(plot_.request->to, 1.2 * highest);
      highest = std::max(highest, plot_.request->to);
    }
    plot_.top = highest * (greatest > 0 ? headroom : 2 - headroom);
    plot_.bottom = is_growth(main_.trend) && lowest > plot_.top / 2 ? lowest - 0.15 * (plot_.top - lowest)
                                                                    : std::min(0.0, lowest * 1.05);
    if (plot_.top - plot_.bottom < 0.02 * std::fabs(plot_.top) || plot_.top <= plot_.bottom)
      plot_.bottom = plot_.top - std::max(0.1 * std::fabs(plot_.top), 1e-3);
    plot_.x_ticks = ticks(plot_.left, plot_.right, 8, main_.x_unit == "second" ? 0 : 1);
    plot_.y_ticks = ticks(plot_.bottom, plot_.top, 6, 0);
    if (!plot_.capacity || main_.unit == "%") return;
    const double percent = *plot_.capacity / 100;
    plot_.share_ticks = ticks(plot_.bottom / percent, std::min(plot_.top / percent, 100.0), 5, 0);
  }

  /// Extends the range to a failure or a forecast shortly after the last value. Those far away are only in the text.
  void fit_steps() {
    const double window = std::max(plot_.right - plot_.left, 1e-9), furthest = plot_.right + window;
    for (const auto& mark : plot_.marks)
      if (mark.x <= plot_.right + window / 2) plot_.right = std::max(plot_.right, mark.x);
    const auto outside = [&](double x) { return x > plot_.right || x < plot_.left; };
    std::erase_if(plot_.marks, [&](const PlotMark& m) { return outside(m.x); });
    if (plot_.request && outside(plot_.request->x)) plot_.request.reset();
    const auto& forecast = main_.trend.forecast;
    if (forecast && !is_dead() && plot_.capacity && !plot_.capacity_above && !by_order_ && forecast->step <= furthest &&
        forecast->step >= plot_.left) {
      plot_.forecast = forecast;
      plot_.right = std::max(plot_.right, std::min(forecast->step_high.value_or(forecast->step), furthest));
    }
    if (!curve_.empty()) plot_.right = std::max(plot_.right, std::min(curve_.back().x, furthest));
    plot_.right += 0.02 * window;
  }

  void add_forecast_band() {
    const double end = plot_.lines.back().points.back().x;
    if (!plot_.fit.empty() && plot_.fit.back().back().x > end) plot_.bands.push_back({end, plot_.right, "forecast"});
  }

  void hide_covered_fit() {
    const auto& values = plot_.lines.back().points;
    const double close = covered_share * (plot_.top - plot_.bottom);
    bool open = false;
    for (std::size_t i = 0; i < curve_.size(); ++i) {
      const auto value = value_at(values, curve_[i].x);
      const bool hidden = value && std::fabs(*value - curve_[i].y) < close;
      if (!hidden && !open) {
        plot_.fit.emplace_back();
        if (i > 0) plot_.fit.back().push_back(curve_[i - 1]);  // so that there is no gap to the values
      }
      if (!hidden) plot_.fit.back().push_back(curve_[i]);
      open = !hidden;
    }
    std::erase_if(plot_.fit, [](const auto& piece) { return piece.size() < 2; });
  }

  const Report& report_;
  const Chosen& all_;
  const ReportSeries& main_;
  bool by_order_ = false;
  PlotUnit unit_;
  std::vector<ReportCurvePoint> curve_;
  Plot plot_;
};

}  // namespace

int find_colour(const std::vector<Plot>& plots, const ReportSeries& of) {
  for (const Plot& plot : plots)
    for (const PlotLine& line : plot.lines)
      if (line.series == of.id) return line.colour;
  return usual_colour(of);
}

std::string clock_text(const Plot& plot, double x) {
  constexpr double short_span = 600, day = 86400;  // seconds
  const auto& clock = plot.clock;
  const auto next = std::find_if(clock.begin(), clock.end(), [&](const ReportPoint& p) { return p.x >= x; });
  if (next == clock.end() || (next == clock.begin() && next->x > x)) return "";
  const auto before = next == clock.begin() ? next : std::prev(next);
  const double share = next->x > before->x ? (x - before->x) / (next->x - before->x) : 0;
  const std::string text = time_text(before->y + share * (next->y - before->y));  // "2026-03-14 14:05:09"
  const double span = clock.back().y - clock.front().y;
  constexpr std::size_t seconds = 3, year = 5;
  if (span < short_span) return text.substr(day_length + 1);
  const std::string minutes = text.substr(0, text.size() - seconds);
  return minutes.substr(span < day ? day_length + 1 : year);
}

// One plot per kind of memory and unit of x. Series that may belong to the failure come first.
std::vector<Plot> make_plots(const Report& report) {
  const ReportIncident* incident = verdict_incident(report);
  std::vector<const ReportSeries*> order = sort_series(report);
  std::stable_partition(order.begin(), order.end(), [&](const auto* s) { return may_belong(*s, incident); });
  std::vector<Chosen> groups;
  for (const auto* series : order) {
    if (!has_trend(*series)) continue;
    const auto like = [&](const Chosen& group) {
      return plot_title(*group.front()) == plot_title(*series) && group.front()->x_unit == series->x_unit;
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
