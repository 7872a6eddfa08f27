// The way from the relay to the recorder: a ring of output, and a socket for everything else. Sending never waits,
// allocates or throws.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string_view>

#include "base/descriptor.h"
#include "run/frame_queue.h"
#include "run/output_ring.h"

namespace oomdoctor {

/// What a frame says. Its first byte; the payload follows.
enum class FrameKind : char {
  output = 'o',   ///< the ring has output: wakes the recorder
  process = 'p',  ///< pid_t: the command has started
  problem = 'l',  ///< text: evidence that cannot be had, in words
  end = 'e',      ///< CommandEnd and a bool: whether to report. Nothing follows.
};

/// The largest payload of a frame, in bytes.
constexpr std::size_t max_payload = 1 << 12;

class RecorderLink {
 public:
  /// Owns our end of the socket. `ring` must outlive this object.
  RecorderLink(Descriptor socket, OutputRing& ring);

  void send(FrameKind kind, std::string_view payload) noexcept;
  /// The first `size` bytes of a room of the ring. Without one, the recorder learns only how many they are.
  void send_output(std::size_t stream, const std::optional<OutputRing::Room>& room, std::size_t size) noexcept;
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
  OutputRing& ring_;
  FrameQueue queue_;
};

}  // namespace oomdoctor
