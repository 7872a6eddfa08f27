// The cited line of a failure, with the important part marked as compilers mark an error.
#pragma once

#include <string>
#include <string_view>

#include "oomdoctor/report.h"

namespace oomdoctor {

/// A line in three parts, escaped as plain text. The caret goes under `mark`; "" if nothing is marked.
struct MarkedLine {
  std::string before, mark, after;
};

/// The line of a failure in at most `width` columns, cut so that the mark stays visible with some text on both sides.
MarkedLine mark_line(const ReportIncident& of, int width);

/// The label of the mark: " requested" if the mark is the requested size, else "".
std::string_view mark_label(const MarkedLine& line, const ReportIncident& of);

}  // namespace oomdoctor
