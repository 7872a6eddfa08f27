#include "cli/end_signals.h"

#include <sys/signalfd.h>

#include <ctime>

namespace oomdoctor::cli {

EndSignals::EndSignals() {
  sigemptyset(&set_);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction how {};
    if (sigaction(signal, nullptr, &how) != 0 || how.sa_handler != SIG_IGN) sigaddset(&set_, signal);
  }
  sigprocmask(SIG_BLOCK, &set_, &before_);
  wakes_ = Descriptor(signalfd(-1, &set_, SFD_CLOEXEC | SFD_NONBLOCK));
}

EndSignals::~EndSignals() {
  take();
  sigprocmask(SIG_SETMASK, &before_, nullptr);
}

bool EndSignals::take() {
  const timespec at_once{};
  bool any = false;
  while (sigtimedwait(&set_, nullptr, &at_once) > 0) any = true;
  return any;
}

}  // namespace oomdoctor::cli
