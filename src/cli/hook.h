// The command that a warning starts. Nobody waits for it, and a command that cannot start now is tried again: a warning
// is never lost because the machine has no process or no descriptor left.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <string>
#include <vector>

namespace oomdoctor::cli {

/// A shell command with the warning in its environment. Its input is empty, its output goes to standard error, because
/// standard output may be read by a program.
class Hook {
 public:
  /// `command` may be empty: then nothing is ever started. `mask`: the blocked signals of the commands.
  Hook(std::string command, const sigset_t& mask) : command_(std::move(command)), mask_(mask) {}
  Hook(const Hook&) = delete;

  bool is_set() const { return !command_.empty(); }
  /// Asks for a start; one that still waits for the same kind of risk is replaced.
  void ask(const std::string& kind, const std::string& message, const std::string& pulse);
  bool waits() const { return !waiting_.empty(); }
  /// Starts what waits. Returns why that failed, or "".
  std::string start_waiting();
  /// Takes note of the commands that have ended.
  void reap();

 private:
  struct WaitingStart {
    std::string kind, message, pulse;
  };
  int start(const WaitingStart& of);

  std::string command_;
  sigset_t mask_;
  std::vector<WaitingStart> waiting_;
  std::vector<pid_t> running_;
};

}  // namespace oomdoctor::cli
