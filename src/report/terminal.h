// The report for a terminal. Details come first and the verdict last, because logs are read from the end: what died,
// why, how sure, what to try first. The short report takes at most 30 lines of 100 columns.
#pragma once

#include <string>

#include "oomdoctor/report.h"

namespace oomdoctor {

struct RenderOptions {
  int width = 100;  ///< columns; nothing goes beyond them
  bool color = false;
  bool ascii = false;       ///< no other characters: the locale is not UTF-8
  bool verbose = false;     ///< leave nothing out
  bool quiet = false;       ///< the verdict alone
  std::string folder = {};  ///< the working directory: formats that need relative paths count from it
};

std::string terminal_text(const Report& report, const RenderOptions& view = {});

}  // namespace oomdoctor
