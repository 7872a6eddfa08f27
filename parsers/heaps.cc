// Heaps of a fixed size inside a process, of Java and JavaScript.
//
// The host may have plenty of free RAM when such a heap is full, and more RAM does not help: a setting or the runtime's
// default limits the heap.
//
// The text after "java.lang.OutOfMemoryError: " names the pool. Two texts are not memory failures and are not read:
// "unable to create native thread" is a limit on threads, and "Requested array size exceeds VM limit" is an array that
// no heap can contain. V8's "MB" is 2^20 bytes.
#include "parse/context.h"
#include "parse/parser.h"
#include "parse/sizes.h"

namespace oomdoctor::parsers {
namespace {

Oom heap_failure(std::string_view format, std::string_view framework) {
  return host_oom(Agent::cpu_allocator, format, framework);
}

void java(const Match& m, EventSink& sink) {
  if (is_program_text(m.cursor.line().body())) return;
  const std::string_view pool = m[1];
  sink.oom(heap_failure(pool.starts_with("Direct")                                     ? "java-direct"
                        : pool.starts_with("Java heap") || pool.starts_with("GC over") ? "java-heap"
                                                                                       : "java-classes",
                        "jvm"));
}

/// Spark requested execution memory, which is a share of the heap.
void spark(const Match& m, EventSink& sink) {
  Oom oom = heap_failure("java-heap", "jvm");
  oom.request = read_size(m[1]);
  sink.oom(std::move(oom));
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

/// The operating system refused memory to the runtime itself.
void java_native(const Match& m, EventSink& sink) {
  Oom oom = heap_failure("java-native", "jvm");
  oom.request = read_size(m[1]);
  sink.oom(std::move(oom));
}

constexpr Pattern patterns[] = {
    checked(
        {.name = "heaps/java",
         .anchor = "OutOfMemoryError: ",
         .regex =
             R"(java\.lang\.OutOfMemoryError: (Java heap space|GC overhead limit exceeded|Direct buffer memory|Metaspace|PermGen space|Compressed class space))",
         .captures = 1,
         .example = "java.lang.OutOfMemoryError: Java heap space",
         .emit = java,
         .source = "OpenJDK: java.lang.OutOfMemoryError"}),
    checked({.name = "heaps/spark",
             .anchor = "of memory, got ",
             .regex =
                 R"(OutOfMemoryError: (?:\[[\w.]{1,60}\] )?Unable to acquire (\d{1,18}) bytes of memory, got \d{1,18})",
             .captures = 1,
             .example = "org.apache.spark.memory.SparkOutOfMemoryError: Unable to acquire 65536 bytes of memory, got 0",
             .emit = spark,
             .source = "spark: org/apache/spark/memory/MemoryConsumer.java"}),
    checked(
        {.name = "heaps/java_native",
         .anchor = "Native memory allocation",
         .regex = R"(Native memory allocation \((?:mmap|malloc)\) failed to (?:map|allocate) (\d{1,18}) bytes)",
         .captures = 1,
         .example = "# Native memory allocation (mmap) failed to map 12884901888 bytes for committing reserved memory.",
         .emit = java_native,
         .source = "OpenJDK: src/hotspot/share/utilities/vmError.cpp"}),
    checked(
        {.name = "heaps/java_commit",
         .anchor = "os::commit_memory(",
         .regex =
             R"(os::commit_memory\(0x[0-9a-f]{1,16}, (\d{1,18}), [01]\) failed; error=['"][^'"\r\n]{1,60}['"] \(errno=12\))",
         .captures = 1,
         .example =
             "OpenJDK 64-Bit Server VM warning: INFO: os::commit_memory(0x00000005c0000000, 5637144576, 0) failed; "
             "error='Cannot allocate memory' (errno=12)",
         .emit = java_native,
         .source = "OpenJDK: src/hotspot/os/linux/os_linux.cpp"}),
    checked({.name = "heaps/javascript",
             .anchor = "JavaScript heap",
             .regex = R"(FATAL ERROR: [^\r\n]{1,80} - JavaScript heap out of memory)",
             .example = "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory",
             .emit = javascript,
             .source = "v8: src/execution/isolate.cc; node: src/node_errors.cc"}),
};

}  // namespace

extern const Parser heaps;
const Parser heaps{.name = "heaps",
                   .title = "Heaps of Java and JavaScript",
                   .source = "OpenJDK; v8: src/heap/heap.cc",
                   .patterns = patterns};

}  // namespace oomdoctor::parsers
