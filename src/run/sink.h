// Where output goes: a pipe, a socket, a terminal. Writing takes what there is room for and never waits, and the sink's
// other users do not notice: no setting that they share is changed.
#pragma once

#include <sys/types.h>

#include <string_view>

#include "base/descriptor.h"

namespace oomdoctor {

class Sink {
 public:
  /// `file` must outlive this object. A negative one takes nothing.
  explicit Sink(int file);
  /// `file` is set not to wait already, and is ours.
  static Sink that_never_waits(int file);

  int file() const { return file_; }  ///< as it was given; negative if that takes nothing
  /// To be watched for room, and for a reader that goes away.
  int descriptor() const { return own_.is_open() ? own_.number() : file_; }
  /// The bytes that it took; 0 if it has no room now, −1 if it failed, with the reason in errno.
  ssize_t write(std::string_view text) noexcept;
  /// Gives it what the pipe `source` holds, at most `most` bytes, which stay in `source`: of two pipes, nothing is
  /// copied. The bytes that it took; 0 if it has no room, is not a pipe, or failed.
  std::size_t share(int source, std::size_t most) noexcept;

 private:
  int file_;
  Descriptor own_{-1};  ///< the same pipe or terminal, opened once more, so that it can be set not to wait
  bool socket_ = false, waits_ = false, pipe_ = false;
};

}  // namespace oomdoctor
