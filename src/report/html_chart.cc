#include "report/html_chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "report/document.h"
#include "report/layout.h"
#include "report/sink.h"
#include "report/utf8.h"
#include "report/words.h"

namespace oomdoctor::html {
namespace {

// Told apart by people who do not see all colours (Okabe and Ito 2008); red is left to limits and failures.
constexpr std::array<std::string_view, Plot::colours> palette = {"#0072b2", "#e69f00", "#009e73",
                                                                 "#cc79a7", "#56b4e9", "#8c6d46"};
constexpr std::string_view red = "#c0262d", grey = "#59636e", pale = "#d8dee4";
constexpr double width = 1000, height = 340, margin_left = 52, margin_right = 14, margin_bottom = 42;
constexpr double legend_row = 20;

/// Places of values in the picture.
struct Frame {
  const Plot& plot;
  double top, bottom;

  double x(double value) const {
    return margin_left + (value - plot.left) / (plot.right - plot.left) * (width - margin_left - margin_right);
  }
  double y(double value) const { return bottom - (value - plot.bottom) / (plot.top - plot.bottom) * (bottom - top); }
};

std::string path_of(const std::vector<ReportPoint>& points, const auto& x, const auto& y) {
  Document path;
  for (std::size_t i = 0; i < points.size(); ++i)
    path.add("{}{:.1f} {:.1f}", i == 0 ? "M" : "L", x(points[i].x), y(points[i].y));
  return path.take();
}

/// Names of the lines in colour, most important first, in rows above the picture; returns how many rows they take.
int add_legend(Document& out, const Plot& plot) {
  constexpr int widest = 44;
  double at = margin_left;
  int row = 0;
  const auto entry = [&](std::string_view name, std::string_view look) {
    const std::string text = clip_end(name, widest);
    const double needed = 34 + 7.0 * columns_of(text);
    if (at + needed > width && at > margin_left) at = margin_left, ++row;
    const double y = 13 + legend_row * row;
    out.add(R"(<path d="M{:.0f} {:.0f}h18" {}/>{})", at, y - 4, look, svg_text(at + 24, y, text));
    at += needed;
  };
  for (auto line = plot.lines.rbegin(); line != plot.lines.rend(); ++line)
    if (!line->faint)
      entry(line->name,
            fmt::format(R"(class="c{}" stroke="{}" stroke-width="2.5")", line->colour, colour(line->colour)));
  const auto faint = std::count_if(plot.lines.begin(), plot.lines.end(), [](const PlotLine& l) { return l.faint; });
  if (faint > 0)
    entry(plural(faint, "other rank", "other ranks"), fmt::format(R"(stroke="{}" stroke-width="1.5")", "#9aa4b0"));
  if (!plot.curve.empty())
    entry("fit, with its 95% interval", R"(class="fit" stroke="#1b1f24" stroke-width="1.5" stroke-dasharray="5 4")");
  return row + 1;
}

void add_axes(Document& out, const Frame& at) {
  const Plot& plot = at.plot;
  const double end = width - margin_right;
  for (const double tick : plot.y_ticks)
    out.add(R"(<path class="grid" d="M{:.0f} {:.1f}H{:.0f}" stroke="{}"/>{})", margin_left, at.y(tick), end, pale,
            svg_text(margin_left - 8, at.y(tick) + 4, tick_text(tick), Anchor::end));
  for (const double tick : plot.x_ticks)
    out.add(R"(<path class="grid" d="M{:.1f} {:.1f}v5" stroke="{}"/>{})", at.x(tick), at.bottom, grey,
            svg_text(at.x(tick), at.bottom + 18, tick_text(tick), Anchor::middle));
  out.add("{}{}", svg_text(end, at.bottom + 35, plot.x_name, Anchor::end),
          svg_text(margin_left - 8, at.top - 10, plot.unit, Anchor::end));
}

void add_lines(Document& out, const Frame& at) {
  const Plot& plot = at.plot;
  const auto x = [&](double v) { return at.x(v); };
  const auto y = [&](double v) { return at.y(v); };
  if (!plot.curve.empty()) {
    std::vector<ReportPoint> around, middle;
    for (const auto& p : plot.curve) around.push_back({p.x, p.high}), middle.push_back({p.x, p.y});
    for (auto p = plot.curve.rbegin(); p != plot.curve.rend(); ++p) around.push_back({p->x, p->low});
    const int main = plot.lines.back().colour;
    out.add(R"(<path class="f{}" d="{}Z" fill="{}" fill-opacity="0.18"/>)", main, path_of(around, x, y), colour(main));
    out.add(R"(<path class="fit" d="{}" fill="none" stroke="#1b1f24" stroke-width="1.2" stroke-dasharray="5 4"/>)",
            path_of(middle, x, y));
  }
  for (const auto& line : plot.lines) {
    if (line.faint)
      out.add(R"(<path d="{}" fill="none" stroke="#9aa4b0" stroke-width="1" stroke-opacity="0.45"/>)",
              path_of(line.points, x, y));
    else
      out.add(R"(<path class="c{}" d="{}" fill="none" stroke="{}" stroke-width="2" stroke-linejoin="round"/>)",
              line.colour, path_of(line.points, x, y), colour(line.colour));
  }
}

/// Stages of the run behind everything else; named where the name has room.
void add_bands(Document& out, const Frame& at) {
  constexpr double letter = 6.5;  // px
  for (const PlotBand& band : at.plot.bands) {
    const double left = at.x(std::clamp(band.left, at.plot.left, at.plot.right));
    const double right = at.x(std::clamp(band.right, at.plot.left, at.plot.right));
    out.add(R"(<path class="band" d="M{:.1f} {:.1f}H{:.1f}V{:.1f}H{:.1f}Z" fill="#8a94a0" fill-opacity="0.12"/>)", left,
            at.top, std::max(right, left + 1), at.bottom, left);
    if (right - left > letter * static_cast<double>(band.name.size()) + 8)
      out.add("{}", svg_text((left + right) / 2, (at.top + at.bottom) / 2, band.name, Anchor::middle));
  }
}

void add_capacity(Document& out, const Frame& at) {
  const Plot& plot = at.plot;
  if (!plot.capacity) return;
  const double y = at.y(*plot.capacity);
  out.add(R"(<path class="limit" d="M{:.0f} {:.1f}H{:.0f}" stroke="{}" stroke-width="1.5"/>{})", margin_left, y,
          width - margin_right, red, svg_text(margin_left + 6, y - 6, plot.capacity_name, Anchor::start, red_text));
  if (!plot.forecast) return;
  // The interval lies on the line that it is about, with the expected step as a diamond.
  const auto inside = [&](double step) { return at.x(std::clamp(step, plot.left, plot.right)); };
  const double low = inside(plot.forecast->step_low), step = at.x(plot.forecast->step),
               high = inside(plot.forecast->step_high.value_or(plot.right));
  out.add(R"(<path class="fit" d="M{0:.1f} {2:.1f}v10M{1:.1f} {2:.1f}v10M{0:.1f} {3:.1f}H{1:.1f}" )", low, high, y - 5,
          y);
  out.add(R"(stroke="#1b1f24" stroke-width="2"/>)");
  out.add(R"(<path class="mark" d="M{:.1f} {:.1f}l5 5l-5 5l-5 -5Z" fill="#1b1f24"/>)", step, y - 5);
}

void add_marks(Document& out, const Frame& at) {
  int row = 0;
  for (const PlotMark& mark : at.plot.marks) {
    const double x = at.x(mark.x);
    const bool failure = mark.kind == PlotMark::failure, left = x > width / 2;
    out.add(R"(<path class="{}" d="M{:.1f} {:.1f}V{:.1f}" stroke="{}" stroke-width="1.5"{}/>)",
            failure ? "limit" : "mark-line", x, at.top, at.bottom, failure ? red : grey,
            failure ? "" : R"( stroke-dasharray="2 3")");
    if (mark.text.empty()) continue;
    out.add("{}", svg_text(x + (left ? -6 : 6), at.bottom - 8 - 15 * row++, mark.text,
                           left ? Anchor::end : Anchor::start, failure ? red_text : std::string_view()));
  }
}

using Json = nlohmann::ordered_json;

/// Four decimals are finer than any screen; large values have none.
double rounded(double value) { return std::fabs(value) < 1e11 ? std::round(value * 1e4) / 1e4 : value; }

Json column(const auto& items, auto field) {
  Json values = Json::array();
  for (const auto& item : items) values.push_back(rounded(item.*field));
  return values;
}

/// Where two values share an x, the greater one is kept: peaks matter.
std::vector<ReportPoint> one_for_each_x(const std::vector<ReportPoint>& points) {
  std::vector<ReportPoint> out;
  for (const ReportPoint& p : points) {
    if (!out.empty() && rounded(out.back().x) == rounded(p.x))
      out.back().y = std::max(out.back().y, p.y);
    else
      out.push_back(p);
  }
  return out;
}

Json line_data(const PlotLine& line) {
  const auto points = one_for_each_x(line.points);
  return {{"name", line.name},
          {"colour", line.colour},
          {"faint", line.faint},
          {"x", column(points, &ReportPoint::x)},
          {"y", column(points, &ReportPoint::y)}};
}

Json plot_data(const Plot& plot) {
  Json data = {{"unit", plot.unit},
               {"xName", plot.x_name},
               {"left", rounded(plot.left)},
               {"right", rounded(plot.right)},
               {"bottom", rounded(plot.bottom)},
               {"top", rounded(plot.top)}};
  data["lines"] = Json::array();
  for (const auto& line : plot.lines) data["lines"].push_back(line_data(line));
  if (!plot.curve.empty())
    data["curve"] = {{"x", column(plot.curve, &ReportCurvePoint::x)},
                     {"y", column(plot.curve, &ReportCurvePoint::y)},
                     {"low", column(plot.curve, &ReportCurvePoint::low)},
                     {"high", column(plot.curve, &ReportCurvePoint::high)}};
  for (const PlotBand& band : plot.bands)
    data["bands"].push_back({{"left", rounded(band.left)}, {"right", rounded(band.right)}, {"name", band.name}});
  if (plot.capacity) data["capacity"] = {{"value", rounded(*plot.capacity)}, {"text", plot.capacity_name}};
  if (plot.forecast)
    data["forecast"] = {{"step", rounded(plot.forecast->step)},
                        {"low", rounded(plot.forecast->step_low)},
                        {"high", rounded(plot.forecast->step_high.value_or(plot.right))}};
  data["marks"] = Json::array();
  for (const auto& mark : plot.marks)
    data["marks"].push_back({{"failure", mark.kind == PlotMark::failure}, {"x", rounded(mark.x)}, {"text", mark.text}});
  return data;
}

}  // namespace

std::string_view colour(int index) { return palette[static_cast<std::size_t>(index) % palette.size()]; }

std::string svg_text(double x, double y, std::string_view text, Anchor anchor, std::string_view look) {
  constexpr std::array<std::string_view, 3> anchors = {"", R"( text-anchor="middle")", R"( text-anchor="end")"};
  return fmt::format(R"(<text x="{:.1f}" y="{:.1f}"{}{}>{}</text>)", x, y, anchors[static_cast<std::size_t>(anchor)],
                     look, html_inline(text));
}

std::string svg_chart(const Plot& plot) {
  Document legend;
  const int rows = add_legend(legend, plot);
  const double top = 14 + legend_row * rows, bottom = height + legend_row * (rows - 1) - margin_bottom;
  const Frame at{plot, top, bottom};
  Document out;
  out.add(R"(<svg viewBox="0 0 {:.0f} {:.0f}" width="100%" role="img" {} fill="{}">)", width, bottom + margin_bottom,
          svg_font, grey);
  out.add("<title>{}</title>{}", html_inline(plot.title + " over the run"), legend.take());
  add_bands(out, at);
  add_axes(out, at);
  add_lines(out, at);
  add_capacity(out, at);
  add_marks(out, at);
  out.add("</svg>\n");
  return out.take();
}

std::string svg_spark(const std::vector<ReportPoint>& points, int line_colour) {
  constexpr double wide = 120, tall = 22;
  std::vector<ReportPoint> finite;
  for (const auto& p : points)
    if (std::isfinite(p.x) && std::isfinite(p.y)) finite.push_back({static_cast<double>(finite.size()), p.y});
  if (finite.size() < 2) return {};
  const auto [least, most] = std::minmax_element(finite.begin(), finite.end(),
                                                 [](const ReportPoint& a, const ReportPoint& b) { return a.y < b.y; });
  // Values that differ by less than a tenth of the greatest are drawn the flatter: noise must not look like growth.
  const double range = std::max({most->y - least->y, 0.1 * std::fabs(most->y), 1e-9});
  const double low = (least->y + most->y - range) / 2;
  const auto x = [&](double v) { return 1 + v / static_cast<double>(finite.size() - 1) * (wide - 2); };
  const auto y = [&](double v) { return tall - 2 - (v - low) / range * (tall - 4); };
  // A point for every other pixel is enough here.
  std::vector<ReportPoint> drawn;
  const std::size_t run = std::max<std::size_t>(1, finite.size() / 60);
  for (std::size_t i = 0; i < finite.size(); i += run)
    drawn.push_back(*std::max_element(finite.begin() + static_cast<std::ptrdiff_t>(i),
                                      finite.begin() + static_cast<std::ptrdiff_t>(std::min(finite.size(), i + run)),
                                      [](const ReportPoint& a, const ReportPoint& b) { return a.y < b.y; }));
  const std::string line = fmt::format(R"(<path class="c{}" d="{}" fill="none" stroke="{}" stroke-width="1.5"/>)",
                                       line_colour, path_of(drawn, x, y), colour(line_colour));
  return fmt::format(R"(<svg width="{:.0f}" height="{:.0f}" aria-hidden="true">{}</svg>)", wide, tall, line);
}

std::string chart_data(const std::vector<Plot>& plots) {
  Json data = Json::array();
  for (const auto& plot : plots) data.push_back(plot_data(plot));
  return data.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace oomdoctor::html
