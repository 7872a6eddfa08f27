// The way from the relay to the recorder: a socket between two processes. Sending never waits, allocates or throws. What
// the recorder is too slow for goes, and it learns how much.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string_view>

#include "base/descriptor.h"
#include "run/frame_queue.h"

namespace oomdoctor {

/// What a frame says. Its first byte; the payload follows.
enum class FrameKind : char {
  output = 'o',   ///< the number of the stream as one byte, then output of the command
  missing = 'm',  ///< std::int64_t: bytes of output that never came
  process = 'p',  ///< pid_t: the command has started
  problem = 'l',  ///< text: evidence that cannot be had, in words
  end = 'e',      ///< CommandEnd and a bool: whether to report. Nothing follows.
};

/// The largest payload of a frame, in bytes.
constexpr std::size_t max_payload = 1 << 16;

class RecorderLink {
 public:
  /// Owns our end of the socket.
  explicit RecorderLink(Descriptor socket);

  void send(FrameKind kind, std::string_view payload) noexcept;
  void send_output(std::size_t stream, std::string_view bytes) noexcept;
  template <typename Value>
  void send_value(FrameKind kind, const Value& value) noexcept {
    send(kind, {reinterpret_cast<const char*>(&value), sizeof value});
  }

  /// To be watched for writing while is_waiting(), and then flush()ed.
  int descriptor() const { return socket_.number(); }
  bool is_waiting() const { return socket_.is_open() && !queue_.empty(); }
  void flush() noexcept;
  bool is_open() const { return socket_.is_open(); }
  void close() { socket_.close(); }

 private:
  bool write(std::string_view first, std::string_view second) noexcept;

  Descriptor socket_;
  FrameQueue queue_;
  std::int64_t missing_ = 0;  ///< bytes that the recorder does not know of yet
};

}  // namespace oomdoctor
