// Processes of this program's own that run next to the command: the recorder, the probes, the keeper of a terminal.
// Each sees only the descriptors that it needs, so that no pipe of the command stays open because of it.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <vector>

#include "base/descriptor.h"

namespace oomdoctor {

/// Both ends of a pipe, closed by exec(). Not open on failure, with the reason in errno.
struct Pipe {
  Descriptor read{-1}, write{-1};
  static Pipe make();
  bool is_open() const { return read.is_open(); }
};

/// Closes all descriptors from 3 on but these; negative ones are ignored.
void close_all_but(const std::vector<int>& kept);
/// Puts /dev/null in the place of a standard descriptor.
void silence(int standard);
/// Default actions for all signals, none blocked, but SIGPIPE and SIGXFSZ, which become errors of write().
void reset_signals();

/// Runs `work` in a process of its own, which ends with the int that it returns, or with 1 if it throws. Returns its
/// number, or −1 with the reason in errno.
template <typename Work>
pid_t run_beside(Work work) noexcept {
  const pid_t process = fork();
  if (process != 0) return process;
  int status = 1;
  try {
    status = work();
  } catch (...) {
  }
  _exit(status);
}

}  // namespace oomdoctor
