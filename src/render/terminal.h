// The report for a terminal. Details come first and the verdict last, because people read logs from the end: the
// failure, its cause with the confidence, the first fix. The short report has at most 30 lines of 100 columns.
#pragma once

#include <string>

#include "oomdoctor/report.h"

namespace oomdoctor {

/// Options of the terminal report; other writers use only `folder`.
struct RenderOptions {
  int width = 100;  ///< columns; no line exceeds them
  bool color = false;
  bool ascii = false;       ///< ASCII only, because the locale is not UTF-8
  bool verbose = false;     ///< print everything
  bool quiet = false;       ///< print the verdict in one line
  std::string folder = {};  ///< the working directory: formats with relative paths start from it
};

std::string terminal_text(const Report& report, const RenderOptions& view = {});

}  // namespace oomdoctor
