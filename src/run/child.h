// A command as a child process. What it would see of the terminal without us it sees now: where our standard output or
// error is a terminal, its own is a pseudo terminal of the same size and settings.
#pragma once

#include <sys/types.h>
#include <termios.h>

#include <csignal>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "base/error.h"

namespace oomdoctor {

/// Bytes that are read at one descriptor and written to another, in pieces that the reader can take.
struct Stream {
  Descriptor source{-1};
  int sink = -1;
  bool keeps = true;  ///< its bytes are output of the command, not input
  bool whole = false; ///< the sink takes any number of bytes at once: a file
  std::string pending = {};
};

/// The command could not be started. `status` is the exit status that shells have for it: 127 if it does not exist, 126 if
/// it cannot be run.
struct StartFailure : Error {
  StartFailure(const std::string& command, int error);
  int status;
};

/// How the command ended.
struct CommandEnd {
  int status = 0;  ///< exit status, if `signal` is 0
  int signal = 0;
};

class Child {
 public:
  /// Starts `words`. `mask` is the signal mask that the command gets. Throws StartFailure, or Error if the system has no
  /// pipe, process or pseudo terminal left.
  Child(const std::vector<std::string>& words, const sigset_t& mask);
  /// Gives the terminal its own settings back.
  ~Child();
  Child(const Child&) = delete;

  pid_t pid() const { return pid_; }
  std::vector<Stream>& streams() { return streams_; }
  /// How the command ended; nullopt while it runs.
  std::optional<CommandEnd> look();
  /// Stops the command and this program if the typed text has the character for it, and continues both together. Returns
  /// whether it did: then the text is not for the command.
  bool stop_if_typed(std::string_view input);
  /// Passes a signal on. `from_terminal`: the kernel sent it to all programs in front, and so also to the command, if it
  /// shares our terminal.
  void pass(int signal, bool from_terminal);
  /// Gives the pseudo terminal the size of ours.
  void resize();
  /// The terminal shows plain text again: the command has ended.
  void restore_terminal();

 private:
  void open_terminal();
  void add_streams();
  void start(const std::vector<std::string>& words, const sigset_t& mask);
  [[noreturn]] void become(const std::vector<std::string>& words, const sigset_t& mask, int report) const;
  void take_over_terminal();

  pid_t pid_ = -1;
  std::vector<Stream> streams_;
  Descriptor terminal_{-1};               ///< our end of the pseudo terminal
  Descriptor theirs_{-1};                 ///< its other end, until the command has it
  std::optional<Descriptor> out_, error_; ///< the command's ends of its pipes
  bool terminal_out_ = false, terminal_error_ = false, terminal_in_ = false;
  bool one_file_ = false;  ///< standard output and error are the same file or pipe
  std::optional<termios> ours_;           ///< the settings of our terminal, while it passes every byte on
};

}  // namespace oomdoctor
