// Where the memory was: the memory breakdown of the failure as one bar and a table.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/bytes.h"
#include "report/escape.h"
#include "report/html_chart.h"
#include "report/html_sections.h"
#include "report/utf8.h"
#include "report/words.h"

namespace oomdoctor::html {
namespace {

constexpr double min_width = 0.006;          ///< share of the bar; smaller parts are drawn this wide
constexpr double min_labelled_width = 0.08;  ///< share of the bar; smaller parts have no room for a label
constexpr std::string_view free_colour = "#d8dee4", hidden_colour = "#9aa4b0";

/// One part of the breakdown. Free memory and the unexplained rest have neutral colours.
struct Part {
  std::string label;
  std::int64_t bytes = 0;
  std::string look;     ///< class and fill attributes
  std::string_view on;  ///< class of a text on this part
  std::string_view on_fill;
  std::string number, share;  ///< for example "78.27", "<1%"
};

/// Tensors and cache have the same colours as in the charts.
std::vector<Part> coloured_parts(const ReportAccount& account) {
  constexpr std::array<bool, Plot::colours> dark = {true, false, false, false, false, true};
  std::vector<Part> parts;
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

std::vector<Part> make_parts(const ReportAccount& account, const SharesText& text) {
  std::vector<Part> parts = coloured_parts(account);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto blanks = text.percents[i].find_first_not_of(' ');
    parts[i].number = text.numbers[i];
    parts[i].share = text.percents[i].substr(blanks);
    if (parts[i].bytes > 0 && parts[i].share == "0%") parts[i].share = "<1%";
  }
  return parts;
}

SharesText format_shares(const ReportAccount& account) {
  std::vector<std::int64_t> sizes;
  for (const auto& share : account.shares) sizes.push_back(share.bytes);
  sizes.push_back(account.unexplained_bytes);
  return shares_text(sizes, account.capacity_bytes);
}

/// The width of each part as a share of the bar. Small parts get a minimum width, at the expense of the largest part.
std::vector<double> compute_widths(const std::vector<Part>& parts, std::int64_t capacity) {
  std::vector<double> widths;
  double sum = 0;
  for (const Part& part : parts) {
    const double share = static_cast<double>(part.bytes) / static_cast<double>(capacity);
    widths.push_back(part.bytes > 0 ? std::max(share, min_width) : 0);
    sum += widths.back();
  }
  if (sum > 1) *std::max_element(widths.begin(), widths.end()) -= sum - 1;
  return widths;
}

/// Adds the part's name for windows in which it fits, and its share for narrower ones.
void add_label(Document& page, const Part& part, double from, double width) {
  constexpr double column = 7, padding = 12;  // px
  constexpr std::array<int, 5> breakpoints = {320, 480, 640, 860, 1200};
  const double needed = (column * columns_of(part.label) + padding) / width;
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
void add_bar(Document& page, const ReportIncident& of, const std::vector<Part>& parts, const std::string& unit) {
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

void add_table(Document& page, const std::vector<Part>& parts, const SharesText& text) {
  page.add("<table>\n<thead><tr><th>part</th><th class=\"n\">{}</th><th class=\"n\">share</th></tr></thead>\n<tbody>\n",
           text.unit);
  for (const Part& part : parts)
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

}  // namespace

void add_account(Document& page, const Content& content) {
  const ReportIncident* of = incident_with_account(content.report);
  if (of == nullptr) return;
  const SharesText text = format_shares(*of->account);
  const std::vector<Part> parts = make_parts(*of->account, text);
  page.add("<figure class=\"account\">\n<figcaption>{}</figcaption>\n", html_inline(account_title(*of)));
  add_bar(page, *of, parts, text.unit);
  add_table(page, parts, text);
  page.add("</figure>\n");
}

}  // namespace oomdoctor::html
