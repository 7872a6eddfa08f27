#include "render/html_chart.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "render/chart.h"
#include "render/document.h"
#include "render/layout.h"
#include "render/ticks.h"
#include "report/escape.h"
#include "report/utf8.h"
#include "report/words.h"

namespace oomdoctor::html {
namespace {

// The hues that people with colour vision deficiency can distinguish (Okabe and Ito 2008), with a contrast of 3:1 on
// white. Red is reserved for limits and failures.
constexpr std::array<std::string_view, Plot::colours> palette = {"#0072b2", "#bf7a00", "#009068",
                                                                 "#c0609a", "#2f8fc9", "#8c6d46"};
// The same hues, dark enough for text on white.
constexpr std::array<std::string_view, Plot::colours> text_palette = {"#005f95", "#8a5a00", "#00694d",
                                                                      "#9a3b70", "#1a6a99", "#6e5433"};
constexpr std::string_view ink = "#1b1f24", faint_grey = "#7c8692";

// In px of the static picture. page.js reads the margins and the heights of labels from data-… attributes.
constexpr double width = 760, height = 460, min_margin = 46, margin_top = 36, margin_bottom = 44;
constexpr double clock_row = 16;  ///< more below the chart where ticks have a second row, the clock
constexpr double line_height = 14, label_gap = 4, column_width = 6.9;
constexpr int max_label = 14;       ///< columns
constexpr double share_width = 36;  ///< of "100%", the ticks of the second axis, between the area and the labels

std::string_view text_colour(int index) { return text_palette[static_cast<std::size_t>(index) % palette.size()]; }

/// A text in the right margin, next to the value that it names; two lines if `second` is not empty.
struct EndLabel {
  double value = 0;  ///< position on the value axis
  std::string first, second;
  std::string look;  ///< class and fill attributes
  int line = -1;     ///< index of the plot's coloured line that it names; -1 for none

  double height() const { return label_gap + (second.empty() ? line_height : 2 * line_height); }
};

double share_column(const Plot& plot) { return plot.share_ticks.empty() ? 0 : share_width; }

double bottom_margin(const Plot& plot) { return margin_bottom + (plot.clock.empty() ? 0 : clock_row); }

/// Maps values to positions in the picture.
struct ChartFrame {
  const Plot& plot;
  double left, right;
  double bottom = height - bottom_margin(plot);
  static constexpr double top = margin_top;

  double x(double value) const { return left + (value - plot.left) / (plot.right - plot.left) * (right - left); }
  double y(double value) const { return bottom - (value - plot.bottom) / (plot.top - plot.bottom) * (bottom - top); }
};

std::string look(std::string_view class_name, std::string_view fill) {
  return fmt::format(R"(class="{}" fill="{}")", class_name, fill);
}

/// Paths in units of the values. SVG viewers keep seven digits of a coordinate.
class AreaPath {
 public:
  explicit AreaPath(const Plot& plot) : plot_(plot) {}
  double x(double value) const { return value - plot_.left; }
  std::string operator()(const std::vector<ReportPoint>& points) const {
    Document path;
    const double longest = longest_wait(points);
    for (std::size_t i = 0; i < points.size(); ++i)
      path.add("{}{:.7g} {:.7g}", i == 0 || points[i].x - points[i - 1].x > longest ? "M" : "L", x(points[i].x),
               points[i].y);
    return path.take();
  }

