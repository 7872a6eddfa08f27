#include "cli/line_sink.h"

#include <cerrno>
#include <thread>

namespace oomdoctor::cli {
namespace {

constexpr std::size_t max_waiting = 1 << 18;  ///< bytes: some hundred lines

}  // namespace

void LineSink::put(std::string_view lines) {
  if (closed_) return;
  flush();
  if (waiting_.size() + lines.size() > max_waiting) {
    has_left_out_ = true;
    return;
  }
  waiting_ += lines;
  flush();
}

void LineSink::refresh(std::string_view text) {
  flush();
  if (!waits()) put(text);
}

void LineSink::flush() {
  while (waits() && write_some()) continue;
}

void LineSink::finish(std::chrono::milliseconds longest) {
  const auto end = std::chrono::steady_clock::now() + longest;
  for (flush(); waits() && std::chrono::steady_clock::now() < end; flush())
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

/// False if the descriptor takes nothing now. The text then goes on waiting: a full disk may have room again.
bool LineSink::write_some() {
  const ssize_t written = sink_.write(waiting_);
  if (written == 0) return false;
  if (written > 0) {
    error_ = 0;
    waiting_.erase(0, static_cast<std::size_t>(written));
    return true;
  }
  error_ = errno;
  closed_ = error_ == EPIPE || error_ == EBADF;
  if (closed_) waiting_.clear();
  return false;
}

}  // namespace oomdoctor::cli
