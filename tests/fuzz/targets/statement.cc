// Bytes as a line that may state a failure in any wording.
#include "read/statement.h"

#include "../target.h"

namespace oomdoctor::testing {
namespace {

void run(std::string_view text) {
  const Statement statement = read_statement(text);
  for (const auto& size : {statement.asked, statement.free, statement.used, statement.allocated, statement.reserved,
                           statement.unallocated, statement.total, statement.limit})
    demand(!size || (size->count >= 0 && size->slack >= 0));
}

constexpr std::size_t longest = 200;
std::vector<std::string> seeds() { return line_seeds({"samples"}, longest); }

const Added target({.name = "statement", .longest = longest, .run = run, .seeds = seeds});

}  // namespace
}  // namespace oomdoctor::testing