 private:
  const Plot& plot_;
};

/// Splits a long text into two lines, at its comma, or else where the first line is full.
EndLabel wrapped(double value, const std::string& text, std::string look, int line) {
  if (count_columns(text) <= max_label) return {value, text, "", std::move(look), line};
  const auto comma = text.find(", ");
  const std::string first =
      comma == text.npos || comma >= max_label ? wrap("", text, max_label, 0).front() : text.substr(0, comma);
  const auto rest = text.find_first_not_of(", ", first.size());
  return {value, first, rest == text.npos ? "" : clip_end(text.substr(rest), max_label), std::move(look), line};
}

double median_end(const std::vector<const PlotLine*>& lines) {
  std::vector<double> ends;
  for (const PlotLine* line : lines) ends.push_back(line->points.back().y);
  const auto middle = ends.begin() + static_cast<std::ptrdiff_t>(ends.size() / 2);
  std::nth_element(ends.begin(), middle, ends.end());
  return *middle;
}

std::vector<EndLabel> end_labels(const Plot& plot) {
  std::vector<EndLabel> labels;
  if (plot.capacity)
    labels.push_back({plot.capacity_above ? plot.top : *plot.capacity,
                      plot.capacity_size + (plot.capacity_above ? " ↑" : ""), plot.capacity_word, look("limit", red)});
  if (plot.request)
    labels.push_back(
        {(plot.request->from + plot.request->to) / 2, plot.request->size, "requested", look("limit", red)});
  std::vector<const PlotLine*> faint;
  int coloured = 0;
  for (const PlotLine& line : plot.lines) {
    if (line.faint)
      faint.push_back(&line);
    else
      labels.push_back(wrapped(line.points.back().y, line.label,
                               look(fmt::format("t{}", line.colour), text_colour(line.colour)), coloured++));
  }
  if (!faint.empty())
    labels.push_back(wrapped(median_end(faint),
                             plural(static_cast<std::int64_t>(faint.size()), "other rank", "other ranks"),
                             look("quiet", grey), -1));
  // A fit beyond the values needs no label, because the band there is called forecast.
  if (!plot.fit.empty() && plot.fit.back().back().x <= plot.lines.back().points.back().x)
    labels.push_back({plot.fit.back().back().y, "fit", "", look("ink", ink), -1});
  return labels;
}

/// Moves overlapping labels apart, as little as needed: first downwards from the top, then upwards from the lower end.
std::vector<double> spread_labels(const std::vector<EndLabel>& labels, std::vector<double> positions, double end) {
  std::vector<std::size_t> order(labels.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return positions[a] < positions[b]; });
  const auto gap = [&](std::size_t i) { return (labels[order[i]].height() + labels[order[i - 1]].height()) / 2; };
  for (std::size_t i = 1; i < order.size(); ++i)
    positions[order[i]] = std::max(positions[order[i]], positions[order[i - 1]] + gap(i));
  if (!order.empty())
    positions[order.back()] = std::min(positions[order.back()], end - labels[order.back()].height() / 2);
  for (std::size_t i = order.size(); i-- > 1;)
    positions[order[i - 1]] = std::min(positions[order[i - 1]], positions[order[i]] - gap(i));
  return positions;
}

/// One text element; `more` has further attributes.
enum class Anchor { start, middle, end };
std::string svg_text(double x, double y, std::string_view text, Anchor anchor, std::string_view more = {}) {
  constexpr std::array<std::string_view, 3> anchors = {"", R"( text-anchor="middle")", R"( text-anchor="end")"};
  return fmt::format(R"(<text x="{:.1f}" y="{:.1f}"{}{}{}>{}</text>)", x, y, anchors[static_cast<std::size_t>(anchor)],
                     more.empty() ? "" : " ", more, html_inline(text));
}

/// page.js rewrites these ticks when the window changes, in the same form.
void add_ticks(Document& out, const ChartFrame& at) {
  out.add(R"(<g class="ticks">)");
  for (const double tick : at.plot.y_ticks)
    out.add(R"(<path class="grid" d="M{:.1f} {:.1f}H{:.1f}" stroke="{}"/>{})", at.left, at.y(tick), at.right, pale,
            svg_text(at.left - 8, at.y(tick) + 4, tick_text(tick), Anchor::end));
  for (const double share : at.plot.share_ticks)
    out.add("{}", svg_text(at.right + label_gap, at.y(share / 100 * *at.plot.capacity) + 4, tick_text(share) + "%",
                           Anchor::start));
  for (const double tick : at.plot.x_ticks) {
    out.add(R"(<path class="grid" d="M{:.1f} {:.1f}v5" stroke="{}"/>{})", at.x(tick), at.bottom, pale,
            svg_text(at.x(tick), at.bottom + 18, tick_text(tick), Anchor::middle));
    if (const std::string clock = clock_text(at.plot, tick); !clock.empty())
      out.add("{}", svg_text(at.x(tick), at.bottom + 18 + clock_row, clock, Anchor::middle));
  }
  out.add("</g>");
}

void add_bands(Document& out, const Plot& plot, const AreaPath& path) {
  for (const PlotBand& band : plot.bands) {
    const double left = path.x(std::clamp(band.left, plot.left, plot.right)),
                 right = path.x(std::clamp(band.right, plot.left, plot.right));
    out.add(R"(<path class="band" d="M{0:.7g} {1:.7g}H{2:.7g}V{3:.7g}H{0:.7g}Z" fill="#8a94a0" fill-opacity="0.13"/>)",
            left, plot.bottom, right, plot.top);
  }
}

/// The fit where it differs from the values, in its shaded interval.
void add_fit(Document& out, const Plot& plot, const AreaPath& path) {
  const int main = plot.lines.back().colour;
  for (const auto& piece : plot.fit) {
    std::vector<ReportPoint> around, middle;
    for (const auto& p : piece) around.push_back({p.x, p.high}), middle.push_back({p.x, p.y});
    for (auto p = piece.rbegin(); p != piece.rend(); ++p) around.push_back({p->x, p->low});
    out.add(R"(<path class="interval f{}" d="{}Z" fill="{}" fill-opacity="0.18"/>)", main, path(around), colour(main));
    out.add(R"(<path class="fit" d="{}" stroke="{}" stroke-width="1.3" stroke-dasharray="5 4" {}/>)", path(middle), ink,
            constant_width);
  }
}

void add_lines(Document& out, const Plot& plot, const AreaPath& path) {
  for (const auto& line : plot.lines) {
    if (line.faint) {
      out.add(R"(<path class="faint" d="{}" stroke="{}" {}/>)", path(line.points), faint_grey, constant_width);
      continue;
    }
    out.add(R"(<path class="line c{}" d="{}" stroke="{}" stroke-width="2" stroke-linejoin="round" {})", line.colour,
            path(line.points), colour(line.colour), constant_width);
    out.add(R"( data-colour="{}" data-name="{}" data-first="{}" data-last="{}"/>)", line.colour,
            html_inline(line.label), html_inline(line.first_place), html_inline(line.last_place));
  }
}

void add_capacity(Document& out, const Plot& plot, const AreaPath& path) {
  if (!plot.capacity || plot.capacity_above) return;
  out.add(R"(<path class="limit" d="M0 {:.7g}H{:.7g}" stroke="{}" stroke-width="1.5" {}/>)", *plot.capacity,
          path.x(plot.right), red, constant_width);
  if (!plot.forecast) return;
  // The interval is drawn on the line of the capacity. A path of length zero with round ends is a dot.
  const auto inside = [&](double step) { return path.x(std::clamp(step, plot.left, plot.right)); };
  out.add(R"(<path class="fit" d="M{:.7g} {:.7g}H{:.7g}" stroke="{}" stroke-width="4" {}/>)",
          inside(plot.forecast->step_low), *plot.capacity, inside(plot.forecast->step_high.value_or(plot.right)), ink,
          constant_width);
  out.add(R"(<path class="fit" d="M{:.7g} {:.7g}h0" stroke="{}" stroke-width="10" stroke-linecap="round" {}/>)",
          path.x(plot.forecast->step), *plot.capacity, ink, constant_width);
}

void add_marks(Document& out, const Plot& plot, const AreaPath& path) {
  for (const PlotMark& mark : plot.marks) {
    const bool failure = mark.kind == PlotMark::failure;
    out.add(R"(<path class="{}" d="M{:.7g} {:.7g}V{:.7g}" stroke="{}" stroke-width="1.5" {}{} data-place="{}"/>)",
            failure ? "limit failure" : "mark", path.x(mark.x), plot.bottom, plot.top, failure ? red : grey,
            failure ? "" : R"(stroke-dasharray="2 3" )", constant_width, html_inline(mark.place));
  }
  // Square ends keep a request visible that is smaller than a pixel.
  if (plot.request)
    out.add(R"(<path class="limit request" d="M{:.7g} {:.7g}V{:.7g}" stroke="{}" stroke-width="6" {} {}/>)",
            path.x(plot.request->x), plot.request->from, plot.request->to, red, R"(stroke-linecap="square")",
            constant_width);
}

void add_area(Document& out, const ChartFrame& at) {
  const Plot& plot = at.plot;
  const AreaPath path(plot);
  out.add(R"(<svg class="area" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" )", at.left, at.top,
          at.right - at.left, at.bottom - at.top);
  out.add(R"_(viewBox="0 {:.7g} {:.7g} {:.7g}" preserveAspectRatio="none"><g transform="scale(1 -1)" fill="none">)_",
          -plot.top, path.x(plot.right), plot.top - plot.bottom);
  add_bands(out, plot, path);
  add_fit(out, plot, path);
  add_lines(out, plot, path);
  add_capacity(out, plot, path);
  add_marks(out, plot, path);
  out.add("</g></svg>");
}

