// The sections of the terminal report, top to bottom. Each one writes nothing when it has nothing to say.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "oomdoctor/report.h"
#include "report/layout.h"
#include "report/terminal.h"

namespace oomdoctor::terminal {

inline constexpr std::size_t all = static_cast<std::size_t>(-1);

/// Everything above the verdict, in the short report and in the verbose one.
void add_brief(Page& page, const Report& report);
void add_evidence(Page& page, const Report& report);

void add_inputs(Page& page, const Report& report);
void add_runs(Page& page, const Report& report, std::size_t max_runs);  ///< where the log holds several
void add_held_back(Page& page, const HeldBack& advice);
void add_notes(Page& page, const Report& report, std::size_t max_notes);  ///< errors and warnings; `all`: every one

/// Outcome, cause, confidence; fixes with their commands; the proof. Three fixes, or all of them in full.
void add_verdict(Page& page, const Report& report, const RenderOptions& view);

/// The lines to copy, wrapped only where they must be; a remark moves below its command where both do not fit.
std::vector<std::string> command_rows(const Page& page, const std::string& command, int indent);

/// How many fixes the short verdict leaves out.
std::size_t hidden_fixes(const Report& report);

}  // namespace oomdoctor::terminal
