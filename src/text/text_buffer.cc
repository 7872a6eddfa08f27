#include "text/text_buffer.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace oomdoctor {

void TextBuffer::restart(std::string_view kept) {
  size_ = 0;
  append(kept);
}

char* TextBuffer::room(std::size_t n) {
  if (capacity_ - size_ < n || bytes_ == nullptr) {
    const std::size_t wanted = std::max(size_ + n, capacity_ + capacity_ / 2);
    std::unique_ptr<char, FreeBytes> larger(static_cast<char*>(std::malloc(std::max<std::size_t>(wanted, 1))));
    if (larger == nullptr) throw std::bad_alloc();
    if (size_ > 0) std::memcpy(larger.get(), bytes_.get(), size_);
    bytes_ = std::move(larger);
    capacity_ = wanted;
  }
  return bytes_.get() + size_;
}

void TextBuffer::append(std::string_view more) {
  if (more.empty()) return;
  std::memcpy(room(more.size()), more.data(), more.size());
  add(more.size());
}

}  // namespace oomdoctor
