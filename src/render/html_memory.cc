// Where the memory was, as one bar and a table, and memory over the run: the charts, every series, and the ranks or
// GPUs side by side.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/ascii.h"
#include "base/bytes.h"
#include "render/html_chart.h"
#include "render/html_sections.h"
#include "render/layout.h"
#include "render/series_titles.h"
#include "report/escape.h"
#include "report/incident_words.h"
#include "report/series_choice.h"
#include "report/series_words.h"
#include "report/utf8.h"
#include "report/words.h"

namespace oomdoctor::html {
namespace {

constexpr double min_width = 0.006;          ///< share of the bar; smaller parts are drawn this wide
constexpr double min_labelled_width = 0.08;  ///< share of the bar; smaller parts have no room for a label
constexpr std::string_view free_colour = "#d8dee4", hidden_colour = "#9aa4b0";

/// One part of the breakdown. Free memory and the unexplained rest have neutral colours.
struct BreakdownPart {
  std::string label;
  std::int64_t bytes = 0;
  std::string look;     ///< class and fill attributes
  std::string_view on;  ///< class of a text on this part
  std::string_view on_fill;
  std::string number, share;  ///< for example "78.27", "<1%"
};

/// Tensors and cache have the same colours as in the charts.
std::vector<BreakdownPart> coloured_parts(const ReportAccount& account) {
  constexpr std::array<bool, Plot::colours> dark = {true, false, false, false, false, true};
  std::vector<BreakdownPart> parts;
  int next = 2;
  for (const auto& [label, bytes] : account.shares) {
    if (label == "free") {
      parts.push_back({label, bytes, fmt::format(R"(class="free" fill="{}")", free_colour), "on", "#1b1f24", "", ""});
      continue;
    }
    const bool tensors = label.find("tensors") != label.npos && next == 2;
    const int which = tensors ? 0 : label.find("cache") != label.npos ? 1 : next++ % Plot::colours;
    const bool light_text = dark[static_cast<std::size_t>(which)];
    parts.push_back({label, bytes, fmt::format(R"(class="f{}" fill="{}")", which, colour(which)),
                     light_text ? "on light" : "on", light_text ? "#ffffff" : "#1b1f24", "", ""});
  }
  if (account.unexplained_bytes == 0) return parts;
  parts.push_back({unexplained_label(account), account.unexplained_bytes,
                   fmt::format(R"(class="hidden" fill="{}")", hidden_colour), "on", "#1b1f24", "", ""});
  return parts;
}

std::vector<BreakdownPart> make_parts(const ReportAccount& account, const SharesText& text) {
  std::vector<BreakdownPart> parts = coloured_parts(account);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto blanks = text.percents[i].find_first_not_of(' ');
    parts[i].number = text.numbers[i];
    parts[i].share = text.percents[i].substr(blanks);
    if (parts[i].bytes > 0 && parts[i].share == "0%") parts[i].share = "<1%";
  }
  return parts;
}

/// The width of each part as a share of the bar. Small parts get a minimum width, at the expense of the largest part.
std::vector<double> compute_widths(const std::vector<BreakdownPart>& parts, std::int64_t capacity) {
  std::vector<double> widths;
  double sum = 0;
  for (const BreakdownPart& part : parts) {
    const double share = static_cast<double>(part.bytes) / static_cast<double>(capacity);
    widths.push_back(part.bytes > 0 ? std::max(share, min_width) : 0);
    sum += widths.back();
  }
  if (sum > 1) *std::max_element(widths.begin(), widths.end()) -= sum - 1;
  return widths;
}

/// Adds the part's name for windows in which it fits, and its share for narrower ones.
void add_label(Document& page, const BreakdownPart& part, double from, double width) {
  constexpr double column = 7, padding = 12;  // px
  constexpr std::array<int, 5> breakpoints = {320, 480, 640, 860, 1200};
  const double needed = (column * count_columns(part.label) + padding) / width;
  const auto fits = std::find_if(breakpoints.begin(), breakpoints.end(), [&](int px) { return px >= needed; });
  const auto add = [&](std::string_view condition, int px, const std::string& text) {
    page.add(R"(<text class="{} {}{}" x="{:.2f}%" y="48" text-anchor="middle" fill="{}"{}>{}</text>)", part.on,
             condition, px, 100 * (from + width / 2), part.on_fill, condition == "below" ? R"( display="none")" : "",
             html_inline(text));
  };
  if (fits == breakpoints.end()) return add("always", 0, part.share);
  add("from", *fits, part.label);
  add("below", *fits, part.share);
}

/// The parts side by side up to the capacity. Above them, from the start of the free part, the request.
void add_bar(Document& page, const ReportIncident& of, const std::vector<BreakdownPart>& parts,
             const std::string& unit) {
  const std::int64_t capacity = of.account->capacity_bytes;
  const auto request = static_cast<double>(of.requested_bytes.value_or(0)) / static_cast<double>(capacity);
  const std::vector<double> widths = compute_widths(parts, capacity);
  double used = 0;
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (parts[i].label != "free") used += widths[i];
  used = std::min(used, 1.0);
  const bool drawn = request > 0 && request <= 1;
  const double scale = 1 / std::max(1.0, drawn ? used + request : 0);
  page.add(R"(<svg class="bar" width="100%" height="66" role="img" aria-label="The account as a bar" {}>)", svg_font);
  double at = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const double width = std::min(widths[i] * scale, scale - at);
    if (width <= 0) continue;
    page.add("<g><title>{}: {} {} ({})</title>", html_inline(parts[i].label), parts[i].number, unit,
             html_inline(parts[i].share));
    page.add(R"(<rect {} x="{:.2f}%" y="28" width="{:.2f}%" height="32"/>)", parts[i].look, 100 * at, 100 * width);
    if (width >= min_labelled_width) add_label(page, parts[i], at, width);
    page.add("</g>");
    at += width;
  }
  if (drawn) {
    const double from = used * scale, to = std::min(from + std::max(request * scale, min_width), 1.0);
    const bool left = from > 0.5;
    page.add(R"(<rect class="asked" x="{:.2f}%" y="20" width="{:.2f}%" height="5" fill="{}"/>)", 100 * from,
             100 * (to - from), red);
    page.add(R"(<text class="limit" x="{:.2f}%" y="13" text-anchor="{}" fill="{}">{} requested</text>)",
             100 * (left ? to : from), left ? "end" : "start", red, bytes_text(*of.requested_bytes));
  }
  page.add("</svg>\n");
}

