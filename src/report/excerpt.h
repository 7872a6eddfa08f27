// The cited line of a failure with the place in it that matters, as compilers show an error.
#pragma once

#include <string>
#include <string_view>

#include "oomdoctor/report.h"

namespace oomdoctor {

/// A line in three parts, neutralised as plain text; `mark` is what the caret goes under, "" where nothing is marked.
struct Cited {
  std::string before, mark, after;
};

/// At most `width` columns, cut so that the mark stays in sight with some text on both of its sides.
Cited cite(const ReportIncident& of, int width);

/// The mark is labelled only where it is the requested size.
std::string_view mark_label(const Cited& line, const ReportIncident& of);

}  // namespace oomdoctor
