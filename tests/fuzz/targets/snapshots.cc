// Bytes as an allocator snapshot of any form. Whatever they are, reading them ends, changes nothing, and gives either
// snapshots or a note. Lines of code add up to the live memory.
#include <algorithm>

#include "../target.h"
#include "evidence/evidence_reader.h"

namespace oomdoctor::testing {
namespace {

void run(std::string_view bytes) {
  Source source = Source::of_text("snapshot.pickle", std::string(bytes));
  if (!is_evidence(source.peek())) return;
  const ScanResult file = read_evidence(source);
  demand(file.inputs.size() == 1);
  demand(file.inputs.front().kind == "snapshot" || !file.notes.empty());
  demand(file.snapshots.empty() || file.inputs.front().kind == "snapshot");
  for (const MemorySnapshot& snapshot : file.snapshots) {
    i64 sum = 0;
    bool overflows = false;
    for (const ReportHolder& holder : snapshot.report.holders)
      overflows |= __builtin_add_overflow(sum, holder.live_bytes, &sum);
    demand(overflows || sum == snapshot.report.live_bytes);
  }
}

constexpr std::size_t longest = 1 << 16;

/// The samples, and what each form begins with.
std::vector<std::string> seeds() {
  std::vector<std::string> all = file_seeds({"samples/snapshots"}, longest);
  for (const char* text :
       {R"({"segments": [{"device": 0, "address": 4096, "total_size": 512, "stream": 0, "segment_type": "small",
 "blocks": [{"size": 512, "requested_size": 4, "state": "active_allocated", "frames": []}]}], "device_traces": [[]]})",
        R"(<script>const local_files = [{"name": "s.pickle", "base64": "gAR9lC4="}]</script>)"})
    all.emplace_back(text);
  return all;
}

const Added target({.name = "snapshots", .longest = longest, .run = run, .seeds = seeds});

}  // namespace
}  // namespace oomdoctor::testing