void add_table(Document& page, const std::vector<BreakdownPart>& parts, const SharesText& text) {
  page.add("<table>\n<thead><tr><th>part</th><th class=\"n\">{}</th><th class=\"n\">share</th></tr></thead>\n<tbody>\n",
           text.unit);
  for (const BreakdownPart& part : parts)
    page.add(
        "<tr><th scope=\"row\"><svg class=\"swatch\" width=\"12\" height=\"12\" aria-hidden=\"true\"><rect {} "
        "width=\"12\" height=\"12\"/></svg>{}</th><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
        part.look, html_inline(part.label), part.number, html_inline(part.share));
  page.add("</tbody>\n<tfoot><tr><th scope=\"row\">capacity</th><td class=\"n\">{}</td><td class=\"n\">100%</td></tr>",
           text.total);
  page.add("</tfoot>\n</table>\n");
}

/// The failure that the verdict is about, if it has a breakdown, else the first failure with one.
const ReportIncident* incident_with_account(const Report& report) {
  const ReportIncident* of = nullptr;
  for (const auto& incident : report.incidents)
    if (incident.account && (of == nullptr || report.verdict.incident == incident.id)) of = &incident;
  return of != nullptr && of->account->capacity_bytes > 0 ? of : nullptr;
}

constexpr std::size_t tiles_shown = 12;  ///< of many ranks; the others unfold

/// A series title that is short enough for a row.
std::string short_title(const Report& report, const ReportSeries& of) {
  constexpr int widest = 48;
  return html_inline(clip_series_title(report, of, widest));
}

