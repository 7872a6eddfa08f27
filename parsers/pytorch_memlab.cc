// pytorch_memlab's report of the tensors in memory.
//
// "Used Memory" is the sum of the tensors that the report found. The line below it is the allocator's own count. Only
// that count is a measurement, so only that line is read. The letters K, M, G and T are powers of 2^10. The line
// profiler of pytorch_memlab prints one row per source line, not per point in time, so its rows are not a series.
#include "read/context.h"
#include "read/line_format.h"
#include "read/parser.h"
#include "read/sizes.h"

namespace oomdoctor::parsers::pytorch_memlab {

void allocated(const Match& m, EventSink& sink) {
  const auto size = read_size(m[2]);
  if (!size) return;
  Origin where;
  where.device = static_cast<int>(leading_integer(m[1]));
  sink.at(where);
  Reading r;
  r.metric = Metric::allocated;
  r.value = static_cast<double>(size->count);
  r.quantum = static_cast<double>(std::max<i64>(1, 2 * size->slack));
  r.unit = std::string(m[2].substr(m[2].size() - 1));
  r.label = "pytorch_memlab";
  sink.reading(r);
}

}  // namespace oomdoctor::parsers::pytorch_memlab
