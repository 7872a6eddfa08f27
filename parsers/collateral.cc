// Messages of the surviving processes after one process of a job died: timeouts, broken connections, terminations,
// launcher reports.
//
// None of these is a separate failure. They show that the cause is in another process, and torchrun's "Root Cause"
// names that process.
#include "base/ascii.h"
#include "parse/context.h"
#include "parse/parser.h"

namespace oomdoctor::parsers {
namespace {

void timeout(const Match&, EventSink& sink) { sink.remark("collateral/timeout"); }
void terminated(const Match& m, EventSink& sink) {
  if (m.has(1))
    sink.remark("collateral/terminated", static_cast<double>(leading_integer(m[1])));
  else
    sink.remark("collateral/terminated");
}
void child_failed(const Match&, EventSink& sink) { sink.remark("collateral/child_failed"); }

/// Emits the rank that torchrun saw fail first.
void root_cause(const Match& m, EventSink& sink) {
  const auto rank = find_after(m.cursor, 6, "(local_rank:");
  if (rank) {
    Origin where;
    const std::size_t colon = rank->text.find(':');
    if (rank->text.find("rank") < colon)
      where.rank = static_cast<int>(leading_integer(trimmed(std::string_view(rank->text).substr(colon + 1))));
    sink.at(where);
  }
  sink.remark("collateral/child_failed");
}

/// DeepSpeed's launcher prints the command and its exit code.
void return_code(const Match& m, EventSink& sink) {
  const i64 code = leading_integer(m[1]);
  if (code < 0)
    sink.exit({std::nullopt, static_cast<int>(-code)});
  else
    sink.exit({static_cast<int>(code), std::nullopt});
}

constexpr Pattern patterns[] = {
    checked({.name = "collateral/watchdog",
             .anchor = "collective operation",
             .regex = R"(Watchdog caught collective operation timeout: WorkNCCL\()",
             .example = "[rank1]:[E ProcessGroupNCCL.cpp:475] [Rank 1] Watchdog caught collective operation timeout: "
                        "WorkNCCL(SeqNum=42, "
                        "OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600410 milliseconds before timing out.",
             .emit = timeout}),
    checked({.name = "collateral/nccl_failed",
             .anchor = "NCCL operations",
             .regex = R"(Some NCCL operations have failed or timed out)",
             .example = "Some NCCL operations have failed or timed out. Due to the asynchronous nature of CUDA "
                        "kernels, subsequent GPU "
                        "operations might run on corrupted/incomplete data.",
             .emit = timeout}),
    checked(
        {.name = "collateral/store",
         .anchor = "Connection reset by peer",
         .regex =
             R"((?:TCPStore|recvValue|recvBytes|sendBytes|socket|Gloo|gloo|Socket)[^\r\n]{0,200}Connection reset by peer)",
         .example =
             "torch.distributed.DistNetworkError: [1] is setting up NCCL communicator and retrieving ncclUniqueId from "
             "[0] via "
             "c10d key-value store by key '0', but store->get('0') got error: recvValue: Connection reset by peer",
         .emit = timeout}),
    checked({.name = "collateral/remote_exited",
             .anchor = "remote process exited",
             .regex = R"(remote process exited or there was a network error)",
             .example = "ncclRemoteError: A call failed possibly due to a network error or a remote process exited "
                        "prematurely: remote "
                        "process exited or there was a network error, NCCL version 2.18.1",
             .emit = timeout,
             .source = "torch: torch/csrc/distributed/c10d/NCCLUtils.cpp"}),
    checked({.name = "collateral/closing",
             .anchor = "closing signal",
             .regex = R"(Sending process (\d{1,10}) closing signal SIG(?:TERM|INT|KILL))",
             .captures = 1,
             .example =
                 "WARNING:torch.distributed.elastic.multiprocessing.api:Sending process 70003 closing signal SIGTERM",
             .emit = terminated,
             .source = "torch: torch/distributed/elastic/multiprocessing/api.py"}),
    checked({.name = "collateral/killing",
             .anchor = "Killing subprocess",
             .regex = R"(Killing subprocess (\d{1,10}))",
             .captures = 1,
             .example = "[2024-10-01 01:17:14,554] [INFO] [launch.py:319:sigkill_handler] Killing subprocess 98906",
             .emit = terminated,
             .source = "deepspeed: deepspeed/launcher/launch.py"}),
    checked(
        {.name = "collateral/sigterm",
         .anchor = "SIGTERM",
         .regex =
             R"((?:[Mm]ain process received SIGTERM|[Rr]eceived (?:signal )?SIGTERM|got signal: 15|SIGTERM received))",
         .example = "Main process received SIGTERM, exiting",
         .emit = terminated,
         .source = "deepspeed: deepspeed/launcher/launch.py"}),
    checked({.name = "collateral/child_failed",
             .anchor = "ChildFailedError:",
             .regex = R"(errors\.ChildFailedError:)",
             .example = "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
             .emit = child_failed,
             .source = "torch: torch/distributed/elastic/multiprocessing/errors/__init__.py"}),
    checked({.name = "collateral/root_cause",
             .anchor = "first observed failure",
             .regex = R"(Root Cause \(first observed failure\):)",
             .example = "Root Cause (first observed failure):",
             .emit = root_cause,
             .source = "torch: torch/distributed/elastic/multiprocessing/errors/__init__.py"}),
    checked({.name = "collateral/return_code",
             .anchor = "exits with return code",
             .regex = R"(exits with return code = (\d{1,3}|-(?!9\b)\d{1,3}))",
             .captures = 1,
             .example = "[2024-10-01 01:17:14,772] [ERROR] [launch.py:325:sigkill_handler] ['python', 'train.py', "
                        "'--local_rank=1'] exits with "
                        "return code = 1",
             .emit = return_code,
             .source = "deepspeed: deepspeed/launcher/launch.py"}),
};

}  // namespace

extern const Parser collateral;
const Parser collateral{.name = "collateral",
                        .title = "Other processes of a job that died",
                        .source = "torch: torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp",
                        .patterns = patterns};

}  // namespace oomdoctor::parsers
