// Bytes as one line: cleaned, and with the tags at its front removed.
#include "../logs.h"
#include "../target.h"
#include "text/lines.h"

namespace oomdoctor::testing {
namespace {

bool same(const LinePrefix& a, const LinePrefix& b) {
  return a.has_same_layout(b) && a.rank == b.rank && a.pid == b.pid && a.time == b.time;
}

void run(std::string_view raw) {
  const std::string line = clean_line(raw);
  demand(line.size() <= raw.size());
  demand(!is_clean(raw) || line == raw || raw.find_first_of("\r\n") != raw.npos);

  const LinePrefix prefix = peel_prefix(line);
  demand(prefix.length <= line.size());
  demand(!prefix.rank || prefix.rank_at < line.size());
  demand(!prefix.pid || prefix.pid_at < line.size());
  demand(!prefix.time || prefix.time_at + prefix.time_length <= line.size());
  skip_location(std::string_view(line).substr(prefix.length));
  demand(same(peel_prefix(line.substr(0, prefix.bytes_examined)), prefix));

  // A line that differs only in its digits, and so has the form of this one.
  const std::string other = with_other_digits(line);
  if (prefix.strange) return;  // no form
  if (const auto read = read_prefix(prefix, other)) demand(same(*read, peel_prefix(other)));
}

constexpr std::size_t longest = 256;
std::vector<std::string> seeds() { return line_seeds({"samples"}, longest); }

const Added target({.name = "prefix", .longest = longest, .run = run, .seeds = seeds});

}  // namespace
}  // namespace oomdoctor::testing
