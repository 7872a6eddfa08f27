// The sections of the terminal report, top to bottom. Each one writes nothing when it has nothing to say. Items carry a
// rank by which they are left out where space is short (see Item::drop); a section's first and weightiest lines have
// none.
#pragma once

#include "oomdoctor/report.h"
#include "report/layout.h"

namespace oomdoctor::terminal {

void add_inputs(Page& page, const Report& report);
void add_runs(Page& page, const Report& report);  ///< where the log holds several
void add_incidents(Page& page, const Report& report);
void add_series(Page& page, const Report& report);
void add_ranks(Page& page, const Report& report);
void add_trace(Page& page, const Report& report);
void add_causes(Page& page, const Report& report);
void add_fixes(Page& page, const Report& report);
void add_remarks(Page& page, const Report& report);  ///< held back, questions, notes
void add_verdict(Page& page, const Report& report);

/// A line to copy: wrapped only where it must be, a comment behind it dimmed.
void add_setting(Page& page, const FixSetting& setting, int indent, int drop = 0);

}  // namespace oomdoctor::terminal
