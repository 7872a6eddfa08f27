// Frames that wait for the recorder, in a fixed piece of memory: adding one never allocates, waits or fails. If there
// is no room, the oldest frames go, because the end of the output says most about a failure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace oomdoctor {

class FrameQueue {
 public:
  /// Without that much address space, every frame is dropped. Pages that were never used take no memory.
  explicit FrameQueue(std::size_t capacity);
  ~FrameQueue();
  FrameQueue(const FrameQueue&) = delete;

  bool empty() const { return used_ == 0; }
  /// Appends a frame of `head` and `body`, at most the capacity. Returns the bytes of the frames that had to go for it.
  std::size_t push(std::string_view head, std::string_view body);
  /// The oldest frame, as it lies in memory: the second piece follows the first one.
  struct Front {
    std::string_view first, second;
  };
  Front front() const;
  void pop();

 private:
  using Size = std::uint32_t;
  void copy_in(std::string_view bytes);
  Size size_at_front() const;

  char* memory_ = nullptr;
  std::size_t capacity_ = 0, begin_ = 0, used_ = 0;  ///< bytes
};

}  // namespace oomdoctor
