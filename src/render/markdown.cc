#include "render/markdown.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/ascii.h"
#include "base/bytes.h"
#include "render/chart.h"
#include "render/document.h"
#include "report/advice_words.h"
#include "report/escape.h"
#include "report/incident_words.h"
#include "report/series_words.h"
#include "report/snapshot_words.h"
#include "report/words.h"

namespace oomdoctor {
namespace {

std::string inline_or(const std::string& text, const std::string& otherwise) {
  return markdown_inline(text.empty() ? otherwise : text);
}

/// The verdict comes first here, because people read a page from its top.
void add_verdict(Document& out, const Report& report) {
  const Verdict& verdict = report.verdict;
  out.add("## {}\n\n", verdict_words(report));
  if (is_all_clear(report)) {
    const std::string growing = growing_series_words(report);
    out.add("No sign of a memory failure in {}{}.\n\n", read_words(report),
            !growing.empty()            ? ". But " + markdown_inline(growing)
            : has_memory_values(report) ? ", and no memory series keeps growing"
                                        : ". The log has no memory values over time that oomdoctor reads");
    return;
  }
  out.add("**{}**\n\n", markdown_inline(verdict.headline));
  if (const std::string why = why_words(report); !why.empty()) out.add("- **Why:** {}\n", markdown_inline(why));
  if (!report.fixes.empty())
    out.add("- **{}:** {}\n", is_about_earlier_run(report) ? "Try first, for the earlier run" : "Try first",
            markdown_inline(report.fixes.front().title));
  if (const std::string again = retry_words(verdict); !again.empty())
    out.add("- **Run again:** {}\n", markdown_inline(again));
  out.add("\n");
  if (!report.fixes.empty() && !report.fixes.front().settings.empty())
    out.add("{}\n", markdown_fence(report.fixes.front().settings.front().text));
}

/// A table with numbers that add up as printed, the same as on the terminal.
void add_account(Document& out, const ReportIncident& of) {
  const ReportAccount& account = *of.account;
  std::vector<Share> parts = account.shares;
  parts.push_back({unexplained_label(account), account.unexplained_bytes});
  const SharesText text = shares_text(account);
  out.add("| Where the memory of {} was | {} | share | |\n| :-- | --: | --: | :-- |\n", memory_name(of), text.unit);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto capacity = static_cast<double>(account.capacity_bytes);
    const double share = capacity > 0 ? static_cast<double>(parts[i].bytes) / capacity : 0;
    out.add("| {} | {} | {} | {} |\n", markdown_inline(parts[i].label), text.numbers[i], text.percents[i],
            bar(share, 20));
  }
  out.add("| **capacity** | **{}** | 100% | |\n\n", text.total);
}

/// Root causes in full. The evidence lists their consequences.
void add_incidents(Document& out, const Report& report) {
  for (const auto& incident : report.incidents) {
    if (incident.follows) continue;
    out.add("### {}{}\n\n", is_about_earlier_run(report) ? "Earlier: " : "", markdown_inline(incident_title(incident)));
    out.add("{}", markdown_code(place(incident.location)));
    if (const auto who = incident_circumstances(incident); !who.empty()) out.add(" ({})", markdown_inline(who));
    if (incident.frame) {
      out.add(", from {}", markdown_code(place_words(*incident.frame, incident.frame->file)));
      if (!incident.frame->function.empty()) out.add(" in {}", markdown_code(incident.frame->function));
    }
    out.add("\n\n");
    if (!incident.location.excerpt.empty())
      out.add("{}\n", markdown_fence(plain_line(incident.location.excerpt), "text"));
    if (incident.account) add_account(out, incident);
  }
  if (report.more_incidents > 0)
    out.add("{} not listed.\n\n", plural(report.more_incidents, "more failure is", "more failures are"));
}

void add_snapshots(Document& out, const Report& report) {
  const ReportSnapshot* const main = main_snapshot(report);
  if (main == nullptr) return;
  out.add("### Allocator snapshot\n\n");
  for (const SnapshotLine& line : snapshot_lines(*main))
    out.add("- **{}:** {}\n", line.label, markdown_inline(line.text));
  if (report.snapshots.size() > 1)
    out.add("- {} in the JSON report\n",
            plural(static_cast<std::int64_t>(report.snapshots.size()) - 1, "more is", "more are"));
  out.add("\n");
}

void add_series(Document& out, const Report& report) {
  if (report.series.empty()) return;
  out.add(
      "### Memory over the run\n\n| series | | first | last | max | values | shape |\n| :-- | :-- | --: | --: | --: | "
      "--: | :-- |\n");
  for (const auto& series : report.series) {
    std::string shape = trend_words(series);
    if (const std::string full = full_words(report, series); !full.empty()) shape += "; " + full;
    out.add("| {} | {} | {} | {} | {} | {} | {} |\n", markdown_inline(series_name(series)),
            sparkline(series.points, 24), value_text(series, series.first_value), value_text(series, series.last_value),
            value_text(series, series.max_value), count_text(series.n), markdown_inline(shape));
  }
  out.add("\n");
}

/// A few ranks are listed completely. Of many, the failed ones come first, then the growing ones, then those with the
/// highest maximum.
void add_ranks(Document& out, const Report& report) {
  constexpr std::size_t min_ranks = 3, max_ranks = 32;
  if (report.ranks.size() < min_ranks) return;
  std::vector<const ReportRank*> rows;
  for (const auto& rank : report.ranks) rows.push_back(&rank);
  if (rows.size() > max_ranks) {
    std::stable_sort(rows.begin(), rows.end(), [](const auto* a, const auto* b) {
      if (a->failed != b->failed) return a->failed;
      if (a->leak != b->leak) return a->leak;
      return a->max_value.value_or(0) > b->max_value.value_or(0);
    });
    rows.resize(max_ranks);
  }
  out.add("### Ranks\n\n{}\n\n", capitalised(ranks_summary(report)));
  out.add("| rank | first | last | max | last step | |\n| --: | --: | --: | --: | --: | :-- |\n");
  for (const auto* row : rows) {
    const auto size = [](const std::optional<double>& v) { return v ? bytes_text(*v) : std::string(); };
    out.add("| {} | {} | {} | {} | {} | {} |\n", row->rank, size(row->first_value), size(row->last_value),
            size(row->max_value), row->last_step ? std::to_string(*row->last_step) : "",
            row->failed ? "out of memory"
            : row->leak ? "keeps growing"
                        : "");
  }
  if (report.ranks.size() > rows.size())
    out.add("\n{} more are in the JSON report.\n",
            count_text(static_cast<std::int64_t>(report.ranks.size() - rows.size())));
  out.add("\n");
}

/// Reasons as a nested list under their cause, each with its lines.
void add_reasons(Document& out, const std::vector<Reason>& reasons, std::string_view mark) {
  for (const auto& reason : reasons) {
    out.add("  - {}{}", mark, markdown_inline(reason.text));
    if (!reason.locations.empty()) out.add(" ({})", markdown_code(places(reason.locations, 3)));
    out.add("\n");
  }
}

void add_causes(Document& out, const Report& report) {
  if (report.causes.empty()) return;
  out.add("### Likely causes\n\n");
  for (const auto& cause : report.causes) {
    if (&cause != &report.causes.front() && cause.probability < min_shown_probability) break;
    out.add("- **{}** {} ({})\n", percent_text(cause.probability), inline_or(cause.title, cause.cause),
            markdown_code(cause.cause));
    add_reasons(out, cause.because, "");
    add_reasons(out, cause.against, "but: ");
  }
  out.add("\n");
  const ReportCause& first = report.causes.front();
  const std::string command = markdown_code("oomdoctor explain " + first.cause);
  if (!first.guide.empty())
    out.add("More about this cause: {} or {}\n\n", command, markdown_code(first.guide));
  else if (!first.explanation.text.empty())
    out.add("More about this cause: {}\n\n", command);
}

void add_fixes(Document& out, const Report& report) {
  if (report.fixes.empty()) return;
  out.add("### Fixes, in the order to try\n\n");
  for (std::size_t i = 0; i < report.fixes.size(); ++i) {
    const ReportFix& fix = report.fixes[i];
    out.add("#### {}. {}\n\n{}\n\n", i + 1, markdown_inline(fix.title),
            markdown_inline(fmt::format("{}", fmt::join(fix_details(fix, Effects::each), ", "))));
    for (const auto& setting : fix.settings)
      if (setting.prose)
        out.add("{}: {}\n\n", markdown_inline(setting.scope), markdown_inline(setting.text));
      else
        out.add("{}:\n\n{}\n", markdown_inline(setting.scope), markdown_fence(setting.text));
    if (!fix.verify.empty()) out.add("{}: {}.\n\n", success_label(fix), markdown_inline(fix.verify));
  }
}

void add_remarks(Document& out, const Report& report) {
  const auto wrong = shown_advice(report);
  if (!wrong.empty()) out.add("### Won't help here\n\n");
  for (const HeldBack* advice : wrong)
    out.add("- **{}**: {}\n", markdown_inline(advice->title), markdown_inline(advice->because));
  if (!wrong.empty()) out.add("\n");
  if (!report.questions.empty()) out.add("### To narrow it down\n\n");
  for (const auto& question : report.questions) {
    out.add("- {}", markdown_inline(question.text));
    if (!question.command.empty())
      out.add(": {}", question.prose ? markdown_inline(question.command) : markdown_code(question.command));
    out.add("\n");
  }
  if (!report.questions.empty()) out.add("\n");
}

/// A folded section: the inputs, and the notes on reading them.
void add_evidence(Document& out, const Report& report) {
  out.add("<details><summary>Evidence: {} read, {} recognised</summary>\n\n",
          plural(report.coverage.lines, "line", "lines"), count_text(report.coverage.claimed));
  constexpr std::size_t inputs_listed = 64;
  for (std::size_t i = 0; i < std::min(report.inputs.size(), inputs_listed); ++i) {
    const ReportInput& input = report.inputs[i];
    const std::string content = input.kind == "snapshot" ? "allocator snapshot" : plural(input.lines, "line", "lines");
    out.add("- {}: {}, {}\n", markdown_code(input.path), content, bytes_text(input.bytes));
  }
  if (report.inputs.size() > inputs_listed)
    out.add("- and {} more\n",
            plural(static_cast<std::int64_t>(report.inputs.size() - inputs_listed), "file", "files"));
  for (const auto& incident : report.incidents) {
    if (incident.follows)
      out.add("- {}: {}, a consequence\n", markdown_code(place(incident.location)),
              markdown_inline(incident_title(incident)));
    if (!incident.occurrences.empty())
      out.add("- {}: printed again at {}\n", markdown_code(place(incident.location)),
              markdown_code(places(incident.occurrences, 5)));
  }
  for (const auto& lost : report.lost) out.add("- lost: {}\n", markdown_inline(lost_evidence_words(lost)));
  if (report.more_lost > 0) out.add("- lost: {} more\n", count_text(report.more_lost));
  for (const auto& note : report.notes) {
    out.add("- {}: {}", note.severity == "note" ? "note" : "warning", markdown_inline(note.text));
    if (note.location) out.add(" ({})", markdown_code(place(*note.location)));
    out.add("\n");
  }
  out.add("\noomdoctor {}\n\n</details>\n", markdown_inline(report.tool_version));
}

}  // namespace

std::string markdown_text(const Report& report) {
  Document out;
  add_verdict(out, report);
  add_incidents(out, report);
  add_snapshots(out, report);
  add_series(out, report);
  add_ranks(out, report);
  add_causes(out, report);
  add_fixes(out, report);
  add_remarks(out, report);
  add_evidence(out, report);
  return out.take();
}

}  // namespace oomdoctor
