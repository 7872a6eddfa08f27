// Why it happened and what to do: causes with their deciding facts, fixes in the order to try, what does not help.
#include <fmt/format.h>

#include <algorithm>

#include "report/advice_words.h"
#include "report/chart.h"
#include "report/sink.h"
#include "report/terminal_sections.h"
#include "report/utf8.h"
#include "report/words.h"

namespace oomdoctor::terminal {
namespace {

/// The strongest `kept` reasons may only go at rank `drop`; the others go early.
void add_reasons(Page& page, const Report& report, const std::vector<Because>& reasons, std::string_view word,
                 std::size_t kept, int drop) {
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    std::string text = plain_line(reasons[i].text);
    if (!reasons[i].locations.empty())
      text += page.paint.dim("  [" + plain_line(short_places(report, reasons[i].locations, 2)) + "]");
    page.text(fmt::format("    {:<8} ", i == 0 ? word : ""), text,
              i < kept    ? drop
              : i == kept ? std::max(drop, 6)
                          : Item::only_verbose);
  }
}

/// The first cause with what decided it; the others with less and less.
void add_cause(Page& page, const Report& report, const ReportCause& cause, std::size_t rank) {
  constexpr int bar_width = 6;
  const int drop = rank == 0 ? 0 : rank == 1 ? 1 : rank == 2 ? 7 : Item::only_verbose;
  const std::string first = fmt::format("  {} {:>6}  ", pad(bar(cause.probability, bar_width), bar_width),
                                        cause.probability < 0.01 ? "<1%" : percent_text(cause.probability));
  const std::string title = plain_line(cause.title.empty() ? cause.cause : cause.title);
  page.text(first, (rank == 0 ? page.paint.bold(title) : title) + page.paint.dim("  (" + plain_line(cause.cause) + ")"),
            drop);
  add_reasons(page, report, cause.because, "because", rank == 0 ? 2 : 1, rank == 0 ? 0 : std::max(drop, 8));
  add_reasons(page, report, cause.against, "but", rank == 0 ? 1 : 0, std::max(drop, 5));
}

/// "saves 4.20 to 6.00 GiB, enough on its own, costs nothing"
std::string details_text(const Page& page, const ReportFix& fix) {
  std::vector<std::string> parts = fix_details(fix);
  for (std::string& part : parts) part = part == enough_words ? page.paint.good(part) : plain_line(part);
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// "HF Trainer (now 8): per_device_train_batch_size=4"; code of several lines stands below its place.
void add_listed_setting(Page& page, const FixSetting& setting, int drop) {
  std::string scope = plain_line(setting.scope);
  if (!setting.from.empty()) scope += " (now " + plain_line(setting.from) + ")";
  const std::string label = "     " + page.paint.dim(scope + ": ");
  if (setting.text.find('\n') == std::string::npos) return page.text(label, plain_line(setting.text), drop);
  page.text(label, "", drop);
  add_setting(page, setting, 7, drop);
}

}  // namespace

void add_causes(Page& page, const Report& report) {
  if (!report.causes.empty()) {
    page.heading("Likely causes");
    for (std::size_t i = 0; i < report.causes.size(); ++i) {
      if (i > 0 && report.causes[i].probability < 0.02) break;
      add_cause(page, report, report.causes[i], i);
    }
  }
  if (report.why_not) {
    const ReportCause& asked = *report.why_not;
    page.heading(fmt::format("Why not {}: {}", plain_line(asked.cause), percent_text(asked.probability)));
    add_reasons(page, report, asked.because, "for it", asked.because.size(), 0);
    add_reasons(page, report, asked.against, "but", asked.against.size(), 0);
    if (asked.because.empty() && asked.against.empty())
      page.text("       ", "The log has no evidence for or against it.");
  }
}

void add_setting(Page& page, const FixSetting& setting, int indent, int drop) {
  const std::string blank(static_cast<std::size_t>(indent), ' ');
  std::string text = plain_block(setting.text);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::vector<std::string> rows;
  for (std::size_t from = 0; from <= text.size();) {
    const auto end = std::min(text.find('\n', from), text.size());
    const std::string line = text.substr(from, end - from);
    // A remark behind the command goes to a line of its own where both do not fit.
    const auto remark = line.find("   #");
    const bool split = remark != std::string::npos && indent + columns_of(line) > page.width();
    for (auto& row : wrap(blank, line.substr(0, split ? remark : line.size()), page.width()))
      rows.push_back(std::move(row));
    if (split)
      for (auto& row : wrap(blank, line.substr(remark + 3), page.width())) rows.push_back(page.paint.dim(row));
    from = end + 1;
  }
  page.lines(std::move(rows), drop);
}

void add_fixes(Page& page, const Report& report) {
  if (report.fixes.empty()) return;
  page.heading("Fixes, in the order to try");
  for (std::size_t i = 0; i < report.fixes.size(); ++i) {
    const ReportFix& fix = report.fixes[i];
    const int drop = i == 0 ? 0 : i == 1 ? 2 : i == 2 ? 4 : i == 3 ? 7 : Item::only_verbose;
    const std::string title = plain_line(fix.title), details = details_text(page, fix);
    page.text(fmt::format("  {}. ", i + 1), page.paint.bold(title) + (details.empty() ? "" : "  " + details), drop);
    if (i == 0 && !fix.why.empty()) page.text("     ", plain_line(fix.why), 5);
    // The first fix's first setting stands in the verdict; other places for the same fix go early.
    const int setting_drop = i == 0 ? 6 : drop + 1;
    for (std::size_t s = 0; s < fix.settings.size(); ++s)
      add_listed_setting(page, fix.settings[s], s == 0 ? setting_drop : std::max(setting_drop, 8));
    if (i == 0 && !fix.verify.empty()) page.text("     " + page.paint.dim("Fixed when: "), plain_line(fix.verify), 6);
  }
  if (const std::string plan = plan_words(report); !plan.empty()) page.text("  ", plan, 5);
}

void add_remarks(Page& page, const Report& report) {
  if (report.held_back.empty() && report.questions.empty() && report.notes.empty()) return;
  constexpr int hang = 5;
  const auto later = [](std::size_t i, int first) { return i == 0 ? first : i == 1 ? 8 : Item::only_verbose; };
  if (report.fixes.empty()) page.blank();
  for (std::size_t i = 0; i < report.held_back.size(); ++i) {
    const HeldBack& advice = report.held_back[i];
    page.text("  Won't help: ", page.paint.bold(plain_line(advice.title)) + ". " + plain_line(advice.because),
              later(i, 3), hang);
  }
  for (std::size_t i = 0; i < report.questions.size(); ++i) {
    const Question& question = report.questions[i];
    std::string text = plain_line(question.text);
    if (!question.command.empty()) text += " Run " + page.paint.bold(plain_line(question.command));
    page.text("  To narrow it down: ", text, later(i, 5), hang);
  }
  for (const auto& note : report.notes) {
    const std::string where = note.location ? "  [" + plain_line(place(*note.location)) + "]" : "";
    page.text("  " + (note.severity == "note" ? page.paint.dim("Note: ") : page.paint.warning("Note: ")),
              plain_line(note.text) + page.paint.dim(where), note.severity == "note" ? 8 : 3, hang);
  }
}

}  // namespace oomdoctor::terminal
