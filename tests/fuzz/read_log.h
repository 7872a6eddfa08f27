// What must hold for every log, whatever its bytes.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>

#include "oomdoctor/diagnose.h"
#include "report/writer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace oomdoctor::testing {

/// Aborts unless a report comes out, every line is counted, and every writer can print it.
inline void read_log(std::string text) {
  const Report report = diagnose({{.path = "fuzz.log", .memory = std::move(text)}});

  std::int64_t lines = 0;
  for (const ReportInput& input : report.inputs) lines += input.lines;
  if (report.coverage.lines != lines || report.coverage.claimed > lines) std::abort();

  // Some say nothing when there is nothing to say; all together say at least what the input was.
  std::size_t written = 0;
  for (const Writer& writer : writers())
    written += writer.write(report, {.width = 40, .color = true, .verbose = true}).size();
  if (written == 0) std::abort();
}

/// Bytes inside a frame that makes them matter: the first one chooses it.
struct Frame {
  std::string before, after;
};

template <typename Frames>
void read_framed(const Frames& frames, const std::uint8_t* data, std::size_t size) {
  if (size == 0) return;
  const auto& frame = frames[data[0] % frames.size()];
  read_log(std::string(frame.before).append(data + 1, data + size).append(frame.after));
}

}  // namespace oomdoctor::testing
