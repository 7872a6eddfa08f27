#include "cli/line_sink.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <thread>

namespace oomdoctor::cli {
namespace {

constexpr std::size_t max_waiting = 1 << 18;  ///< bytes: some hundred lines

/// The same pipe or terminal, opened once more without waiting. O_NONBLOCK on the descriptor itself would change it for
/// the job, too, if that writes to the same terminal. Not open for other kinds of files.
Descriptor unshared(int file) {
  struct stat about {};
  if (fstat(file, &about) != 0 || !(S_ISFIFO(about.st_mode) || isatty(file) == 1)) return Descriptor(-1);
  const std::string name = "/proc/self/fd/" + std::to_string(file);
  return Descriptor(open(name.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

}  // namespace

LineSink::LineSink(int file) : file_(file), unshared_(unshared(file)) {}

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
  while (waits() && is_ready() && write_some()) continue;
}

void LineSink::finish(std::chrono::milliseconds longest) {
  const auto end = std::chrono::steady_clock::now() + longest;
  for (flush(); waits() && std::chrono::steady_clock::now() < end; flush())
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

/// A pipe that is ready takes PIPE_BUF bytes without waiting.
bool LineSink::is_ready() const {
  pollfd of{target(), POLLOUT, 0};
  return uninterrupted([&] { return poll(&of, 1, 0); }) > 0;
}

/// False if the descriptor takes nothing now. The text then goes on waiting: a full disk may have room again.
bool LineSink::write_some() {
  const std::size_t most = std::min<std::size_t>(waiting_.size(), PIPE_BUF);
  const ssize_t written = uninterrupted([&] { return write(target(), waiting_.data(), most); });
  if (written >= 0) {
    error_ = 0;
    waiting_.erase(0, static_cast<std::size_t>(written));
    return true;
  }
  if (errno == EAGAIN) return false;
  error_ = errno;
  closed_ = error_ == EPIPE || error_ == EBADF;
  if (closed_) waiting_.clear();
  return false;
}

}  // namespace oomdoctor::cli
