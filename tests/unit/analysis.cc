// The notes of the analyses, next to the facts.
#include "facts/analysis.h"

#include <fmt/format.h>

#include "catch.h"
#include "scans.h"

namespace oomdoctor {

TEST_CASE("a note reports once that the allocator counted refused requests", "[analysis]") {
  const auto notes_of = [](const std::string& failures) {
    ScanResult scan = testing::scan_text("|            CUDA OOMs: " + failures +
                                         "            |        cudaMalloc retries: 3         |\n");
    return analyse(scan, {}).notes;
  };
  const auto notes = notes_of("2");
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].text ==
        "PyTorch's allocator had refused 2 requests when this was printed; the log does not show "
        "what happened to them");
  CHECK(notes[0].at->span.first_line == 1);
  CHECK(notes_of("0").empty());
}

TEST_CASE("a note names the last step with the total of its bar, and not that of a bar of items", "[analysis]") {
  const auto bar = [](int step, int total, const std::string& more) {
    return fmt::format("\r {}%|#         | {}/{} [00:{:02}<09:00, {}]", 100 * step / total, step, total, step % 60,
                       more);
  };
  std::string steps, items;
  for (int i = 0; i <= 30; i += 10) steps += bar(i, 400, "1.21it/s");
  for (int i = 0; i <= 90000; i += 30000) items += bar(i, 900000, "42117.40it/s");
  const auto last = [](const std::string& text) {
    const auto notes = analyse(testing::scan_text(text + "\n"), {}).notes;
    return notes.empty() ? std::string() : notes.back().text;
  };
  const std::string expected = "the log ends after step 30 of 400; it does not show how the run ended";
  CHECK(last(steps) == expected);
  CHECK(last(steps + "\n" + items) == expected);
}

TEST_CASE("a note says what a kernel needs of the chip's shared memory", "[analysis]") {
  const auto notes = analyse(testing::scan_text("triton.runtime.errors.OutOfResources: out of resource: shared memory, "
                                                "Required: 147456, Hardware limit: 101376.\n"),
                             {})
                         .notes;
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].text.find("(147456 bytes required, 101376 available)") != std::string::npos);
}

}  // namespace oomdoctor
