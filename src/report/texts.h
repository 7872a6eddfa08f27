// Visits every text of a report, by the list of its fields (report_fields.h), so that redaction forgets none.
#pragma once

#include <functional>
#include <string>

#include "oomdoctor/report.h"

namespace oomdoctor {

/// `excerpt_of` is the location whose excerpt is the text, with its marked columns; null for other texts.
using TextVisit = std::function<void(std::string& text, Location* excerpt_of)>;

/// Visits all texts, including identifiers. The order depends on the report only.
void visit_texts(Report& report, const TextVisit& visit);

}  // namespace oomdoctor
