// What the allocator snapshot of the verdict shows: its lines, its pictures, and tables of who has the memory and of
// other settings.
#include <algorithm>

#include "base/bytes.h"
#include "render/html_sections.h"
#include "report/escape.h"
#include "report/snapshot_words.h"
#include "report/words.h"

namespace oomdoctor::html {
namespace {

constexpr std::size_t holders_shown = 12;  ///< the JSON report has the others

void add_holders(Document& page, const ReportSnapshot& of) {
  if (of.holders.empty()) return;
  page.add(
      "<h3>Most memory</h3>\n<table>\n<thead><tr><th>line of code</th><th>kind</th><th class=\"n\">blocks</th><th "
      "class=\"n\">live</th></tr></thead>\n<tbody>\n");
  const std::size_t shown = std::min(of.holders.size(), holders_shown);
  for (std::size_t i = 0; i < shown; ++i) {
    const ReportHolder& holder = of.holders[i];
    page.add("<tr><th scope=\"row\">{}</th><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
             html_inline(holder_words(holder)), html_inline(category_words(holder.category)), count_text(holder.blocks),
             bytes_text(holder.live_bytes));
  }
  page.add("</tbody>\n</table>\n");
  if (of.holders.size() > shown)
    page.add("<p class=\"muted\">{} more are in the JSON report.</p>\n",
             count_text(static_cast<std::int64_t>(of.holders.size() - shown)));
}

void add_what_if(Document& page, const ReportSnapshot& of) {
  if (of.what_if.empty()) return;
  page.add(
      "<h3>The same requests with other settings</h3>\n<table>\n<thead><tr><th>setting</th><th "
      "class=\"n\">reserved</th><th>request</th></tr></thead>\n<tbody>\n");
  for (const ReportWhatIf& one : of.what_if)
    page.add("<tr><th scope=\"row\">{}</th><td class=\"n\">{}</td><td>{}</td></tr>\n", html_inline(one.setting),
             bytes_text(one.peak_reserved_bytes),
             !one.fits   ? "none"
             : *one.fits ? "fits"
                         : "does not fit");
  page.add("</tbody>\n</table>\n");
}

}  // namespace

void add_snapshots(Document& page, const Content& content) {
  const ReportSnapshot* const main = main_snapshot(content.report);
  if (main == nullptr) return;
  page.add("<dl class=\"facts\">");
  for (const SnapshotLine& line : snapshot_lines(*main, SnapshotLines::above_tables))
    page.add("<div><dt>{}</dt><dd>{}</dd></div>", line.label, html_inline(line.text));
  if (const auto line = snapshot_difference(content.report))
    page.add("<div><dt>{}</dt><dd>{}</dd></div>", line->label, html_inline(line->text));
  page.add("</dl>\n");
  add_memory_map(page, *main);
  add_live_memory(page, *main);
  add_holders(page, *main);
  add_what_if(page, *main);
  if (content.report.snapshots.size() > 1)
    page.add("<p class=\"muted\">{} in the JSON report.</p>\n",
             plural(static_cast<std::int64_t>(content.report.snapshots.size()) - 1, "more snapshot is",
                    "more snapshots are"));
}

}  // namespace oomdoctor::html
