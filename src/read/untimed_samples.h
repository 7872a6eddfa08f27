// Tables of a monitor without a time, whose rows are in the order of time: they count the rows, or all of their columns
// are of one machine. Other tables without a time may compare things.
#pragma once

#include "read/first_lines.h"

namespace oomdoctor {

/// Finds such a table with a header among the first lines of an input. Fills `layout`.
bool find_untimed_samples(const FirstLines& first, Layout& layout);

}  // namespace oomdoctor
