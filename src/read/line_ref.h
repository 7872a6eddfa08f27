// A line that a parser matched. It is valid as long as its block. Evidence outlives the block but copies the line, so
// it is made only for the few lines that a report may cite.
#pragma once

#include <string_view>

#include "model/evidence.h"
#include "read/window.h"

namespace oomdoctor {

struct LineRef {
  Line line;                ///< the first line
  std::string_view reader;  ///< "torch_oom/request"
  i64 first_line = 0, last_line = 0;
  std::string_view marked = {};  ///< the decisive part of the line; may be empty

  /// A copy for the report. Long lines are cut to Evidence::max_excerpt bytes around the marked part.
  Evidence evidence() const;
};

}  // namespace oomdoctor