void add_cell(Document& page, std::string_view title, const std::string& text, std::string_view class_name = "n") {
  page.add("<td class=\"{}\" data-title=\"{}\">{}</td>", class_name, title, text);
}

void add_series_row(Document& page, const Content& content, const ReportSeries& of) {
  page.add("<tr><th scope=\"row\">{}</th>", short_title(content.report, of));
  page.add("<td class=\"picture\">{}</td>", svg_spark(of.points, find_colour(content.plots, of)));
  add_cell(page, "first", value_text(of, of.first_value));
  add_cell(page, "last", value_text(of, of.last_value));
  add_cell(page, "max", value_text(of, of.max_value));
  add_cell(page, "values", count_text(of.n));
  add_cell(page, "trend", html_inline(is_single(of) ? "printed once" : trend_words(of)), "words");
  add_cell(page, "from",
           is_single(of) ? content.citations.links({of.first}, 1) : content.citations.links_of_range(of.first, of.last),
           "place");
  page.add("</tr>\n");
}

void add_series_table(Document& page, const Content& content) {
  const auto order = sort_series(content.report);
  add_folded(page, order.size(), rows_shown, [&](std::size_t from, std::size_t to) {
    page.add("<table class=\"stacked\">\n<thead><tr><th>series</th><td></td>");
    for (const std::string_view title : {"first", "last", "max", "values"}) page.add("<th class=\"n\">{}</th>", title);
    page.add("<th>trend</th><th>from</th></tr></thead>\n<tbody>\n");
    for (std::size_t i = from; i < to; ++i) add_series_row(page, content, *order[i]);
    page.add("</tbody>\n</table>\n");
  });
  if (content.report.more_series > 0)
    page.add("<p class=\"muted\">{} not listed.</p>\n",
             plural(content.report.more_series, "more series is", "more series are"));
}

/// One of several ranks or GPUs.
struct Tile {
  std::string title;
  const ReportSeries* series = nullptr;
  bool failed = false;
  std::string words;  ///< for example "keeps growing"
};

const ReportSeries* find_series(const Report& report, const ReportRank& rank) {
  const auto found = std::find_if(report.series.begin(), report.series.end(), [&](const ReportSeries& s) {
    return s.followed && s.rank == rank.rank && s.metric == rank.metric;
  });
  return found == report.series.end() ? nullptr : &*found;
}

std::vector<Tile> rank_tiles(const Report& report) {
  std::vector<Tile> tiles;
  if (report.ranks.size() < min_ranks_for_summary) return tiles;
  for (const ReportRank* rank : sort_ranks(report)) {
    if (!rank->max_value && !rank->last_step && !rank->failed) continue;
    std::string words = rank->failed ? "out of memory" : rank->leak ? "keeps growing" : "";
    if (rank->last_step) words += fmt::format("{}last step {}", words.empty() ? "" : ", ", *rank->last_step);
    tiles.push_back({fmt::format("rank {}", rank->rank), find_series(report, *rank), rank->failed, std::move(words)});
  }
  return tiles;
}

/// The GPUs with a series of the first metric; the GPU of the failure first.
std::vector<Tile> gpu_tiles(const Report& report) {
  std::vector<Tile> tiles;
  const auto order = sort_series(report);
  const ReportIncident* incident = main_incident(report);
  for (const ReportSeries* series : order) {
    if (!series->followed || !series->device || series->rank || series->metric != order.front()->metric ||
        is_single(*series))
      continue;
    const bool failed = incident != nullptr && !incident->handled && incident->device == series->device;
    tiles.push_back({fmt::format("{} {}", device_name(series->accelerator), *series->device), series, failed,
                     failed               ? "out of memory"
                     : series->trend.leak ? "keeps growing"
                                          : ""});
  }
  if (tiles.size() < min_ranks_for_summary) return {};
  std::stable_partition(tiles.begin(), tiles.end(), [](const Tile& tile) { return tile.failed; });
  return tiles;
}

