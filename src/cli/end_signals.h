// The signals that end the watching: SIGINT, SIGTERM, SIGHUP. They wait while this object exists, so that no system
// call is interrupted, and so that the program ends with its report. A signal that was ignored at the start, as by
// nohup, stays ignored.
#pragma once

#include <csignal>

#include "base/descriptor.h"

namespace oomdoctor::cli {

class EndSignals {
 public:
  EndSignals();
  /// Later signals end the program at once. Those that wait are done with.
  ~EndSignals();
  EndSignals(const EndSignals&) = delete;

  /// Can be read when a signal waits; negative if the system has no such descriptor now. Then only take() sees it.
  int descriptor() const { return wakes_.number(); }
  /// Takes the signals that wait. False if there are none.
  bool take();
  /// The blocked signals before, for processes that this one starts.
  const sigset_t& mask_before() const { return before_; }

 private:
  sigset_t set_{}, before_{};
  Descriptor wakes_{-1};
};

}  // namespace oomdoctor::cli
