// The notes of the analyses, next to the facts.
#include "facts/analysis.h"

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

}  // namespace oomdoctor
