#include "run/recorder_link.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cstring>

namespace oomdoctor {
namespace {

/// Bytes that may wait: more than a program prints while the disk is busy for a moment. They take memory only then.
constexpr std::size_t queue_bytes = 16 << 20;

}  // namespace

RecorderLink::RecorderLink(Descriptor socket) : socket_(std::move(socket)), queue_(queue_bytes) {}

/// One packet, or nothing. False if the recorder has no room for it now.
bool RecorderLink::write(std::string_view first, std::string_view second) noexcept {
  std::array<iovec, 2> pieces{{{const_cast<char*>(first.data()), first.size()},
                               {const_cast<char*>(second.data()), second.size()}}};
  msghdr message{};
  message.msg_iov = pieces.data();
  message.msg_iovlen = pieces.size();
  if (uninterrupted([&] { return sendmsg(socket_.number(), &message, MSG_DONTWAIT | MSG_NOSIGNAL); }) >= 0) return true;
  if (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM) return false;
  socket_.close();  // the recorder is gone
  return true;
}

void RecorderLink::send(FrameKind kind, std::string_view payload) noexcept {
  if (!socket_.is_open()) return;
  const char head = static_cast<char>(kind);
  if (queue_.empty() && missing_ == 0 && write({&head, 1}, payload)) return;
  missing_ += static_cast<std::int64_t>(queue_.push({&head, 1}, payload));
}

void RecorderLink::send_output(std::size_t stream, std::string_view bytes) noexcept {
  if (!socket_.is_open()) return;
  const std::array<char, 2> head{static_cast<char>(FrameKind::output), static_cast<char>(stream)};
  if (queue_.empty() && missing_ == 0 && write({head.data(), head.size()}, bytes)) return;
  missing_ += static_cast<std::int64_t>(queue_.push({head.data(), head.size()}, bytes));
}

void RecorderLink::flush() noexcept {
  if (missing_ > 0 && socket_.is_open()) {
    std::array<char, 1 + sizeof missing_> frame{static_cast<char>(FrameKind::missing)};
    std::memcpy(frame.data() + 1, &missing_, sizeof missing_);
    if (!write({frame.data(), frame.size()}, {})) return;
    missing_ = 0;
  }
  while (is_waiting()) {
    const FrameQueue::Front front = queue_.front();
    if (!write(front.first, front.second)) return;
    queue_.pop();
  }
}

}  // namespace oomdoctor
