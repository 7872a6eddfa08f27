#include "run/frame_queue.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace oomdoctor {

FrameQueue::FrameQueue(std::size_t capacity) {
  void* const memory = mmap(nullptr, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  memory_ = static_cast<char*>(memory);
  capacity_ = capacity;
}

FrameQueue::~FrameQueue() {
  if (memory_ != nullptr) munmap(memory_, capacity_);
}

void FrameQueue::copy_in(std::string_view bytes) {
  if (bytes.empty()) return;
  const std::size_t end = (begin_ + used_) % std::max<std::size_t>(capacity_, 1);
  const std::size_t first = std::min(bytes.size(), capacity_ - end);
  std::memcpy(memory_ + end, bytes.data(), first);
  std::memcpy(memory_, bytes.data() + first, bytes.size() - first);
  used_ += bytes.size();
}

FrameQueue::Size FrameQueue::size_at_front() const {
  std::array<char, sizeof(Size)> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = memory_[(begin_ + i) % capacity_];
  Size size = 0;
  std::memcpy(&size, bytes.data(), bytes.size());
  return size;
}

std::size_t FrameQueue::push(std::string_view head, std::string_view body) {
  const auto size = static_cast<Size>(head.size() + body.size());
  const std::size_t needed = sizeof size + size;
  if (needed > capacity_) return size;
  std::size_t gone = 0;
  while (capacity_ - used_ < needed) {
    gone += size_at_front();
    pop();
  }
  std::array<char, sizeof size> bytes{};
  std::memcpy(bytes.data(), &size, bytes.size());
  copy_in({bytes.data(), bytes.size()});
  copy_in(head);
  copy_in(body);
  return gone;
}

FrameQueue::Front FrameQueue::front() const {
  const std::size_t size = size_at_front(), begin = (begin_ + sizeof(Size)) % capacity_;
  const std::size_t first = std::min(size, capacity_ - begin);
  return {{memory_ + begin, first}, {memory_, size - first}};
}

/// An empty queue begins at its first byte again, so a short one touches few pages; and it frees what a flood took.
void FrameQueue::pop() {
  constexpr std::size_t touched = 1 << 20;
  const std::size_t size = sizeof(Size) + size_at_front();
  begin_ = (begin_ + size) % capacity_;
  used_ -= size;
  if (used_ > 0) return;
  if (begin_ > touched) madvise(memory_, capacity_, MADV_DONTNEED);
  begin_ = 0;
}

}  // namespace oomdoctor
