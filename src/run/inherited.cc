#include "run/inherited.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace oomdoctor {
namespace {

constexpr std::array timer_kinds{ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF};

}  // namespace

Inherited Inherited::take() {
  Inherited state;
  sigprocmask(SIG_SETMASK, nullptr, &state.mask_);
  sigemptyset(&state.ignored_);
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction now {};
    if (sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN) sigaddset(&state.ignored_, signal);
  }
  std::signal(SIGCHLD, SIG_DFL);
  // open() takes the lowest free number, so each closed descriptor gets /dev/null under its own one. Reading or writing
  // there fails as before, because it is open for the other one.
  for (int standard = 0; standard < 3; ++standard)
    if (fcntl(standard, F_GETFD) < 0 && errno == EBADF) {
      state.closed_[static_cast<std::size_t>(standard)] = true;
      [[maybe_unused]] const int placed = open("/dev/null", standard == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    }
  return state;
}

void Inherited::take_timers() {
  const itimerval none{};
  for (std::size_t i = 0; i < timers_.size(); ++i) setitimer(timer_kinds[i], &none, &timers_[i]);
}

void Inherited::give_back() const {
  for (std::size_t i = 0; i < timers_.size(); ++i)
    if (timerisset(&timers_[i].it_value)) setitimer(timer_kinds[i], &timers_[i], nullptr);
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action {};
    action.sa_handler = sigismember(&ignored_, signal) == 1 ? SIG_IGN : SIG_DFL;
    sigaction(signal, &action, nullptr);  // fails for those that nobody can change
  }
  for (int standard = 0; standard < 3; ++standard)
    if (is_closed(standard)) close(standard);
  sigprocmask(SIG_SETMASK, &mask_, nullptr);
}

Inherited& inherited() {
  static Inherited state = Inherited::take();
  return state;
}

}  // namespace oomdoctor
