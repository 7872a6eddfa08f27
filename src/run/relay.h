// Passes the output, the input and the signals of a command on, and nothing else: no file, no probe, no report is
// touched here, and nothing here waits for a reader, a writer or a disk. A copy of the output goes to the recorder.
#pragma once

#include <sys/types.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

#include "base/descriptor.h"
#include "run/child.h"
#include "run/group_witness.h"
#include "run/output_ring.h"
#include "run/recorder_link.h"
#include "run/sink.h"

namespace oomdoctor {

class Relay {
 public:
  /// For a command that is about to start. `signals` is a signalfd of all signals, which are blocked. `recorder` is the
  /// process at the other end of `link`.
  Relay(Child& child, RecorderLink& link, OutputRing& ring, pid_t recorder, int signals);

  /// Until the command has ended, and what it printed is passed on. What its children print after that is passed on by
  /// a process of its own.
  CommandEnd run();
  /// Waits for the recorder to end, but not longer than a signal or `seconds` allow. Call it after run(). Returns its
  /// exit status; nullopt if it did not end, or by a signal.
  std::optional<int> wait_for_recorder(int seconds);

 private:
  /// Bytes that are read at one descriptor and written to another, one piece at a time.
  struct Stream {
    Descriptor source{-1};
    Sink sink{-1};
    bool records = true;                   ///< its bytes are output of the command, not input
    bool discards = false;                 ///< the sink fails: its bytes go nowhere
    int failures = 0;                      ///< of reading and writing, so far
    std::optional<OutputRing::Slot> slot;  ///< in which its bytes are; without one, they are in `buffer`
    std::string_view left;                 ///< the bytes that wait
    std::size_t shared = 0;                ///< bytes at the front of the source that the sink has already
    std::array<char, OutputRing::slot_bytes> buffer;

    bool waits() const { return !left.empty(); }
    bool is_over() const { return !source.is_open() && !waits(); }
  };

  void add_stream(Descriptor source, int sink, bool records);
  bool handle_events(int milliseconds);
  void take_signals();
  void take_signal(const signalfd_siginfo& info);
  void pass_signal(int signal, bool to_group);
  void reap();
  void take_state(int status);
  void stop_together(int signal);
  void release_slot(Stream& stream);
  bool read(std::size_t i);
  bool read_pieces(std::size_t i, int most);
  void write(Stream& stream);
  static void lose_reader(Stream& stream);
  void let_go_of_standard_files();
  void finish_output();
  void keep_streams_only();
  void pass_on_beside();

  Child& child_;
  RecorderLink& link_;
  OutputRing& ring_;
  pid_t recorder_;
  int signals_;
  GroupWitness witness_;
  std::unique_ptr<std::array<Stream, 4>> streams_ = std::make_unique<std::array<Stream, 4>>();
  std::size_t count_ = 0;  ///< of the streams
  std::optional<CommandEnd> end_;
  std::optional<int> recorder_status_;  ///< of waitpid()
  std::array<bool, 2> let_go_{};        ///< standard input and output: our own ones are /dev/null
  bool interrupted_ = false;            ///< a signal came after the end
};

}  // namespace oomdoctor
