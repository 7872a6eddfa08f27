#include "text/text_buffer.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace oomdoctor {
namespace {

constexpr std::size_t page = 4096;  ///< bytes

}  // namespace

void TextBuffer::restart(std::string_view kept) {
  size_ = 0;
  begin_ = (page - kept.size() % page) % page;
  append(kept);
}

char* TextBuffer::room(std::size_t n) {
  const std::size_t end = begin_ + size_;
  if (capacity_ - end < n || bytes_ == nullptr) {
    const std::size_t wanted = (std::max(end + n, capacity_ + capacity_ / 2) / page + 1) * page;
    std::unique_ptr<char, Free> larger(static_cast<char*>(std::aligned_alloc(page, wanted)));
    if (larger == nullptr) throw std::bad_alloc();
    if (size_ > 0) std::memcpy(larger.get() + begin_, bytes_.get() + begin_, size_);
    bytes_ = std::move(larger);
    capacity_ = wanted;
  }
  return bytes_.get() + end;
}

void TextBuffer::append(std::string_view more) {
  if (more.empty()) return;
  std::memcpy(room(more.size()), more.data(), more.size());
  add(more.size());
}

}  // namespace oomdoctor
