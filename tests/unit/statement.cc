// The general reader on lines that match no exact form.
#include "read/statement.h"

#include <string>

#include "catch.h"
#include "oomdoctor/diagnose.h"

using namespace oomdoctor;

namespace {

Voice voice_of(const std::string& line) { return read_statement(line).voice; }

std::string sizes_of(const std::string& line) {
  const Statement s = read_statement(line);
  std::string out;
  const auto add = [&](const char* name, const std::optional<Bytes>& size) {
    if (size) out += (out.empty() ? "" : ", ") + std::string(name) + " " + bytes_text(size->count);
  };
  add("asked", s.asked), add("free", s.free), add("used", s.used), add("allocated", s.allocated);
  add("reserved", s.reserved), add("total", s.total), add("limit", s.limit);
  return out;
}

}  // namespace

TEST_CASE("a program that reports its own failure states a failure", "[statement]") {
  for (const char* line : {
           "[svulkan] [error] denoiser: out of memory",
           "engine: fatal: unable to reserve 2 GiB of device memory",
           "E0322 10:12:20.522087 2088114 pool.cc:88] arena exhausted: memory request of 64 MiB refused",
           "RuntimeError: mylib: GPU memory allocation failed",
           "vk::Device::allocateMemory: ErrorOutOfDeviceMemory",
           "worker 7: not enough memory to load shard 3",
           "Job 8812 exceeded its memory limit (17.2 GB > 16 GB)",
           "fatal error: runtime: out of memory",
           "solver stopped: insufficient memory for the preconditioner",
       }) {
    CAPTURE(line);
    CHECK(voice_of(line) == Voice::statement);
  }
}

TEST_CASE("an exhausted resource is memory only where the line names memory", "[statement]") {
  for (const char* line : {
           "worker: fatal: resources exhausted: failed to allocate 64 MiB for a sort buffer",
           "E0322 10:12:20.522087 77 pool.cc:40] RESOURCE_EXHAUSTED: the allocator could not serve 512 MiB",
           "RuntimeError: RESOURCE_EXHAUSTED: the GPU's memory is full",
       }) {
    CAPTURE(line);
    CHECK(voice_of(line) == Voice::statement);
  }
  for (const char* line : {
           "ERROR: all connection slots are exhausted: 100 of 100 in use",
           "ResourceExhaustedError: too many open files",
           "rpc error: code = ResourceExhausted desc = retry later",
           "HTTPError: 413 Request Entity Too Large: exceeded the limit of 4194304 bytes",
       }) {
    CAPTURE(line);
    CHECK(voice_of(line) == Voice::other);
  }
}

TEST_CASE("a program that says it will not try again does not go on", "[statement]") {
  CHECK_FALSE(read_statement("Job killed for excessive memory use (4131 MB). Will not retry it.").handled);
  CHECK(read_statement("error: out of memory for this batch, will retry").handled);
}

TEST_CASE("an instruction and the words of an exception do not show that a program goes on", "[statement]") {
  CHECK_FALSE(read_statement("The GPU failed to allocate memory. To continue, reset the GPU.").handled);
  CHECK_FALSE(read_statement("CUDA error: out of memory: caught exception: cudaMalloc failed").handled);
  CHECK_FALSE(read_statement("  what():  Out of memory, retrying with 2 tiles failed").handled);
  CHECK(read_statement("error: out of memory, going to retry with half the batch").handled);
  CHECK(read_statement("error: out of memory caught, skipping this batch").handled);
}

TEST_CASE("possibilities, settings, names and reports about other programs are no failures", "[statement]") {
  for (const char* line : {
           "If you run out of memory, try a smaller batch size",
           "this may exceed the memory of your GPU",
           "--oom-policy halve",
           "oom_retries: 3",
           "\"OOMKilled\": false",
           "tests/test_oom.py::test_out_of_memory PASSED",
           "raise OutOfMemoryError(\"no room\")",
           "#define CL_MEM_OBJECT_ALLOCATION_FAILURE -4",
           "- Fixed an out of memory error in the sampler",
           "step 3 out of 100",
           "lr decay: more than 10 steps without progress, memory 3.1 GB",
           "OOM handler enabled",
           "cannot allocate memory in static TLS block",
           "she ran out of time, not memory?",
           "no out of memory errors so far",
       }) {
    CAPTURE(line);
    CHECK(voice_of(line) != Voice::statement);
  }
}

