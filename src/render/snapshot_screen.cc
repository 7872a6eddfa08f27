// Allocator snapshots for people: on a terminal, with the verdict last, and as Markdown, with the verdict first.
#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "render/document.h"
#include "render/screens.h"
#include "render/terminal_sections.h"
#include "report/escape.h"
#include "report/snapshot_words.h"
#include "report/utf8.h"
#include "report/words.h"

namespace oomdoctor {
namespace {

// With these, the screen has at most 40 lines of 80 columns.
constexpr std::size_t holders_shown = 8, snapshots_shown = 5, notes_shown = 2;

std::string fits_words(const ReportWhatIf& of) {
  if (!of.fits) return "";
  return *of.fits ? "the request fits" : "it does not fit";
}

std::string more_words(std::size_t all, std::size_t shown) {
  return count_text(static_cast<std::int64_t>(all - shown)) + " more in the JSON report";
}

/// The columns of the longest of these texts.
template <class Rows, class Words>
int widest(const Rows& rows, std::size_t shown, const Words& words) {
  int columns = 0;
  for (std::size_t i = 0; i < std::min(rows.size(), shown); ++i)
    columns = std::max(columns, count_columns(words(rows[i])));
  return columns;
}

void add_overview(Page& page, const Report& report) {
  if (report.snapshots.size() < 2) return;
  page.heading("Snapshots");
  const auto path = [](const ReportSnapshot& of) { return clip_front(plain_line(of.path), 40); };
  const int columns = widest(report.snapshots, snapshots_shown, path);
  for (std::size_t i = 0; i < std::min(report.snapshots.size(), snapshots_shown); ++i) {
    const ReportSnapshot& of = report.snapshots[i];
    page.text("  " + pad(path(of), columns) + fmt::format("  GPU {}  ", of.device),
              fmt::format("{} live of {} reserved, {}", bytes_text(of.live_bytes), bytes_text(of.reserved_bytes),
                          when_words(of)));
  }
  if (report.snapshots.size() > snapshots_shown)
    page.text("  ", page.paint.dim(more_words(report.snapshots.size(), snapshots_shown)));
  page.blank();
}

void add_holders(Page& page, const ReportSnapshot& of) {
  if (of.holders.empty()) return;
  page.heading("Most memory");
  const auto size = [](const ReportHolder& one) { return bytes_text(one.live_bytes); };
  const auto kind = [](const ReportHolder& one) { return plain_line(category_words(one.category)); };
  const int sizes = widest(of.holders, holders_shown, size), kinds = widest(of.holders, holders_shown, kind);
  for (std::size_t i = 0; i < std::min(of.holders.size(), holders_shown); ++i) {
    const ReportHolder& one = of.holders[i];
    const std::string blanks(static_cast<std::size_t>(sizes - count_columns(size(one))), ' ');
    page.text(fmt::format("  {}{}  {}  ", blanks, size(one), pad(kind(one), kinds)),
              fmt::format("{} ({})", plain_line(holder_words(one)), plural(one.blocks, "block", "blocks")));
  }
  if (of.holders.size() > holders_shown) page.text("  ", page.paint.dim(more_words(of.holders.size(), holders_shown)));
}

void add_what_if(Page& page, const ReportSnapshot& of) {
  if (of.what_if.empty()) return;
  page.heading("The same requests with other settings");
  const auto setting = [](const ReportWhatIf& one) { return plain_line(one.setting); };
  const int columns = widest(of.what_if, of.what_if.size(), setting);
  for (const ReportWhatIf& one : of.what_if) {
    const std::string fits = fits_words(one);
    page.text("  " + pad(setting(one), columns) + "  ",
              fmt::format("max {} reserved{}{}", bytes_text(one.peak_reserved_bytes), fits.empty() ? "" : ", ",
                          one.fits.value_or(false) ? page.paint.good(fits) : fits));
  }
}

}  // namespace

std::string snapshot_screen(const Report& report, const RenderOptions& view) {
  Page page(view.width, Paint{view.color, view.ascii});
  add_overview(page, report);
  const ReportSnapshot& main = *main_snapshot(report);
  for (const SnapshotLine& line : snapshot_lines(main, SnapshotLines::above_tables))
    page.text(line.label + ": ", plain_line(line.text), 2);
  if (const auto line = snapshot_difference(report)) page.text(line->label + ": ", plain_line(line->text), 2);
  add_holders(page, main);
  add_what_if(page, main);
  page.blank();
  terminal::add_notes(page, report, notes_shown);
  RenderOptions verdict = view;
  verdict.quiet = true;
  terminal::add_verdict(page, report, verdict);
  return page.str();
}

std::string snapshot_markdown(const Report& report) {
  Document out;
  out.add("## {}\n\n**{}**\n\n", verdict_words(report), markdown_inline(report.verdict.headline));
  const ReportSnapshot& main = *main_snapshot(report);
  for (const SnapshotLine& line : snapshot_lines(main, SnapshotLines::above_tables))
    out.add("- **{}:** {}\n", line.label, markdown_inline(line.text));
  if (const auto line = snapshot_difference(report))
    out.add("- **{}:** {}\n", line->label, markdown_inline(line->text));
  if (report.snapshots.size() > 1) {
    out.add("\n| snapshot | GPU | live | reserved | |\n| :-- | --: | --: | --: | :-- |\n");
    for (const ReportSnapshot& of : report.snapshots)
      out.add("| {} | {} | {} | {} | {} |\n", markdown_inline(of.path), of.device, bytes_text(of.live_bytes),
              bytes_text(of.reserved_bytes), when_words(of));
  }
  if (!main.holders.empty()) {
    out.add("\n### Most memory\n\n| live | line of code | kind | blocks |\n| --: | :-- | :-- | --: |\n");
    for (std::size_t i = 0; i < std::min(main.holders.size(), holders_shown); ++i) {
      const ReportHolder& one = main.holders[i];
      out.add("| {} | {} | {} | {} |\n", bytes_text(one.live_bytes), markdown_inline(holder_words(one)),
              markdown_inline(category_words(one.category)), count_text(one.blocks));
    }
    if (main.holders.size() > holders_shown) out.add("\n{}\n", more_words(main.holders.size(), holders_shown));
  }
  if (!main.what_if.empty()) {
    out.add("\n### The same requests with other settings\n\n| setting | max reserved | |\n| :-- | --: | :-- |\n");
    for (const ReportWhatIf& one : main.what_if)
      out.add("| {} | {} | {} |\n", markdown_code(one.setting), bytes_text(one.peak_reserved_bytes), fits_words(one));
  }
  for (const ReportNote& note : report.notes)
    if (note.severity != "note") out.add("\n{}\n", markdown_inline(note.text));
  return out.take();
}

}  // namespace oomdoctor
