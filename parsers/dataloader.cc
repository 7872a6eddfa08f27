// Dead DataLoader workers and full shared memory.
//
// PyTorch's signal handler (torch/csrc/DataLoader.cpp) names the signal. "Killed" means host memory. "Bus error" means
// that /dev/shm had no free page. Tensors travel in files /dev/shm/torch_PID_…; NCCL keeps its queues in
// /dev/shm/nccl-…. A worker that "exited unexpectedly" or died of another signal is no evidence about memory.
#include "parse/context.h"
#include "parse/parser.h"
#include "parse/sizes.h"

namespace oomdoctor::parsers {
namespace {

Oom shared_memory_failure(std::string_view format, Agent agent = Agent::worker) {
  Oom oom;
  oom.kind = OomKind::shared_memory;
  oom.agent = agent;
  oom.framework = "pytorch";
  oom.message_format = std::string(format);
  return oom;
}

void at_pid(EventSink& sink, std::string_view pid) {
  Origin where;
  where.pid = leading_integer(pid);
  sink.at(where);
}

void killed(const Match& m, EventSink& sink) {
  at_pid(sink, m[1]);
  Oom oom = shared_memory_failure("dataloader-killed");
  oom.kind = OomKind::host;
  sink.oom(std::move(oom));
}

void bus_error(const Match& m, EventSink& sink) {
  at_pid(sink, m[1]);
  sink.oom(shared_memory_failure("dataloader-bus-error"));
}

/// The dying worker prints this itself, without its pid.
void bus_hint(const Match&, EventSink& sink) { sink.oom(shared_memory_failure("bus-error-hint", Agent::signal)); }

void tensor_file(const Match& m, EventSink& sink) {
  at_pid(sink, m[1]);
  sink.oom(shared_memory_failure("torch-file"));
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
  sink.oom(shared_memory_failure("errno-28"));
}

void nccl(const Match& m, EventSink& sink) {
  Oom oom = shared_memory_failure("nccl-shm", Agent::library);
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}})
    if (m.has(i)) oom.request = read_size(m[i]);
  sink.oom(std::move(oom));
}

// Named functions: clang 14 miscompiles lambdas in the arguments of an immediate function.
void emit_nccl_fallocate(const Match&, EventSink& sink) { sink.oom(shared_memory_failure("nccl-shm", Agent::library)); }

/// The workers vanished without a message.
void vanished(const Match& m, EventSink& sink) {
  if (is_program_text(m.cursor.line().body())) return;
  sink.oom(host_oom(Agent::signal, "workers-gone", "pytorch"));
}

constexpr Pattern patterns[] = {
    checked({.name = "dataloader/background",
             .anchor = "background workers",
             .regex = R"(One or more background workers are no longer alive)",
             .example = "RuntimeError: One or more background workers are no longer alive. Exiting. Please check the "
                        "print statements above for the actual error message",
             .emit = vanished,
             .source = "batchgenerators: batchgenerators/dataloading/nondet_multi_threaded_augmenter.py"}),
    checked({.name = "dataloader/killed",
             .anchor = "DataLoader worker",
             .second_anchor = "by signal",
             .regex = R"(DataLoaderworker\(pid(?:\(s\))?(\d{1,10})[\d,]{0,120}\)iskilledbysignal:Killed)",
             .captures = 1,
             .reach = Reach::message,
             .example = "RuntimeError: DataLoader worker (pid 1234) is killed by signal: Killed.",
             .emit = killed}),
    checked({.name = "dataloader/bus_error",
             .anchor = "DataLoader worker",
             .second_anchor = "by signal",
             .regex = R"(DataLoaderworker\(pid(?:\(s\))?(\d{1,10})[\d,]{0,120}\)iskilledbysignal:Buserror)",
             .captures = 1,
             .reach = Reach::message,
             .example = "RuntimeError: DataLoader worker (pid 1234) is killed by signal: Bus error. It is possible "
                        "that dataloader's "
                        "workers are out of shared memory. Please try to raise your shared memory limit.",
             .emit = bus_error}),
    checked({.name = "dataloader/bus_hint",
             .anchor = "Unexpected bus",
             .second_anchor = "bus error encountered",
             .regex = R"(ERROR:Unexpectedbuserrorencounteredinworker\.Thismightbecausedbyinsufficientsharedmemory)",
             .reach = Reach::message,
             .example = "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient "
                        "shared memory (shm).",
             .emit = bus_hint}),
    checked({.name = "dataloader/tensor_file",
             .anchor = "torch_",
             .regex = R"(unable to (?:write to|resize|allocate shared memory ?\(shm\) for) file </?torch_(\d{1,10})_)",
             .captures = 1,
             .example = "RuntimeError: unable to write to file </torch_1234_77_10>: No space left on device (28)",
             .emit = tensor_file,
             .source = "torch: aten/src/ATen/MapAllocator.cpp"}),
    checked({.name = "dataloader/no_space",
             .anchor = "No space left",
             .regex = R"(\[Errno 28\] No space left on device(?:: '?(/?dev/shm/|/?psm_|/?torch_)|\s{0,4}$))",
             .captures = 1,
             .example = "OSError: [Errno 28] No space left on device: '/dev/shm/psm_21467_27046'",
             .emit = no_space,
             .source = "CPython: OSError of Lib/multiprocessing/shared_memory.py and others"}),
    checked(
        {.name = "dataloader/nccl_segment",
         .anchor = "/dev/shm/nccl-",
         .regex =
             R"((?:creating shared memory segment /dev/shm/nccl-\w{1,20} \(size (\d{1,15})\)|failed to extend /dev/shm/nccl-\w{1,20} to (\d{1,15}) bytes))",
         .captures = 2,
         .example = "misc/shmutils.cc:72 NCCL WARN Error: failed to extend /dev/shm/nccl-vX3a9k to 33030532 bytes, "
                    "error: No space "
                    "left on device (28)",
         .emit = nccl,
         .source = "nccl: src/misc/shmutils.cc"}),
    checked({.name = "dataloader/nccl_fallocate",
             .anchor = "posix_fallocate",
             .regex = R"(NCCL WARN Call to posix_fallocate failed : No space left on device)",
             .example = "include/shm.h:28 NCCL WARN Call to posix_fallocate failed : No space left on device",
             .emit = emit_nccl_fallocate,
             .source = "nccl: src/include/shm.h"}),
};

}  // namespace

extern const Parser dataloader;
const Parser dataloader{.name = "dataloader",
                        .title = "DataLoader workers and shared memory",
                        .source = "torch: torch/csrc/DataLoader.cpp",
                        .patterns = patterns};

}  // namespace oomdoctor::parsers
