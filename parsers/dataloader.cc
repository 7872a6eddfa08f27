// Dead DataLoader workers and full shared memory.
//
// PyTorch's signal handler (torch/csrc/DataLoader.cpp) names the signal. "Killed" means host memory. "Bus error" means
// that /dev/shm had no free page. Tensors travel in files /dev/shm/torch_PID_…; NCCL keeps its queues in
// /dev/shm/nccl-…. Workers that "exited unexpectedly" have vanished, perhaps for memory; another signal is not
// evidence.
#include "base/ascii.h"
#include "read/context.h"
#include "read/parser.h"
#include "read/sizes.h"

namespace oomdoctor::parsers::dataloader {
namespace {

Oom shared_memory_failure(std::string_view format, Agent agent = Agent::worker) {
  Oom oom;
  oom.kind = OomKind::shared_memory;
  oom.agent = agent;
  oom.framework = "pytorch";
  oom.message_format = std::string(format);
  return oom;
}

}  // namespace

/// A worker that ended by an exception has printed it: "Exception in background worker 3:", and its text on the next
/// line. An exception without a text says nothing.
void background(const Match& m, EventSink& sink) {
  constexpr int max_lines = 120;
  if (is_program_text(m.cursor.line().body())) return;
  bool explained = false;
  std::string below;
  m.cursor.backward(max_lines, [&](const Line& line) {
    explained |= line.text.find("Exception in background worker") != line.text.npos && !trimmed(below).empty();
    below = line.body();
    return !explained;
  });
  if (explained) return;
  sink.setting("batchgenerators", "true");
  Oom oom = host_oom(Agent::signal, "workers-gone");
  oom.framework = "pytorch";
  oom.traits = {OomTrait::vanished};
  sink.oom(std::move(oom));
}

/// Without a path in the message the frames above decide: only these modules write to /dev/shm.
void no_space(const Match& m, EventSink& sink) {
  if (!m.has(1) && !is_near(m.cursor, 14, 0,
                            {"multiprocessing/shared_memory.py", "multiprocessing/heap.py",
                             "multiprocessing/synchronize.py", "torch/multiprocessing/reductions.py"})) {
    // a checkpoint did not fit on the disk
    if (is_near(m.cursor, 4, 0, {"torch/serialization.py"})) sink.remark("disk/full");
    return;
  }
  // A file that is copied to /dev/shm is of no worker.
  const bool copied = m[0].find("' -> ") != std::string_view::npos;
  sink.oom(shared_memory_failure("errno-28", copied ? Agent::library : Agent::worker));
}

void nccl(const Match& m, EventSink& sink) {
  Oom oom = shared_memory_failure("nccl-shm", Agent::library);
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}})
    if (m.has(i)) oom.request = read_size(m[i]);
  sink.oom(std::move(oom));
}

}  // namespace oomdoctor::parsers::dataloader
