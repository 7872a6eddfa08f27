// Where the memory was: the account of the failure as one bar and a table, and the course of every series.
#include <algorithm>
#include <initializer_list>

#include "base/bytes.h"
#include "report/html_chart.h"
#include "report/html_sections.h"
#include "report/layout.h"
#include "report/rank_words.h"
#include "report/series_words.h"
#include "report/sink.h"
#include "report/words.h"

namespace oomdoctor::html {
namespace {

constexpr std::size_t rows_shown = 8;   ///< of a long table; the others unfold
constexpr std::size_t most_rows = 256;  ///< the rest is in the JSON report

constexpr std::string_view free_colour = "#d8dee4", hidden_colour = "#9aa4b0";

/// One part of the account: free memory and what nobody claims have no colour of their own.
struct Part {
  std::string label;
  std::int64_t bytes = 0;
  std::string look;  ///< class and fill
};

/// Live memory and cache look as they do in the charts.
std::vector<Part> parts_of(const ReportAccount& account) {
  std::vector<Part> parts;
  int next = 2;
  for (const auto& [label, bytes] : account.shares) {
    if (label == "free") {
      parts.push_back({label, bytes, fmt::format(R"(class="free" fill="{}")", free_colour)});
      continue;
    }
    const int which = label.starts_with("live") ? 0 : label.starts_with("reserved") ? 1 : next++ % Plot::colours;
    parts.push_back({label, bytes, fmt::format(R"(class="f{}" fill="{}")", which, colour(which))});
  }
  parts.push_back({unexplained_label(account), account.unexplained_bytes,
                   fmt::format(R"(class="hidden" fill="{}")", hidden_colour)});
  return parts;
}

/// The parts side by side up to the limit, and above them, from where the free part begins, what was asked for.
void add_bar(Document& page, const ReportIncident& of, const std::vector<Part>& parts) {
  constexpr double width = 1000;
  const auto capacity = static_cast<double>(of.account->capacity_bytes);
  const auto request = static_cast<double>(of.requested_bytes.value_or(0));
  double used = 0;
  for (const auto& part : parts)
    if (part.label != "free") used += static_cast<double>(std::max<std::int64_t>(part.bytes, 0));
  const bool drawn = request > 0 && request <= capacity;
  const double scale = width / std::max(capacity, drawn ? std::min(used, capacity) + request : 0),
               end = capacity * scale;
  page.add(R"(<svg class="bar" viewBox="0 0 {:.0f} 64" width="100%" role="img" {}>)", width, svg_font);
  page.add("<title>The account as a bar</title>");
  double at = 0;
  for (const auto& part : parts) {
    const double size = std::clamp(static_cast<double>(part.bytes) * scale, 0.0, end - at);
    page.add(R"(<rect {} x="{:.1f}" y="26" width="{:.1f}" height="26"/>)", part.look, at, size);
    at += size;
  }
  page.add(R"(<path class="limit" d="M{:.1f} 20V60" stroke="#c0262d" stroke-width="2"/>)", end - 1);
  if (drawn) {
    const double from = std::min(used, capacity) * scale, to = from + request * scale;
    const bool left = from > width / 2;
    page.add(R"(<rect class="asked" x="{:.1f}" y="19" width="{:.1f}" height="4" fill="#c0262d"/>)", from, to - from);
    page.add("{}", svg_text(left ? to : from, 13, bytes_text(*of.requested_bytes) + " requested",
                            left ? Anchor::end : Anchor::start, red_text));
  }
  page.add("</svg>\n");
}

void add_account_table(Document& page, const ReportAccount& account, const std::vector<Part>& parts) {
  std::vector<std::int64_t> sizes;
  for (const auto& part : parts) sizes.push_back(part.bytes);
  const SharesText text = shares_text(sizes, account.capacity_bytes);
  page.add(
      "<table>\n<thead><tr><th></th><th></th><th class=\"n\">{}</th><th class=\"n\">share</th></tr></thead>\n<tbody>\n",
      text.unit);
  for (std::size_t i = 0; i < parts.size(); ++i)
    page.add(
        "<tr><td><svg width=\"12\" height=\"12\" aria-hidden=\"true\"><rect {} width=\"12\" height=\"12\"/></svg></td>"
        "<td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
        parts[i].look, html_inline(parts[i].label), text.numbers[i], text.percents[i]);
  page.add(
      "</tbody>\n<tfoot><tr><td></td><td>capacity</td><td class=\"n\">{}</td><td class=\"n\">100 "
      "%</td></tr></tfoot>\n</table>\n",
      text.total);
}

/// Rows of one table, of which the first are in sight; `head` and `row` write one line each.
void add_long_table(Document& page, std::size_t rows, std::string_view head, auto row) {
  const std::size_t written = std::min(rows, most_rows);
  const auto add_rows = [&](std::size_t from, std::size_t to) {
    page.add("<div class=\"wide\"><table>\n<thead><tr>{}</tr></thead>\n<tbody>\n", head);
    for (std::size_t i = from; i < to; ++i) row(i);
    page.add("</tbody>\n</table></div>\n");
  };
  // A few rows more are not worth a fold.
  const std::size_t shown = written <= rows_shown + 4 ? written : rows_shown;
  add_rows(0, shown);
  if (written > shown) {
    page.add("<details><summary>{} more</summary>\n", written - shown);
    add_rows(shown, written);
    page.add("</details>\n");
  }
  if (rows > written)
    page.add("<p class=\"muted\">{} more are in the JSON report.</p>\n",
             count_text(static_cast<std::int64_t>(rows - written)));
}

/// A name that a row can hold.
std::string title_of(const Report& report, const ReportSeries& of) {
  constexpr int widest = 48;
  return html_inline(clip_end(plain_line(series_title(report, of)), widest));
}

std::string number(const std::string& text) { return "<td class=\"n\">" + text + "</td>"; }

void add_series_row(Document& page, const Report& report, const ReportSeries& of) {
  const auto value = [&](double v) { return number(value_text(of, v)); };
  const CourseWords words = course_words(of);
  page.add("<tr><th scope=\"row\">{}</th><td>{}</td>{}{}{}{}", title_of(report, of),
           svg_spark(of.points, usual_colour(of)), value(of.first_value), value(of.last_value), value(of.max_value),
           number(count_text(of.n)));
  page.add("<td>{}", html_inline(is_single(of) ? "printed once" : words.course));
  if (!words.because.empty()) page.add("<br><span class=\"muted\">{}</span>", html_inline(words.because));
  std::vector<Location> from = {of.first};
  if (!is_single(of)) from.push_back(of.last);
  page.add("</td><td class=\"place\">{}</td></tr>\n", html_inline(short_places(report, from, 2)));
}

std::string rank_words(const ReportRank& of) {
  const std::string growth = of.leak ? "grows without a bound" : "";
  if (!of.failed) return growth;
  return "<strong>out of memory</strong>" + (of.leak ? ", " + growth : "");
}

void add_rank_row(Document& page, const ReportRank& of, double greatest, bool steps) {
  constexpr double width = 140;
  const auto size = [](const std::optional<double>& v) {
    return number(v ? bytes_text(whole_number(*v)) : std::string());
  };
  const double share = of.max_value && greatest > 0 ? std::clamp(*of.max_value / greatest, 0.0, 1.0) : 0;
  page.add("<tr>{}{}{}{}", number(std::to_string(of.rank)), size(of.first_value), size(of.last_value),
           size(of.max_value));
  page.add("<td><svg width=\"{:.0f}\" height=\"10\" aria-hidden=\"true\">", width);
  page.add("<rect class=\"{}\" width=\"{:.1f}\" height=\"10\" fill=\"{}\"/></svg></td>", of.failed ? "asked" : "f0",
           width * share, of.failed ? "#c0262d" : colour(0));
  if (steps) page.add("{}", number(of.last_step ? std::to_string(*of.last_step) : ""));
  page.add("<td>{}</td></tr>\n", rank_words(of));
}

/// "<th>series</th><th class="n">first</th>…"; a title that begins with "#" is that of numbers.
std::string titles(std::initializer_list<std::string_view> of) {
  std::string out;
  for (const std::string_view title : of)
    out += title.starts_with('#') ? fmt::format("<th class=\"n\">{}</th>", title.substr(1))
                                  : fmt::format("<th>{}</th>", title);
  return out;
}

}  // namespace

void add_account(Document& page, const Report& report) {
  // The account belongs to the failure that the verdict is about.
  const ReportIncident* of = nullptr;
  for (const auto& incident : report.incidents)
    if (incident.account && (of == nullptr || report.verdict.incident == incident.id)) of = &incident;
  if (of == nullptr || of->account->capacity_bytes <= 0) return;
  const auto parts = parts_of(*of->account);
  page.add("<section id=\"account\">\n<h2>{}</h2>\n<figure>\n", html_inline(account_title(*of)));
  add_bar(page, *of, parts);
  add_account_table(page, *of->account, parts);
  page.add("</figure>\n</section>\n");
}

void add_series(Document& page, const Report& report, const std::vector<Plot>& plots) {
  if (report.series.empty()) return;
  page.add("<section id=\"memory\">\n<h2>Memory over the run</h2>\n");
  for (const Plot& plot : plots) {
    page.add("<figure class=\"chart\">\n");
    if (plots.size() > 1) page.add("<h3>{}</h3>\n", html_inline(plot.title));
    page.add("{}</figure>\n", svg_chart(plot));
    if (plot.not_drawn > 0)
      page.add("<p class=\"muted\">{} in the table only.</p>\n",
               plural(static_cast<std::int64_t>(plot.not_drawn), "more series is", "more series are"));
  }
  const auto order = by_weight(report);
  for (const auto* series : order)
    if (const std::string forecast = forecast_words(report, *series); !forecast.empty() && order.size() < rows_shown)
      page.add("<p><strong>{}</strong>: {}.</p>\n", title_of(report, *series), html_inline(forecast));
  add_long_table(page, order.size(), titles({"series", "", "#first", "#last", "#most", "#values", "course", "from"}),
                 [&](std::size_t i) { add_series_row(page, report, *order[i]); });
  if (report.more_series > 0)
    page.add("<p class=\"muted\">{} not listed.</p>\n",
             plural(report.more_series, "more series is", "more series are"));
  page.add("</section>\n");
}

void add_ranks(Document& page, const Report& report) {
  if (report.ranks.size() < few_ranks) return;
  auto rows = ranks_by_weight(report);
  std::erase_if(rows, [](const ReportRank* r) { return !r->max_value && !r->last_step && !r->failed; });
  if (rows.empty()) return;
  double greatest = 0;
  for (const auto* row : rows) greatest = std::max(greatest, row->max_value.value_or(0));
  const bool steps =
      std::any_of(rows.begin(), rows.end(), [](const ReportRank* r) { return r->last_step.has_value(); });
  page.add("<section id=\"ranks\">\n<h2>Ranks</h2>\n<p>{}</p>\n", html_inline(ranks_summary(report)));
  add_long_table(
      page, rows.size(),
      titles({"#rank", "#first", "#last", "#most", ""}) + (steps ? titles({"#last step", ""}) : titles({""})),
      [&](std::size_t i) { add_rank_row(page, *rows[i], greatest, steps); });
  page.add("</section>\n");
}

}  // namespace oomdoctor::html
