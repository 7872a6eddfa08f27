// Cuts a stream of bytes into messages, one a line. Memory is bounded, also for a line without an end.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

namespace oomdoctor {

/// One line without its end.
struct McpMessage {
  std::string text;
  bool too_long = false;  ///< the line was longer than allowed; its text is gone
};

class MessageReader {
 public:
  explicit MessageReader(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  /// Takes the next bytes of the stream.
  void feed(std::string_view bytes);
  /// The stream has ended: what remains is the last line.
  void end();
  /// The next whole line that is not blank, in their order.
  std::optional<McpMessage> next();

 private:
  void append(std::string_view piece);
  void finish_line();

  std::size_t max_bytes_;
  std::string line_;       ///< the beginning of a line
  bool too_long_ = false;  ///< its beginning was longer than allowed
  std::deque<McpMessage> messages_;
};

}  // namespace oomdoctor
