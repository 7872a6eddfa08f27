// The Python traceback that belongs to a message: above it (the interpreter), around it (IPython) or below it (loggers
// that print the message first).
#pragma once

#include <vector>

#include "model/event.h"
#include "parse/window.h"

namespace oomdoctor {

/// Frames, outermost first; empty when there is none near. Bounded: 64 frames, 200 lines.
std::vector<Frame> read_traceback(const Cursor& cursor);

/// Inside an installed package or the interpreter, not the user's own code.
bool is_library_file(std::string_view file);

}  // namespace oomdoctor
