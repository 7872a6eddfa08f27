#include "mcp/message_reader.h"

#include <utility>

namespace oomdoctor {

void MessageReader::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    append(bytes.substr(0, end));
    if (end == bytes.npos) return;
    finish_line();
    bytes.remove_prefix(end + 1);
  }
}

void MessageReader::end() { finish_line(); }

std::optional<McpMessage> MessageReader::next() {
  if (messages_.empty()) return std::nullopt;
  McpMessage first = std::move(messages_.front());
  messages_.pop_front();
  return first;
}

void MessageReader::append(std::string_view piece) {
  too_long_ = too_long_ || line_.size() + piece.size() > max_bytes_;
  if (too_long_)
    line_ = std::string();  // frees its memory, which clear() would keep
  else
    line_ += piece;
}

void MessageReader::finish_line() {
  const bool blank = line_.find_first_not_of(" \t\r") == line_.npos;
  if (too_long_ || !blank) messages_.push_back({std::exchange(line_, {}), too_long_});
  line_.clear();
  too_long_ = false;
}

}  // namespace oomdoctor
