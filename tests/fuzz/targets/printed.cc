// Bytes as a line that users print themselves: every value that is read is in the line.
#include "read/freeform.h"

#include <cmath>

#include "../target.h"

namespace oomdoctor::testing {
namespace {

void run(std::string_view line) {
  const FreeformLine printed = read_freeform(line);
  for (const FreeformValue& value : printed.values) {
    demand(value.number_at < line.size());
    demand(value.device_at == FreeformValue::none || value.device_at < line.size());
    demand(std::isfinite(value.reading.value) && std::isfinite(value.factor));
  }
  for (const std::size_t at : number_offsets(printed)) demand(at < line.size());
  for (const std::size_t at : {std::size_t{0}, line.size() / 2, line.size()}) {
    may_name_step(line, at);
    may_name_memory(line, at);
    may_name_pair(line, at);
    may_end_bar(line, at);
  }
}

constexpr std::size_t longest = 300;
std::vector<std::string> seeds() { return line_seeds({"samples"}, longest); }

const Added target({.name = "printed", .longest = longest, .run = run, .seeds = seeds});

}  // namespace
}  // namespace oomdoctor::testing
