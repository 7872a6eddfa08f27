// Bytes as a part: an Error, or a case that reads back as it was written.
#include "serialize/partial.h"

#include "../target.h"
#include "base/error.h"
#include "oomdoctor/diagnose.h"

namespace oomdoctor::testing {
namespace {

void run(std::string_view line) {
  try {
    const ScanResult once = read_part(line, "fuzz");
    const std::string written = partial_line({once.inputs.front().path, ""}, once);
    const ScanResult twice = read_part(written, "fuzz");
    demand(partial_line({twice.inputs.front().path, ""}, twice) == written);
  } catch (const Error& error) {
    demand(error.what()[0] != '\0');
  }
}

constexpr std::size_t longest = 8192;

/// The parts of short logs.
std::vector<std::string> seeds() {
  std::vector<std::string> parts;
  Options options;
  options.jobs = 1;
  for (std::string& log : file_seeds({"samples"}, longest))
    read_parts({{"rank_1.log", std::move(log)}}, options, [&](std::string_view part) {
      if (part.size() <= longest) parts.emplace_back(part);
    });
  return parts;
}

const Added target({.name = "partial", .longest = longest, .run = run, .seeds = seeds});

}  // namespace
}  // namespace oomdoctor::testing