/// Names of stages above the area, if they fit, and names of marks at its lower end.
void add_names(Document& out, const ChartFrame& at) {
  for (const PlotBand& band : at.plot.bands) {
    const double left = at.x(std::max(band.left, at.plot.left)), right = at.x(std::min(band.right, at.plot.right));
    const bool fits = right - left > column_width * count_columns(band.name) + 8;
    out.add("{}", svg_text((left + right) / 2, at.top - 5, band.name, Anchor::middle,
                           fmt::format(R"(class="stage" data-left="{:.7g}" data-right="{:.7g}"{})", band.left,
                                       band.right, fits ? "" : R"( visibility="hidden")")));
  }
  int row = 0;
  for (const PlotMark& mark : at.plot.marks) {
    if (mark.text.empty()) continue;
    const double x = at.x(mark.x);
    const bool failure = mark.kind == PlotMark::failure, left = x > (at.left + at.right) / 2;
    out.add("{}", svg_text(x + (left ? -6 : 6), at.bottom - 8 - 16 * row, mark.text, left ? Anchor::end : Anchor::start,
                           fmt::format(R"(class="name{}" fill="{}" data-x="{:.7g}" data-row="{}")",
                                       failure ? " limit" : "", failure ? red : grey, mark.x, row)));
    ++row;
  }
}

