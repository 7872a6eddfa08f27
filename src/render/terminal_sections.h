// The sections of the terminal report, top to bottom. A section without content writes nothing.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "oomdoctor/report.h"
#include "render/layout.h"
#include "render/terminal.h"

namespace oomdoctor::terminal {

/// As a number of runs, notes or lost evidence: no limit.
inline constexpr std::size_t all = static_cast<std::size_t>(-1);

/// Everything above the verdict: of the short report, and of the verbose one.
void add_brief(Page& page, const Report& report);
void add_evidence(Page& page, const Report& report);
/// The first line of a report: the failure that the verdict is about, with its cause; after an end by something else,
/// that one first. Returns the failure; nullptr without one.
const ReportIncident* add_headline(Page& page, const Report& report);
/// The failure in the words of the report's first line, with its place; "" if the verdict is about something else.
std::string first_words(const Report& report);

void add_inputs(Page& page, const Report& report);
void add_runs(Page& page, const Report& report, std::size_t max_runs);  ///< if the log contains several
void add_snapshots(Page& page, const Report& report);
void add_held_back(Page& page, const HeldBack& advice);
void add_lost(Page& page, const Report& report, std::size_t max_lost);  ///< unless the verdict shows it
void add_notes(Page& page, const Report& report,
               std::size_t max_notes);  ///< errors and warnings, then brief notes; with `all`, every note

/// Outcome, cause and confidence; fixes with their commands; the check for the next run. Three fixes, or all with full
/// text.
void add_verdict(Page& page, const Report& report, const RenderOptions& view);

/// The whole report in one line. A failure has the words of the report's first line.
std::string verdict_line(const Page& page, const Report& report);

/// The lines of a command to copy. They wrap only if they must; a remark moves below its command if both do not fit.
std::vector<std::string> command_rows(const Page& page, const std::string& command, int indent);
/// The question after its label, and the command or instruction that answers it.
void add_question(Page& page, std::string_view label, const Question& question);

/// The number of fixes that the short verdict leaves out.
std::size_t hidden_fixes(const Report& report);

}  // namespace oomdoctor::terminal
