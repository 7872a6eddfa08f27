#include "report/terminal.h"

#include <algorithm>

#include "report/escape.h"
#include "report/terminal_sections.h"
#include "report/utf8.h"
#include "report/words.h"

namespace oomdoctor {
namespace {

constexpr int min_width = 40;

/// A line between the details and the verdict. It names what the short report leaves out, unless there is nothing to
/// separate.
std::string rule(const Report& report, const RenderOptions& view, int width) {
  std::string text;
  if (!view.verbose && !(report.incidents.empty() && report.fixes.empty())) {
    const auto hidden = static_cast<std::int64_t>(terminal::hidden_fixes(report));
    text = "── -v shows the evidence";
    if (hidden > 0) text += " and " + plural(hidden, "more fix", "more fixes");
    const std::string& cause = report.verdict.cause;
    if (!cause.empty() && cause != "undetermined") {
      const std::string more = text + "; oomdoctor explain " + plain_line(cause) + " explains the cause";
      if (columns_of(more) < width) text = more;
    }
    text += " ";
  }
  if (columns_of(text) > width) text.clear();
  for (int i = columns_of(text); i < width; ++i) text += "─";
  return text;
}

}  // namespace

std::string terminal_text(const Report& report, const RenderOptions& view) {
  Page page(std::max(view.width, min_width), Paint{view.color, view.ascii});
  if (!view.quiet) {
    const bool verbose = view.verbose || !report.trace.empty() || report.why_not;
    verbose ? terminal::add_evidence(page, report) : terminal::add_brief(page, report);
    if (!page.empty() && !(report.incidents.empty() && report.fixes.empty() && !verbose))
      page.line(page.paint.dim(rule(report, view, page.width())));
  }
  terminal::add_verdict(page, report, view);
  return page.str();
}

}  // namespace oomdoctor