void add_end_labels(Document& out, const ChartFrame& at, const std::vector<EndLabel>& labels) {
  std::vector<double> positions;
  for (const EndLabel& label : labels) positions.push_back(at.y(label.value));
  positions = spread_labels(labels, positions, at.bottom);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const EndLabel& label = labels[i];
    const double first = label.second.empty() ? 4 : 4 - line_height / 2;
    out.add(R"_(<g {} transform="translate({:.1f} {:.1f})" data-height="{:.0f}" data-value="{:.7g}" data-line="{}">)_",
            label.look, at.right + 8 + share_column(at.plot), positions[i], label.height(), label.value, label.line);
    out.add(R"(<text y="{:.0f}">{}</text>)", first, html_inline(label.first));
    if (!label.second.empty()) out.add(R"(<text y="{:.0f}">{}</text>)", first + line_height, html_inline(label.second));
    out.add("</g>");
  }
}

constexpr std::size_t spark_points = 60, tile_points = 80;  ///< one for every other pixel

bool is_lower(const ReportPoint& a, const ReportPoint& b) { return a.y < b.y; }

/// At most `limit` points: the maximum of each run of points, so that no peak is lost.
std::vector<ReportPoint> peaks(const std::vector<ReportPoint>& points, std::size_t limit) {
  std::vector<ReportPoint> finite;
  for (const auto& p : points)
    if (std::isfinite(p.x) && std::isfinite(p.y)) finite.push_back(p);
  std::vector<ReportPoint> out;
  const auto run = static_cast<std::ptrdiff_t>(std::max<std::size_t>(1, (finite.size() + limit - 1) / limit));
  for (auto from = finite.begin(); from != finite.end();) {
    const auto to = finite.end() - from > run ? from + run : finite.end();
    out.push_back(*std::max_element(from, to, is_lower));
    from = to;
  }
  return out;
}

/// An SVG path, for example "M0.0 20.0L2.4 19.8…".
std::string draw_path(const std::vector<ReportPoint>& points) {
  Document path;
  const double longest = longest_wait(points);
  for (std::size_t i = 0; i < points.size(); ++i)
    path.add("{}{:.1f} {:.1f}", i == 0 || points[i].x - points[i - 1].x > longest ? "M" : "L", points[i].x,
             points[i].y);
  return path.take();
}

std::string stroked(const std::string& path, int index) {
  return fmt::format(R"(<path class="c{}" d="{}" fill="none" stroke="{}" stroke-width="1.5" {}/>)", index, path,
                     colour(index), constant_width);
}

/// The dated values for page.js: x and seconds, in pairs.
std::string clock_data(const Plot& plot) {
  Document pairs;
  for (const ReportPoint& p : plot.clock) pairs.add("{}{:.10g} {:.0f}", &p == &plot.clock.front() ? "" : ",", p.x, p.y);
  return plot.clock.empty() ? "" : fmt::format(R"( data-clock="{}")", pairs.take());
}

/// The second axis for page.js: the capacity in the unit of the values, and the width of the ticks.
std::string share_data(const Plot& plot) {
  return plot.share_ticks.empty()
             ? ""
             : fmt::format(R"( data-capacity="{:.7g}" data-share-column="{:.0f}")", *plot.capacity, share_column(plot));
}

}  // namespace

