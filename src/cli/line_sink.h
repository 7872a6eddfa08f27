// Lines for a file descriptor whose reader may be slow, stopped or gone. What the descriptor does not take is kept
// within a limit, so that a stopped terminal or a full disk stops nothing else.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "run/sink.h"

namespace oomdoctor::cli {

class LineSink {
 public:
  /// Does not own the descriptor.
  explicit LineSink(int file) : sink_(file) {}

  /// Adds whole lines, and writes what the descriptor takes. Leaves the lines out if too much waits already.
  void put(std::string_view lines);
  /// The same for a text that replaces an earlier one on a terminal: it is left out if anything waits.
  void refresh(std::string_view text);
  /// Writes what the descriptor takes now.
  void flush();
  /// Writes what waits, as long as `longest` has not passed.
  void finish(std::chrono::milliseconds longest);

  bool waits() const { return !waiting_.empty(); }
  /// Becomes ready for writing when flush() can go on; negative if nothing waits, or if the last write failed.
  int awaited_descriptor() const { return waits() && error_ == 0 ? sink_.descriptor() : -1; }
  /// Nobody reads any more; nothing is written from now on.
  bool is_closed() const { return closed_; }
  /// The error of the last write; 0 if it went well.
  int error() const { return error_; }
  /// Lines were left out.
  bool has_left_out() const { return has_left_out_; }

 private:
  bool write_some();

  Sink sink_;
  std::string waiting_;
  bool closed_ = false, has_left_out_ = false;
  int error_ = 0;
};

}  // namespace oomdoctor::cli
