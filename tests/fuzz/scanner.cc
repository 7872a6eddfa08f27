// Bytes as a log: whatever they are, a report comes out, every line is counted, and every writer can print it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "oomdoctor/diagnose.h"
#include "report/writer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace oomdoctor;
  const Report report = diagnose({{.path = "fuzz.log", .memory = std::string(data, data + size)}});

  std::int64_t lines = 0;
  for (const ReportInput& input : report.inputs) lines += input.lines;
  if (report.coverage.lines != lines || report.coverage.claimed > lines) std::abort();

  // Some say nothing when there is nothing to say; all together say at least what the input was.
  std::size_t written = 0;
  for (const Writer& writer : writers()) written += writer.write(report, {.width = 40, .color = true, .verbose = true}).size();
  if (written == 0) std::abort();
  return 0;
}
