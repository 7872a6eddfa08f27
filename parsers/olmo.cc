// OLMo and OLMo-core: the heading of a block of values, "[step=1/739328]".
#include "read/line_format.h"
#include "read/parser.h"

namespace oomdoctor::parsers::olmo {

void heading(const Match& m, EventSink& sink) {
  std::size_t step_at = 0, total_at = 0;
  const auto step = read_number(m[1], step_at), total = read_number(m[2], total_at);
  if (step && total) sink.step({static_cast<i64>(step->value), static_cast<i64>(total->value), {}});
}

}  // namespace oomdoctor::parsers::olmo