TEST_CASE("sizes get their roles from the words around them", "[statement]") {
  CHECK(
      sizes_of("error: cannot allocate 96.0MB memory on GPU 3, 6.0GB memory has been allocated and available memory is "
               "only 41.5MB") == "asked 96 MiB, free 41.50 MiB, allocated 6 GiB");
  CHECK(sizes_of("error: out of memory: requested 4 GiB, free 1 GiB, total 8 GiB") ==
        "asked 4 GiB, free 1 GiB, total 8 GiB");
  CHECK(sizes_of("OOM: 12.1 GB of 12 GB memory used, task killed") == "used 12.10 GiB, limit 12 GiB");
  CHECK(sizes_of("failed to allocate 17.29M (18131712 bytes) from device") == "asked 17.29 MiB");
  CHECK(sizes_of("memory alloc of size[341827840] failed, free memory size[1048576]") ==
        "asked 325.99 MiB, free 1 MiB");
  CHECK(sizes_of("allocation of 1,073,741,824 bytes failed") == "asked 1 GiB");
  CHECK(sizes_of("Ran out of memory. Used 24.5M of 16.0M vmem. Exceeded capacity by 8.5M.") ==
        "asked 24.50 MiB, total 16 MiB");
  CHECK(sizes_of("error: out of memory after 30 s at step 81920") == "");
  CHECK(sizes_of("error: out of memory: 1.5 GB of 12 GB device memory free") == "free 1.50 GiB, total 12 GiB");
  CHECK(sizes_of("error: out of memory: 9.5 GB of 12 GB device memory allocated") ==
        "allocated 9.50 GiB, total 12 GiB");
}

TEST_CASE("the size in use is that of the machine or of a process", "[statement]") {
  for (const char* line : {"ERROR: host memory exhausted: 62.1 GiB of 64.0 GiB used on the node",
                           "Process 4120 killed: system RAM usage 61.9 GB of 64 GB exceeds the limit"}) {
    CAPTURE(line);
    CHECK(read_statement(line).of_machine);
  }
  CHECK_FALSE(read_statement("ERROR: out of memory: the worker used 62.1 GiB of 64.0 GiB").of_machine);
}

TEST_CASE("two sizes around a slash share one unit", "[statement]") {
  CHECK(sizes_of("error: out of memory, used 12.25/23.5 GiB") == "used 12.25 GiB, total 23.50 GiB");
}

TEST_CASE("the words identify the memory that ran out", "[statement]") {
  CHECK(read_statement("error: out of GPU memory").kind == OomKind::device);
  CHECK(read_statement("error: out of host memory while pinning for the GPU").kind == OomKind::host);
  CHECK(read_statement("error: cannot map shared memory segment: not enough memory").kind == OomKind::shared_memory);
  CHECK_FALSE(read_statement("error: out of memory").kind);
  CHECK(read_statement("CUDA error on device 5: out of memory").device == 5);
}

TEST_CASE("a message that a manual or a program quotes is no failure", "[statement]") {
  const auto outcome = [](const std::string& text) { return diagnose({{"text", text}}).verdict.outcome; };
  const std::string message = "    fatal error: out of memory while the cache of 12 GB was built\n";
  CHECK(outcome("step 1 loss 2.1\nstep 2 loss 2.0\n" + message) == Outcome::oom);
  CHECK(outcome("# Trouble\n\nThe program stops and the last line of the log is of this kind:\n\n" + message +
                "\nIt means that the cache is too large for the machine that you have.\n"
                "Set the size of the cache to a half of what is free, and start it again.\n"
                "This is also the place to look if the machine swaps all of the time.\n") == Outcome::no_oom);
  CHECK(outcome("import re\nimport sys\n\ndef find(lines):\n    for line in lines:\n" + message +
                "        if m:\n            yield m\n\nclass Kill:\n    pid: int\n\ndef main():\n    return 0\n") ==
        Outcome::no_oom);
}
