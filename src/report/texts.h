// Every text of a report, in one place. A field that is added to the report does not compile in texts.cc until it is
// named there, so that none can be forgotten.
#pragma once

#include <functional>
#include <string>

#include "oomdoctor/report.h"

namespace oomdoctor {

/// `excerpt_of`: the location whose excerpt the text is, with the columns that are marked in it; else null.
using TextVisit = std::function<void(std::string& text, Location* excerpt_of)>;

/// All texts, identifiers too, in an order that depends on the report alone.
void visit_texts(Report& report, const TextVisit& visit);

}  // namespace oomdoctor
