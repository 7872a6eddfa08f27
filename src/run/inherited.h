// What the command inherits from the one who starts this program: the signal mask, the ignored signals, running timers,
// and which of the standard descriptors are closed. The command gets all of it back, whatever this program needs for
// itself.
#pragma once

#include <sys/time.h>

#include <array>
#include <csignal>

namespace oomdoctor {

class Inherited {
 public:
  /// Remembers the state, then puts it right for this program: /dev/null where a standard descriptor is closed, so that
  /// no other file gets its number, and SIGCHLD with its default action, so that children can be waited for.
  static Inherited take();

  /// Stops the timers of alarm() and setitimer(), which exec() keeps: they are meant for the command.
  void take_timers();
  bool is_closed(int standard) const { return closed_[static_cast<std::size_t>(standard)]; }
  /// Gives the state back, between fork() and exec() of the command. Only calls that are safe there.
  void give_back() const;

 private:
  std::array<bool, 3> closed_{};
  sigset_t mask_{}, ignored_{};
  std::array<itimerval, 3> timers_{};
};

/// The state at the start of the program. main() calls this first.
Inherited& inherited();

}  // namespace oomdoctor
