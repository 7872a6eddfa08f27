// Ends of a job that resemble an out-of-memory failure in their words or exit codes, but are something else: limits on
// threads and time, and full disks and quotas.
#include "parse/context.h"
#include "parse/parser.h"

namespace oomdoctor::parsers {
namespace {

void lsf(const Match& m, EventSink& sink) {
  sink.remark(m[1] == "THREAD" || m[1] == "PROCESS" ? "limit/threads" : "run/time_limit");
}

void no_thread(const Match& m, EventSink& sink) {
  if (!is_program_text(m.cursor.line().body())) sink.remark("limit/threads");
}

void quota(const Match& m, EventSink& sink) {
  if (!is_program_text(m.cursor.line().body())) sink.remark("disk/full");
}

/// Reports only signals that ask a program to stop. Any other signal may come from anywhere, also from the kernel.
void signal(const Match& m, EventSink& sink) {
  const i64 number = leading_integer(m[1]);
  if (number == 1 || number == 2 || number == 15) sink.remark("end/signal", static_cast<double>(number));
}

void engine_signal(const Match&, EventSink& sink) { sink.remark("end/signal"); }

void rejected(const Match&, EventSink& sink) { sink.remark("end/rejected"); }

constexpr Pattern patterns[] = {
    checked({.name = "other_ends/lsf",
             .anchor = "LIMIT: job killed after",
             .regex = R"(^ {0,8}TERM_(THREAD|PROCESS|RUN|CPU)LIMIT: job killed after reaching LSF )",
             .captures = 1,
             .example = "TERM_THREADLIMIT: job killed after reaching LSF thread limit.",
             .emit = lsf,
             .source = "IBM Spectrum LSF: its job report"}),
    checked({.name = "other_ends/java_thread",
             .anchor = "native thread",
             .regex = R"(java\.lang\.OutOfMemoryError: unable to create (?:new )?native thread)",
             .example = "java.lang.OutOfMemoryError: unable to create new native thread",
             .emit = no_thread,
             .source = "OpenJDK: src/hotspot/share/prims/jvm.cpp"}),
    checked({.name = "other_ends/signal",
             .anchor = "SignalException: Process",
             .regex = R"(\bSignalException: Process \d{1,10} got signal: (\d{1,2})\b)",
             .captures = 1,
             .example = "torch.distributed.elastic.multiprocessing.api.SignalException: Process 812 got signal: 15",
             .emit = signal,
             .source = "torch: torch/distributed/elastic/multiprocessing/api.py"}),
    checked({.name = "other_ends/engine_signal",
             .anchor = "received signal=SIG",
             .regex = R"(\btrigger received signal=SIG(?:TERM|INT|HUP)\b)",
             .example = "INFO 08-03 23:07:22 [core.py:1214] [shutdown] EngineCore: trigger received signal=SIGTERM",
             .emit = engine_signal,
             .source = "vllm: vllm/v1/engine/core.py"}),
    checked({.name = "other_ends/rejected_pod",
             .anchor = "UnexpectedAdmissionError",
             .regex = R"(\bReason: {1,20}UnexpectedAdmissionError\b)",
             .example = "Reason:           UnexpectedAdmissionError",
             .emit = rejected,
             .source = "kubernetes: pkg/kubelet/lifecycle"}),
    checked({.name = "other_ends/quota",
             .anchor = "Disk quota exceeded",
             .regex = R"((?:\[Errno 122\] |message: "|: )Disk quota exceeded)",
             .example = "OSError: [Errno 122] Disk quota exceeded: '/home/user/project/out/step_4000.pt'",
             .emit = quota,
             .source = "CPython: OSError"}),
};

}  // namespace

extern const Parser other_ends;
const Parser other_ends{
    .name = "other_ends", .title = "Ends that are not memory failures", .source = "real logs", .patterns = patterns};

}  // namespace oomdoctor::parsers
