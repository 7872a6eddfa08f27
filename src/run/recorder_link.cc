#include "run/recorder_link.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>

namespace oomdoctor {
namespace {

constexpr std::size_t queue_bytes = 1 << 16;  ///< more than all frames of a run

}  // namespace

RecorderLink::RecorderLink(Descriptor socket, OutputRing& ring)
    : socket_(std::move(socket)), ring_(ring), queue_(queue_bytes) {}

/// One packet, or nothing. False if the recorder has no room for it now.
bool RecorderLink::write(std::string_view first, std::string_view second) noexcept {
  std::array<iovec, 2> pieces{
      {{const_cast<char*>(first.data()), first.size()}, {const_cast<char*>(second.data()), second.size()}}};
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
  if (!queue_.empty() || !write({&head, 1}, payload)) queue_.push({&head, 1}, payload);
}

void RecorderLink::send_output(std::size_t stream, const std::optional<OutputRing::Room>& room,
                               std::size_t size) noexcept {
  if (!socket_.is_open()) return;
  if (!room)
    ring_.miss(size);
  else if (ring_.push(*room, stream, size))
    send(FrameKind::output, {});
}

void RecorderLink::flush() noexcept {
  while (is_waiting()) {
    const FrameQueue::Front front = queue_.front();
    if (!write(front.first, front.second)) return;
    queue_.pop();
  }
}

}  // namespace oomdoctor
