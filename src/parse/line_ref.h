// A line that a reader took, as long as the block that holds it is there. What is kept of it beyond that is Evidence,
// which costs a copy of the line: it is made of the few mentions that somebody will look at.
#pragma once

#include <string_view>

#include "model/evidence.h"
#include "parse/window.h"

namespace oomdoctor {

struct LineRef {
  Line line;                ///< where it begins
  std::string_view reader;  ///< "torch_oom/request"
  i64 first_line = 0, last_line = 0;
  std::string_view marked = {};  ///< the part of the line that counts; may be empty

  Evidence evidence() const;
};

}  // namespace oomdoctor
