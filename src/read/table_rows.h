// Rows of any table of memory over time. Each amount of a row is a value of a series: of its column, and of what the
// row is about (a GPU, a process, a container).
//
// The index distinguishes the rows of several GPUs, else the uuid, else the bus id, else the name. If a row contains
// only a time, the order of the rows within one query distinguishes them.
#pragma once

#include <memory>

#include "read/parser.h"

namespace oomdoctor {

/// The rows of a layout, for Table::rows.
std::unique_ptr<Rows> table_rows(const Layout& layout);

}  // namespace oomdoctor