std::string_view colour(int index) { return palette[static_cast<std::size_t>(index) % palette.size()]; }

std::string svg_chart(const Plot& plot) {
  const std::vector<EndLabel> labels = end_labels(plot);
  int columns = 0;
  for (const EndLabel& label : labels)
    columns = std::max({columns, count_columns(label.first), count_columns(label.second)});
  const double margin_right = 12 + column_width * columns + share_column(plot);
  std::size_t digits = 0;
  for (const double tick : plot.y_ticks) digits = std::max(digits, tick_text(tick).size());
  const ChartFrame at{plot, std::max(min_margin, 14 + column_width * static_cast<double>(digits)),
                      width - margin_right};
  Document out;
  out.add(R"(<svg class="plot" viewBox="0 0 {:.0f} {:.0f}" width="100%" role="img" aria-label="{}" {} fill="{}" )",
          width, height, html_inline(plot.title + " over the run"), svg_font, grey);
  out.add(R"(data-left="{:.10g}" data-right="{:.10g}" data-bottom="{:.7g}" data-top="{:.7g}" )", plot.left, plot.right,
          plot.bottom, plot.top);
  out.add(R"(data-unit="{}" data-x-unit="{}" data-margins="{:.0f} {:.0f} {:.0f} {:.0f}"{}>)", plot.unit,
          html_inline(plot.x_unit), margin_top, margin_right, bottom_margin(plot), min_margin,
          share_data(plot) + clock_data(plot));
  add_ticks(out, at);
  const std::string from_zero = plot.bottom > 0 ? "; the axis does not begin at 0" : "";
  out.add("{}{}", svg_text(0, 14, plot.y_name + from_zero, Anchor::start, R"(class="title y-title")"),
          svg_text(at.right, height - 6, plot.x_name, Anchor::end, R"(class="title x-title")"));
  if (!plot.share_ticks.empty())
    out.add("{}", svg_text(width, 14, "% of " + plot.capacity_word, Anchor::end, R"(class="title share-title")"));
  add_area(out, at);
  add_names(out, at);
  add_end_labels(out, at, labels);
  out.add("</svg>\n");
  return out.take();
}

std::string svg_spark(const std::vector<ReportPoint>& points, int index) {
  constexpr double wide = 120, tall = 22;
  std::vector<ReportPoint> drawn = peaks(points, spark_points);
  if (drawn.size() < 2) return {};
  const double lowest = std::min_element(drawn.begin(), drawn.end(), is_lower)->y;
  const double highest = std::max_element(drawn.begin(), drawn.end(), is_lower)->y;
  // The vertical range is at least a tenth of the largest value, so that noise does not look like growth.
  const double range = std::max({highest - lowest, 0.1 * std::fabs(highest), 1e-9}),
               low = (lowest + highest - range) / 2;
  for (std::size_t i = 0; i < drawn.size(); ++i)
    drawn[i] = {1 + static_cast<double>(i) / static_cast<double>(drawn.size() - 1) * (wide - 2),
                tall - 2 - (drawn[i].y - low) / range * (tall - 4)};
  return fmt::format(R"(<svg class="spark" width="{:.0f}" height="{:.0f}" aria-hidden="true">{}</svg>)", wide, tall,
                     stroked(draw_path(drawn), index));
}

std::string svg_tile(const std::vector<ReportPoint>& points, int index, const TileScale& scale) {
  constexpr double wide = 160, tall = 48;
  std::vector<ReportPoint> drawn = peaks(points, tile_points);
  if (drawn.size() < 2 || scale.right <= scale.left || scale.top <= 0) return {};
  for (ReportPoint& p : drawn)
    p = {(p.x - scale.left) / (scale.right - scale.left) * wide, tall - std::max(p.y, 0.0) / scale.top * (tall - 3)};
  const std::string line = draw_path(drawn);
  Document out;
  out.add(R"(<svg viewBox="0 0 {:.0f} {:.0f}" width="100%" height="{:.0f}" preserveAspectRatio="none" )", wide, tall,
          tall);
  out.add(R"(aria-hidden="true"><path class="f{}" d="{}V{:.0f}H{:.1f}Z" fill="{}" fill-opacity="0.12"/>{}</svg>)",
          index, line, tall, drawn.front().x, colour(index), stroked(line, index));
  return out.take();
}

}  // namespace oomdoctor::html
