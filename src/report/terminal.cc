#include "report/terminal.h"

#include <algorithm>

#include "report/terminal_sections.h"
#include "report/utf8.h"
#include "report/words.h"

namespace oomdoctor {
namespace {

constexpr std::size_t lines_for_one_incident = 40;
constexpr std::size_t lines_for_each_further = 8;
constexpr int narrowest = 40;

std::size_t line_budget(const Report& report, int width) {
  const auto roots = std::count_if(report.incidents.begin(), report.incidents.end(),
                                   [](const ReportIncident& i) { return !i.follows; });
  const auto further = static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(roots - 1, 0, 3));
  // What is wrapped at a narrower width takes more lines for the same words.
  const std::size_t narrow = width < 100 ? 8 : 0;
  return lines_for_one_incident + narrow + lines_for_each_further * further;
}

/// Parts the details from the verdict, and says what was left out between them.
std::string rule(int width, std::size_t left_out) {
  std::string text;
  if (left_out > 0) text = "── " + plural(static_cast<std::int64_t>(left_out), "line", "lines") + " more with -v ";
  for (int i = columns_of(text); i < width; ++i) text += "─";
  return text;
}

}  // namespace

std::string terminal_text(const Report& report, const TerminalView& view) {
  const int width = std::max(view.width, narrowest);
  Page verdict(width, Paint{view.color});
  terminal::add_verdict(verdict, report);
  if (view.quiet) return verdict.str();

  Page details(width, Paint{view.color});
  terminal::add_inputs(details, report);
  terminal::add_runs(details, report);
  terminal::add_incidents(details, report);
  terminal::add_series(details, report);
  terminal::add_ranks(details, report);
  terminal::add_trace(details, report);
  terminal::add_causes(details, report);
  terminal::add_fixes(details, report);
  terminal::add_remarks(details, report);
  std::size_t left_out = 0;
  if (!view.verbose && report.trace.empty())
    left_out = details.shorten(line_budget(report, width) - verdict.line_count() - 1);
  details.line(details.paint.dim(rule(width, left_out)));
  return details.str() + verdict.str();
}

}  // namespace oomdoctor
