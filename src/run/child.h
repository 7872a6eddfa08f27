// A command as a child process. What it would see of its outputs and its terminal without us it sees now: a terminal is
// a pseudo terminal of the same size and settings, a pipe is a pipe, and a file or a closed output is the very same.
#pragma once

#include <sys/types.h>
#include <termios.h>

#include <array>
#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/error.h"
#include "run/process.h"

namespace oomdoctor {

/// The command could not be started. `status` is the exit status that shells have for it: 127 if it does not exist, 126
/// if it cannot be run.
struct StartFailure : Error {
  StartFailure(const std::string& command, int error);
  int status;
};

/// How the command ended.
struct CommandEnd {
  int status = 0;  ///< exit status, if `signal` is 0
  int signal = 0;
};

/// How the command gets at one of its standard descriptors.
enum class Channel {
  direct,       ///< it is our own: closed, or a device, or nothing better could be had
  followed,     ///< it is our own, a regular file, which can be read next to it
  pipe,         ///< a pipe to us
  with_output,  ///< the same pipe as standard output
  terminal,     ///< the pseudo terminal
};

/// The channel that standard output (1) or error (2) would have.
Channel output_channel(int standard);

/// Replaces this program by the command. Returns only if that fails.
StartFailure become(const std::vector<std::string>& words);

class Child {
 public:
  /// Makes the pipes and the pseudo terminal. What cannot be made stays direct, and is in problems().
  Child();
  /// Gives the terminal its own settings back.
  ~Child();
  Child(const Child&) = delete;

  /// Starts the command. False if the system has no process or pipe left; throws StartFailure.
  bool start(const std::vector<std::string>& words);

  pid_t pid() const { return pid_; }
  /// Whether the changes of the command's state come from waitpid(), and not from read_change().
  bool is_own_child() const { return !keeper_changes_.is_open(); }
  /// Can be read when the state has changed; negative if is_own_child().
  int changes() const { return keeper_changes_.number(); }
  /// As long as it is open, the pseudo terminal does not hang up; negative without one.
  int keeper() const { return keeper_.number(); }
  /// The next change, as a status of waitpid(); nullopt if there is none now. Without the process that sees the
  /// changes, the command is killed.
  std::optional<int> read_change();

  /// Sentences: "standard output was lost: Too many open files".
  const std::vector<std::string>& problems() const { return problems_; }
  Channel channel(int standard) const { return channels_[static_cast<std::size_t>(standard)]; }
  /// Our ends, to be moved away: of the pipe of an output, and of the terminal's output. Not open without one.
  Descriptor& pipe_of(int standard) { return standard == 1 ? out_.read : error_.read; }
  /// Our end of the pseudo terminal, which never waits. Not open without one.
  const Descriptor& terminal() const { return terminal_; }
  /// Whether the terminal's output goes to standard output; else it goes to standard error.
  bool shows_on_output() const { return channel(1) == Channel::terminal; }
  /// Whether what is typed at our terminal is for the command now: false in the background.
  bool takes_input() const;

  /// Passes a signal on. `to_group`: it came to our whole process group, and so also to the command, if it has no
  /// terminal of its own.
  void pass(int signal, bool to_group);
  /// Gives the pseudo terminal the size of ours.
  void resize();
  /// Our terminal passes every byte on, if we are in front.
  void take_over_terminal();
  /// Our terminal has its own settings: the command has ended or is stopped.
  void restore_terminal();
  /// At the end: our terminal has its own settings. Also for what the command's children print into the pseudo terminal
  /// later, it is ours that begins each line at the left.
  void leave_terminal();
  /// Nobody but the command's own children has the pseudo terminal open now. The command must have ended.
  void let_go_of_terminal() { theirs_.close(); }

 private:
  void open_terminal();
  void add_pipe(Pipe& pipe, int standard);
  void keep_terminal(const std::vector<std::string>& words, int report, int state, int orders);
  [[noreturn]] void enter(const std::vector<std::string>& words, int report, pid_t parent) const;

  pid_t pid_ = -1;
  std::array<Channel, 3> channels_{Channel::direct, Channel::direct, Channel::direct};
  std::vector<std::string> problems_;
  Pipe out_, error_;
  Descriptor terminal_{-1};                     ///< our end of the pseudo terminal
  Descriptor theirs_{-1};                       ///< its other end: open, it does not hang up while nobody else has it
  Descriptor keeper_changes_{-1}, keeper_{-1};  ///< the keeper writes to the first, and ends when the second closes
  std::optional<termios> ours_;                 ///< the settings of our terminal, while it passes every byte on
};

}  // namespace oomdoctor
