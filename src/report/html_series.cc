// Memory over the run: the charts, every series, and the ranks or GPUs side by side.
#include <algorithm>
#include <cmath>

#include "base/bytes.h"
#include "report/escape.h"
#include "report/html_chart.h"
#include "report/html_miniatures.h"
#include "report/html_sections.h"
#include "report/layout.h"
#include "report/rank_words.h"
#include "report/series_words.h"
#include "report/words.h"

namespace oomdoctor::html {
namespace {

constexpr std::size_t rows_shown = 8;    ///< of a long table; the others unfold
constexpr std::size_t max_rows = 256;    ///< only the JSON report has the rest
constexpr std::size_t tiles_shown = 12;  ///< of many ranks; the others unfold

/// Shows `shown` rows and folds the others ("12 more"). Beyond the limit, refers to the JSON report. A few rows more
/// than `shown` are not worth a fold.
void add_folded(Document& page, std::size_t all, std::size_t shown, auto add_range) {
  const std::size_t written = std::min(all, max_rows), open = written <= shown + shown / 2 ? written : shown;
  add_range(0, open);
  if (written > open) {
    page.add("<details><summary>{} more</summary>\n", written - open);
    add_range(open, written);
    page.add("</details>\n");
  }
  if (all > written)
    page.add("<p class=\"muted\">{} more are in the JSON report.</p>\n",
             count_text(static_cast<std::int64_t>(all - written)));
}

/// A series title that is short enough for a row.
std::string short_title(const Report& report, const ReportSeries& of) {
  constexpr int widest = 48;
  return html_inline(clip_end(plain_line(series_title(report, of)), widest));
}

void add_cell(Document& page, std::string_view title, const std::string& text, std::string_view class_name = "n") {
  page.add("<td class=\"{}\" data-title=\"{}\">{}</td>", class_name, title, text);
}

void add_series_row(Document& page, const Content& content, const ReportSeries& of) {
  const TrendText words = trend_text(of);
  std::vector<Location> from = {of.first};
  if (!is_single(of)) from.push_back(of.last);
  page.add("<tr><th scope=\"row\">{}</th>", short_title(content.report, of));
  page.add("<td class=\"picture\">{}</td>", svg_spark(of.points, colour_of(content.plots, of)));
  add_cell(page, "first", value_text(of, of.first_value));
  add_cell(page, "last", value_text(of, of.last_value));
  add_cell(page, "max", value_text(of, of.max_value));
  add_cell(page, "values", count_text(of.n));
  std::string trend = html_inline(is_single(of) ? "printed once" : words.trend);
  if (!words.detail.empty()) trend += "<br><span class=\"muted\">" + html_inline(words.detail) + "</span>";
  add_cell(page, "trend", trend, "words");
  add_cell(page, "from", content.citations.links(from, 2), "place");
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
    return s.rank == rank.rank && s.metric == rank.metric;
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
    if (!series->device || series->rank || series->metric != order.front()->metric || is_single(*series)) continue;
    const bool failed = incident != nullptr && !incident->handled && incident->device == series->device;
    tiles.push_back({fmt::format("GPU {}", *series->device), series, failed,
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
    page.add("{}", svg_tile(tile.series->points, colour_of(content.plots, *tile.series), scale));
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
  if (ranks) page.add("<p>{}</p>\n", html_inline(ranks_summary(report)));
  add_folded(page, tiles.size(), tiles_shown, [&](std::size_t from, std::size_t to) {
    page.add("<div class=\"tiles\">\n");
    for (std::size_t i = from; i < to; ++i) add_tile(page, content, tiles[i], scale);
    page.add("</div>\n");
  });
  page.add("</div>\n");
}

}  // namespace

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
