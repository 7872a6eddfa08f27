// Bytes as the lines around a message: the traceback that belongs to each line, and the statement that it begins.
#include "read/traceback.h"

#include "../target.h"
#include "read/statement.h"

namespace oomdoctor::testing {
namespace {

void run(std::string_view text) {
  const Window window(text);
  Line line = window.line_around(0, 1);
  for (int n = 0; n < 40; ++n) {
    demand(line.begin <= line.end && line.end <= text.size());
    const Cursor cursor(window, line);
    demand(read_traceback(cursor).size() <= 64);
    read_statement(cursor);
    is_quoted_in_text(cursor, true);
    is_quoted_in_text(cursor, false);
    const auto next = window.next(line);
    if (!next) break;
    demand(next->begin >= line.end && next->number >= line.number);
    const auto back = window.previous(*next);
    demand(back && back->end <= next->begin);
    line = *next;
  }
}

constexpr std::size_t longest = 700;
std::vector<std::string> seeds() { return file_seeds({"samples"}, longest); }

const Added target({.name = "traceback", .longest = longest, .run = run, .seeds = seeds});

}  // namespace
}  // namespace oomdoctor::testing
