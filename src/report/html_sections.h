// The parts of the HTML page, top to bottom. Each one writes nothing when it has nothing to say; html.cc puts them into
// sections with their titles.
#pragma once

#include <string>
#include <vector>

#include "oomdoctor/report.h"
#include "report/document.h"
#include "report/html_citations.h"
#include "report/plot.h"

namespace oomdoctor::html {

/// What every part is written from.
struct Content {
  explicit Content(const Report& of) : report(of), plots(plots_of(of)), citations(of) {}

  const Report& report;
  std::vector<Plot> plots;  ///< the first one is beside the verdict
  Citations citations;
};

/// The failure that the verdict is about, else the first; nullptr where there is none.
const ReportIncident* main_incident(const Report& report);
/// A text of the report as HTML; what is between backticks becomes code.
std::string with_code(const std::string& text);
/// The same with links to its lines behind it: "Memory grows by 48.00 MiB per step (lines 32 and 156)."
std::string cited(const std::string& text, const std::string& links);
/// A command or a line of code with the place that it belongs to, on a line above it; page.js adds a button to copy it.
void add_command(Document& page, const std::string& place, const std::string& text);

void add_facts(Document& page, const Content& content);  ///< log, host, GPU, framework, version
std::string_view tone(const Report& report);             ///< class of the verdict: "bad", "warn" or "good"
void add_verdict(Document& page, const Content& content);
void add_first_fix(Document& page, const Content& content);
void add_fixes(Document& page, const Content& content);    ///< the other ones, what won't help, open questions
void add_account(Document& page, const Content& content);  ///< where the memory was
void add_chart(Document& page, const Plot& plot);
void add_series(Document& page, const Content& content);    ///< the other charts, every series, the ranks
void add_failures(Document& page, const Content& content);  ///< as the log printed them
void add_reasons(Document& page, const Content& content);   ///< causes, and the lines that speak for them
void add_inputs(Document& page, const Content& content);    ///< what was read, and what the reading had to say

}  // namespace oomdoctor::html
