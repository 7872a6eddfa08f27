// What the rows of a table are about, by the cells of its first rows: a column that distinguishes them, although no
// name of a column says so, or a count of rows that only looks like the number of a GPU.
#pragma once

#include <span>
#include <string>

#include "read/parser.h"

namespace oomdoctor {

/// A column "index" that counts the rows names no GPU: it goes on by one from row to row, farther than any machine has
/// GPUs, or each time at another second, or all memory next to it is of the machine.
/// Without a time, such rows may be about anything. False if there is none.
bool drop_row_numbers(std::span<const std::string> lines, Layout& layout);

/// The name of a setting that is larger, or smaller, in each row than in the row before; "" if there is none.
std::string find_sweep(std::span<const std::string> lines, const Layout& layout);

/// Finds the column that names what each row is about, where the rows compare several things, and makes each of them a
/// series of its own.
void find_subjects(std::span<const std::string> lines, Layout& layout);

/// Finds the column that distinguishes the rows of one moment, where no name of a column does, and names it: "service"
/// holds "api" and "db" at each time. Without it, two things would be one series.
void find_key(std::span<const std::string> lines, Layout& layout);

}  // namespace oomdoctor
