#include "run/group_witness.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>

#include "run/process.h"

namespace oomdoctor {
namespace {

constexpr int patience = 100;  ///< milliseconds for an answer; it takes a few microseconds on an idle machine

}  // namespace

GroupWitness::GroupWitness() {
  Pipe questions = Pipe::make(), answers = Pipe::make();
  if (!questions.is_open() || !answers.is_open()) return;
  const pid_t parent = getpid();
  pid_ = run_beside([&] {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent) watch(questions.read.number(), answers.write.number());
    return 0;
  });
  if (pid_ < 0) return;
  for (const int end : {questions.write.number(), answers.read.number()}) fcntl(end, F_SETFL, O_NONBLOCK);
  questions_ = std::move(questions.write);
  answers_ = std::move(answers.read);
}

GroupWitness::~GroupWitness() {
  if (pid_ <= 0) return;
  questions_.close();  // then it ends
  kill(pid_, SIGKILL);
  uninterrupted([&] { return waitpid(pid_, nullptr, 0); });
}

/// The kernel keeps the signals until the next question. It gives a signal to the youngest process of a group first, so
/// the witness has it before this program has.
void GroupWitness::watch(int questions, int answers) {
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) silence(standard);
  close_all_but({questions, answers});
  sigset_t all;
  sigfillset(&all);
  const Descriptor signals(signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK));
  Answer answer;
  while (uninterrupted([&] { return read(questions, &answer.question, sizeof answer.question); }) > 0) {
    signalfd_siginfo signal{};
    answer.count = 0;
    while (read(signals.number(), &signal, sizeof signal) == sizeof signal)
      if (answer.count < answer.signals.size())
        answer.signals[answer.count++] = {signal.ssi_signo, signal.ssi_pid, false};
    if (!write_all(answers, {reinterpret_cast<const char*>(&answer), sizeof answer})) return;
  }
}

/// A signal of an older answer that this program has not got by now was merged with another one on its way.
void GroupWitness::ask() {
  const auto end = got_.begin() + static_cast<std::ptrdiff_t>(count_);
  count_ = static_cast<std::size_t>(std::remove_if(got_.begin(), end, [](const Signal& s) { return s.is_old; }) -
                                    got_.begin());
  count_ = std::min(count_, most);
  for (Signal& signal : got_) signal.is_old = true;
  if (!questions_.is_open()) return;
  ++question_;
  if (write(questions_.number(), &question_, sizeof question_) != sizeof question_) return;
  pollfd events{answers_.number(), POLLIN, 0};
  while (uninterrupted([&] { return poll(&events, 1, patience); }) == 1) {
    Answer answer;
    if (read(answers_.number(), &answer, sizeof answer) != sizeof answer) {
      questions_.close();  // the witness is gone
      return;
    }
    if (answer.question != question_) continue;  // came too late for an earlier question
    for (std::uint32_t i = 0; i < answer.count; ++i) got_[count_++] = answer.signals[i];
    return;
  }
}

/// The kernel merges equal signals that wait, but the real-time ones.
bool GroupWitness::also_got(const signalfd_siginfo& signal) {
  const bool merges = static_cast<int>(signal.ssi_signo) < SIGRTMIN;
  std::size_t kept = 0, matched = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    const bool same = got_[i].number == signal.ssi_signo && got_[i].sender == signal.ssi_pid;
    if (same && (merges || matched == 0))
      ++matched;
    else
      got_[kept++] = got_[i];
  }
  count_ = kept;
  return matched > 0;
}

}  // namespace oomdoctor
