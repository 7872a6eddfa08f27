#include "run/supervisor.h"

#include <fcntl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>
#include <optional>

#include "run/inherited.h"
#include "run/process.h"
#include "run/recorder_link.h"
#include "run/relay.h"

namespace oomdoctor {
namespace {

constexpr int report_patience = 120;  ///< seconds for the report; 48 MiB of output take one

/// A program that the kernel looks for when memory is short should not be the one that reports it. Works with the right
/// to do so; otherwise the command, which is larger, is still the likelier one.
void ask_for_survival() {
  const Descriptor file(open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  if (file.is_open()) write_all(file.number(), "-900");
}

sigset_t all_signals() {
  sigset_t all;
  sigfillset(&all);
  return all;
}

/// In the process of the recorder: no signal ends it before the files are complete. Then the report may be interrupted.
int record_and_report(const std::vector<std::string>& words, const RunFolder& folder, const RunPlan& plan,
                      Descriptor socket, OutputRing& ring) {
  setsid();
  ask_for_survival();
  [[maybe_unused]] const int priority = nice(10);  // the command comes first
  std::vector<int> kept{plan.descriptors};
  kept.insert(kept.end(), {socket.number(), folder.descriptor()});
  close_all_but(kept);
  Recorder recorder(folder, words, std::move(socket), ring);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO}) silence(standard);
  const Wanted wanted = recorder.record();
  if (wanted == Wanted::nothing) folder.remove_all(RunFileNames::all());
  if (wanted != Wanted::report) return 0;
  reset_signals();
  plan.report(recorder.evidence());
  return 0;
}

/// Ends the recorder of a command that did not start, so that it is nobody's child later.
void discard(pid_t recorder, const RunFolder& folder) {
  kill(recorder, SIGKILL);
  uninterrupted([&] { return waitpid(recorder, nullptr, 0); });
  folder.remove_all(RunFileNames::all());
}

}  // namespace

CannotObserve::CannotObserve(int error) : Error(std::string("the command is not observed: ") + std::strerror(error)) {}

SupervisedEnd supervise(const std::vector<std::string>& words, const RunFolder& folder, const RunPlan& plan) {
  std::array<int, 2> ends{-1, -1};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) throw CannotObserve(errno);
  Descriptor ours(ends[0]), theirs(ends[1]);
  std::optional<OutputRing> ring;
  try {
    ring.emplace();
  } catch (const std::bad_alloc&) {
    throw CannotObserve(ENOMEM);
  }
  RecorderLink link(std::move(ours), *ring);
  const sigset_t all = all_signals();
  sigprocmask(SIG_BLOCK, &all, nullptr);
  const Descriptor signals(signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals.is_open()) throw CannotObserve(errno);
  const pid_t recorder = run_beside([&] { return record_and_report(words, folder, plan, std::move(theirs), *ring); });
  if (recorder < 0) throw CannotObserve(errno);
  theirs.close();
  inherited().take_timers();
  std::optional<Child> made;
  std::optional<Relay> relay;
  bool started = false;
  int error = ENOMEM;
  try {
    made.emplace();
    relay.emplace(*made, link, *ring, recorder, signals.number());
    started = made->start(words);
    error = errno;
  } catch (const StartFailure&) {
    discard(recorder, folder);
    throw;
  } catch (const std::bad_alloc&) {
  }
  if (!started) {
    relay.reset();
    made.reset();
    discard(recorder, folder);
    throw CannotObserve(error);
  }
  link.send_value(FrameKind::process, made->pid());
  for (const std::string& problem : made->problems()) link.send(FrameKind::problem, problem);
  ask_for_survival();
  const CommandEnd end = relay->run();
  const bool wanted = plan.wants_report(end);
  link.send_value(FrameKind::end, EndFrame{end, wanted});
  return {end, relay->wait_for_recorder(report_patience) == 0 && wanted};
}

}  // namespace oomdoctor
