// Finds the Python traceback of a message: above it (the interpreter), around it (IPython), or below it (loggers that
// print the message first).
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "model/event.h"
#include "read/window.h"

namespace oomdoctor {

/// The frames, outermost first; empty if there is no traceback nearby. Returns at most 64 frames and reads at most 200
/// lines.
std::vector<Frame> read_traceback(const Cursor& cursor);

/// "Worker failed with error 'CUDA out of memory…'": the process that waits for a worker quotes the worker's error
/// below its own traceback, which says nothing of the failure.
bool quotes_worker(std::string_view message);

/// The line that a program printed between a message of failure, on line `from`, and the traceback that ends on the
/// current line, if it does not speak of a failure: the program continued, and failed again. nullopt if there is none,
/// or if the traceback begins before the message.
std::optional<Line> find_work_before_traceback(const Cursor& cursor, i64 from);

/// The latest line between line `from` and the current one that does not speak of a failure, if its time is at least
/// this many seconds after the first dated line between them.
std::optional<Line> find_later_work(const Cursor& cursor, i64 from, double seconds);

/// True for a file of an installed package or of the interpreter, as opposed to the user's code.
bool is_library_file(std::string_view file);

}  // namespace oomdoctor
