// Bytes as a log that is scanned, without a verdict.
#include "../logs.h"
#include "../target.h"

namespace oomdoctor::testing {
namespace {

void run(std::string_view text) {
  const ScanResult file = scan_text(text);
  demand(file.inputs.size() == 1 && file.inputs.front().lines == file.coverage.lines);
  demand(file.coverage.claimed <= file.coverage.lines);
  demand(file.incidents.size() <= ScanLimits::incidents && file.series.size() <= ScanLimits::series);
  for (const Incident& incident : file.incidents)
    demand(incident.evidence.span.first_line >= 1 && incident.evidence.span.first_line <= file.coverage.lines);
}

constexpr std::size_t longest = 1024;
std::vector<std::string> seeds() { return file_seeds({"samples"}, longest); }

const Added target({.name = "scan", .longest = longest, .run = run, .seeds = seeds});

}  // namespace
}  // namespace oomdoctor::testing
