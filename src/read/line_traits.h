// What the line of a failure says next to its message. Nothing after the scan reads the text of a line.
#pragma once

#include "model/scan_result.h"

namespace oomdoctor {

/// Sets the traits and the number of victims of a failure whose lines are all known.
void read_lines_of(Incident& incident);

}  // namespace oomdoctor
