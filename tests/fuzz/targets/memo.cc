// Bytes as the lines of a log, each three times with other digits, plus forged lines with the same hashes. The
// templates that a thread has cached must not change the result.
#include "scan/template_cache.h"

#include "../../forged_hash.h"
#include "../../mapped.h"
#include "../logs.h"
#include "../target.h"
#include "text/template_hash.h"

namespace oomdoctor::testing {
namespace {

const FormatRegistry& readers() {
  static const FormatRegistry table(all_parsers(), shipped_prefilter_plan());
  return table;
}

bool may_be_forged(std::string_view line) {
  return line.size() >= 64 && line.substr(0, 40).find_first_of("0123456789") == line.npos;
}

/// The lines, plus a forged line with the hash of the first one, if its form allows a forgery.
std::string with_forged_lines(std::string lines) {
  const std::string first = lines.substr(0, lines.find('\n'));
  if (!may_be_forged(first)) return lines;
  const std::string forged = with_same_hash(first);
  if (template_hash(forged) != template_hash(first)) return lines;  // a byte became a digit
  return lines.append("\n").append(forged).append("\n").append(first);
}

void run(std::string_view text) {
  TemplateCache warm;
  std::string lines(text);
  for (int time = 0; time < 3; ++time) {
    mapped(readers(), lines, warm);
    lines = with_other_digits(lines);
  }
  lines = with_forged_lines(std::move(lines));
  TemplateCache fresh;
  demand(mapped(readers(), lines, warm) == mapped(readers(), lines, fresh));
}

constexpr std::size_t longest = 200;
std::vector<std::string> seeds() { return line_seeds({"samples"}, longest); }

const Added target({.name = "memo", .longest = longest, .run = run, .seeds = seeds});

}  // namespace
}  // namespace oomdoctor::testing
