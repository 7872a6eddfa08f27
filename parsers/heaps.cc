// Heaps of a fixed size inside a process, of Java and JavaScript.
//
// The host may have plenty of free RAM when such a heap is full, and more RAM does not help: a setting or the runtime's
// default limits the heap.
//
// The text after "java.lang.OutOfMemoryError: " names the pool. "unable to create native thread" is a limit on threads
// and not read. "Requested array size exceeds VM limit" is an array that no heap can contain. V8's "MB" is 2^20 bytes.
#include "read/context.h"
#include "read/parser.h"

namespace oomdoctor::parsers::heaps {
namespace {

Oom heap_failure(std::string_view format, std::string_view framework) {
  Oom oom = host_oom(Agent::cpu_allocator, format, framework);
  oom.traits = {OomTrait::heap};
  return oom;
}

}  // namespace

void java(const Match& m, EventSink& sink) {
  if (is_program_text(m.cursor.line().body())) return;
  const std::string_view pool = m[1];
  sink.oom(heap_failure(pool.starts_with("Direct")                                     ? "java-direct"
                        : pool.starts_with("Java heap") || pool.starts_with("GC over") ? "java-heap"
                                                                                       : "java-classes",
                        "jvm"));
}

/// Reads the live heap from the last collection above: "Mark-Compact 2047.0 (2085.0) -> 2046.8 (2084.0) MB" is the heap
/// before and after it.
void javascript(const Match& m, EventSink& sink) {
  Oom oom = heap_failure("javascript-heap", "v8");
  m.cursor.backward(16, [&](const Line& line) {
    const std::size_t arrow = line.text.find(") -> ");
    if (arrow == line.text.npos || line.text.find("Mark-") == line.text.npos) return true;
    const std::string_view after = line.text.substr(arrow + 5);
    oom.process = read_bytes(after.substr(0, after.find(' ')), "MiB");
    return false;
  });
  sink.oom(std::move(oom));
}

}  // namespace oomdoctor::parsers::heaps