TileScale shared_scale(const std::vector<Tile>& tiles) {
  TileScale scale{HUGE_VAL, -HUGE_VAL, 0};
  for (const Tile& tile : tiles) {
    if (tile.series == nullptr) continue;
    for (const ReportPoint& p : tile.series->points) {
      if (!std::isfinite(p.x) || !std::isfinite(p.y)) continue;
      scale.left = std::min(scale.left, p.x), scale.right = std::max(scale.right, p.x);
      scale.top = std::max(scale.top, p.y);
    }
  }
  return scale;
}

void add_tile(Document& page, const Content& content, const Tile& tile, const TileScale& scale) {
  page.add("<div class=\"tile{}\"><p><strong>{}</strong>", tile.failed ? " bad" : "", tile.title);
  if (tile.series != nullptr) page.add("<span>{}</span>", value_text(*tile.series, tile.series->max_value));
  page.add("</p>");
  if (tile.series != nullptr)
    page.add("{}", svg_tile(tile.series->points, find_colour(content.plots, *tile.series), scale));
  if (!tile.words.empty()) page.add("<p class=\"tile-words\">{}</p>", tile.words);
  page.add("</div>\n");
}

void add_tiles(Document& page, const Content& content) {
  const Report& report = content.report;
  const bool ranks = report.ranks.size() >= min_ranks_for_summary;
  const std::vector<Tile> tiles = ranks ? rank_tiles(report) : gpu_tiles(report);
  if (tiles.empty()) return;
  const TileScale scale = shared_scale(tiles);
  page.add("<div id=\"{0}\">\n<h3>{1}</h3>\n", ranks ? "ranks" : "gpus", ranks ? "Ranks" : "GPUs");
  if (ranks) page.add("<p>{}</p>\n", html_inline(capitalised(ranks_summary(report))));
  add_folded(page, tiles.size(), tiles_shown, [&](std::size_t from, std::size_t to) {
    page.add("<div class=\"tiles\">\n");
    for (std::size_t i = from; i < to; ++i) add_tile(page, content, tiles[i], scale);
    page.add("</div>\n");
  });
  page.add("</div>\n");
}

}  // namespace

void add_account_bar(Document& page, const Content& content) {
  const ReportIncident* of = incident_with_account(content.report);
  if (of == nullptr) return;
  const SharesText text = shares_text(*of->account);
  page.add("<figure class=\"account\">\n<figcaption>{}</figcaption>\n", html_inline(account_title(*of)));
  add_bar(page, *of, make_parts(*of->account, text), text.unit);
  page.add("</figure>\n");
}

void add_account_table(Document& page, const Content& content) {
  const ReportIncident* of = incident_with_account(content.report);
  if (of == nullptr) return;
  const SharesText text = shares_text(*of->account);
  page.add("<div class=\"account\">\n");
  add_table(page, make_parts(*of->account, text), text);
  page.add("</div>\n");
}

void add_chart(Document& page, const Plot& plot) {
  page.add("<figure class=\"chart\" tabindex=\"0\" aria-label=\"{}\">\n{}",
           html_inline("Chart: " + plot.title + " over the run"), svg_chart(plot));
  if (plot.not_drawn > 0)
    page.add("<figcaption class=\"muted\">{} in the table only.</figcaption>\n",
             plural(static_cast<std::int64_t>(plot.not_drawn), "more series is", "more series are"));
  page.add("</figure>\n");
}

void add_series(Document& page, const Content& content) {
  const Report& report = content.report;
  if (report.series.empty()) return;
  for (std::size_t i = 1; i < content.plots.size(); ++i) add_chart(page, content.plots[i]);
  const auto order = sort_series(report);
  for (const auto* series : order)
    if (const std::string forecast = forecast_words(report, *series); !forecast.empty() && order.size() < rows_shown)
      page.add("<p><strong>{}</strong>: {}.</p>\n", short_title(report, *series), html_inline(forecast));
  add_tiles(page, content);
  add_series_table(page, content);
}

}  // namespace oomdoctor::html
