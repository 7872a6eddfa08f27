#include "run/sink.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <string>

namespace oomdoctor {
namespace {

constexpr std::size_t atomic_bytes = 4096;  ///< PIPE_BUF: what a pipe with room takes at once

}  // namespace

Sink::Sink(int file) : file_(file) {
  struct stat status {};
  if (fstat(file, &status) != 0) return;
  socket_ = S_ISSOCK(status.st_mode);
  pipe_ = S_ISFIFO(status.st_mode);
  waits_ = pipe_ || isatty(file) == 1;
  if (!waits_) return;
  const std::string again = "/proc/self/fd/" + std::to_string(file);
  own_ = Descriptor(open(again.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

Sink Sink::that_never_waits(int file) {
  Sink sink(-1);
  sink.file_ = file;
  return sink;
}

ssize_t Sink::write(std::string_view text) noexcept {
  ssize_t written = 0;
  if (socket_) {
    written = uninterrupted([&] { return send(file_, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL); });
  } else if (waits_ && !own_.is_open()) {  // the next best: what a pipe that has room takes for sure
    pollfd room{file_, POLLOUT, 0};
    if (poll(&room, 1, 0) != 1) return 0;
    const std::size_t size = std::min(text.size(), atomic_bytes);
    written = uninterrupted([&] { return ::write(file_, text.data(), size); });
  } else {
    written = uninterrupted([&] { return ::write(descriptor(), text.data(), text.size()); });
  }
  return written < 0 && errno == EAGAIN ? 0 : written;
}

std::size_t Sink::share(int source, std::size_t most) noexcept {
  if (!pipe_) return 0;
  const ssize_t taken = uninterrupted([&] { return tee(source, descriptor(), most, SPLICE_F_NONBLOCK); });
  if (taken < 0 && errno == EINVAL) pipe_ = false;  // the source is none
  return static_cast<std::size_t>(std::max<ssize_t>(taken, 0));
}

}  // namespace oomdoctor
