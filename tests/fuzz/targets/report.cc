// Bytes as a log, or as parts of one, through all stages: a report results, every line is counted, and every writer can
// print it.
#include "../part_file.h"
#include "../target.h"
#include "base/error.h"
#include "oomdoctor/diagnose.h"
#include "render/writer.h"

namespace oomdoctor::testing {
namespace {

Report report_on(std::string_view text) {
  Options options;
  options.jobs = 1;
  if (!text.starts_with(part_front)) return diagnose({{"fuzz.log", std::string(text)}}, options);
  const MemoryFile part(text);
  return merge({part.path()}, options);
}

void run(std::string_view text) {
  try {
    const Report report = report_on(text);
    std::int64_t lines = 0;
    for (const ReportInput& input : report.inputs) lines += input.lines;
    demand(report.coverage.lines == lines && report.coverage.claimed <= lines);
    // A writer may print nothing if there is nothing to report; all writers together print at least the input.
    std::size_t written = 0;
    for (const Writer& writer : writers())
      written += writer.write(report, {.width = 40, .color = true, .verbose = true}).size();
    demand(written > 0);
  } catch (const Error& error) {  // only parts may throw
    demand(text.starts_with(part_front) && error.what()[0] != '\0');
  }
}

constexpr std::size_t longest = 1 << 16;

std::vector<std::string> seeds() {
  std::vector<std::string> all = file_seeds({"samples"}, longest);
  Options options;
  options.jobs = 1;
  for (std::string& log : file_seeds({"samples/stories", "samples/smi"}, longest))
    read_parts({{"rank_1.log", std::move(log)}}, options, [&](std::string_view part) { all.emplace_back(part); });
  return all;
}

const Added target({.name = "report", .longest = longest, .run = run, .seeds = seeds});

}  // namespace
}  // namespace oomdoctor::testing
