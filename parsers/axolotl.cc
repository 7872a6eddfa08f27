// axolotl: memory at a few named points of the run. Newer versions add the numbers to the Trainer's log instead, which
// the parser of that log reads.
//
// The first number is the allocated memory. Allocated plus "cache" is the reserved memory. "misc" is further memory in
// use on the GPU. The unit is 2^30 bytes although axolotl prints "GB".
#include "read/context.h"
#include "read/line_format.h"
#include "read/parser.h"

namespace oomdoctor::parsers::axolotl {
namespace {

constexpr double gibibyte = static_cast<double>(GiB);

}  // namespace

void moment(const Match& m, EventSink& sink) {
  constexpr Metric metrics[] = {Metric::allocated, Metric::reserved, Metric::used};
  // The parts add up: allocated, then reserved with the cache, then everything in use on the GPU.
  double sum = 0;
  static constexpr std::string_view tag = "[RANK:";  // every rank prints this line
  if (const std::size_t at = m.before().find(tag); at != std::string_view::npos) {
    Origin where;
    where.rank = static_cast<int>(leading_integer(m.before().substr(at + tag.size())));
    sink.at(where);
  }
  for (std::size_t i = 0; i < 3; ++i) {  // axolotl omits a part that is zero
    if (!m.has(i + 1)) continue;
    std::size_t at = 0;
    const auto part = read_number(m[i + 1], at);
    if (!part) return;
    sum += part->value;
    Reading r;
    r.metric = metrics[i];
    r.kind = SeriesKind::gauge;
    r.value = sum * gibibyte;
    r.quantum = gibibyte / 1000;
    r.unit = "GB";
    sink.reading(r);
  }
}

}  // namespace oomdoctor::parsers::axolotl
