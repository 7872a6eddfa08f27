// The sections of the HTML page, top to bottom. Each one writes nothing when it has nothing to say.
#pragma once

#include <vector>

#include "oomdoctor/report.h"
#include "report/document.h"
#include "report/plot.h"

namespace oomdoctor::html {

void add_verdict(Document& page, const Report& report);
void add_fixes(Document& page, const Report& report);
void add_account(Document& page, const Report& report);
void add_series(Document& page, const Report& report, const std::vector<Plot>& plots);
void add_ranks(Document& page, const Report& report);
void add_incidents(Document& page, const Report& report);
void add_causes(Document& page, const Report& report);
void add_remarks(Document& page, const Report& report);   ///< what does not help, and what would settle it
void add_evidence(Document& page, const Report& report);  ///< what was read, and what the reading had to say

}  // namespace oomdoctor::html
