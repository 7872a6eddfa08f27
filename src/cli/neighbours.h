// The lines next to the cited ones, for the page. A scan keeps them of failures only, so the log is read once more.
#pragma once

#include "oomdoctor/report.h"

namespace oomdoctor::cli {

/// Fills Report::neighbours for the lines that the page cites. Reads only the beginnings and the ends of plain files,
/// and only lines next to one that is still the cited line. It opens what the report names: only for a report on
/// logs that this process read, never for one from elsewhere, which could name any file of this machine.
void add_neighbours(Report& report);

}  // namespace oomdoctor::cli
