// The bytes of an input from front to back, a piece at a time, for readers of formats that are not text. A reader asks
// for as many bytes as its next element needs; memory is one piece and the longest element.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "text/text_buffer.h"

namespace oomdoctor {

/// Not thread-safe.
class ByteStream {
 public:
  /// Appends about `wanted` bytes to the buffer; false at the end. Source::read is one.
  using Refill = std::function<bool(TextBuffer& out, std::size_t wanted)>;

  explicit ByteStream(Refill refill) : refill_(std::move(refill)) {}

  /// Makes `size` bytes available at data(); false if the input ends before.
  bool ensure(std::size_t size) { return static_cast<std::size_t>(end_ - at_) >= size || fetch(size); }
  const char* data() const { return at_; }
  /// All bytes that are available without a read.
  std::string_view available() const { return {at_, static_cast<std::size_t>(end_ - at_)}; }
  /// `size` bytes must be available.
  void skip(std::size_t size) { at_ += size; }
  /// The place of data() in the input.
  std::int64_t offset() const { return begin_ + (at_ - buffer_.text().data()); }

 private:
  bool fetch(std::size_t size);

  Refill refill_;
  TextBuffer buffer_;
  const char *at_ = nullptr, *end_ = nullptr;
  std::int64_t begin_ = 0;  ///< the place of the buffer in the input
};

}  // namespace oomdoctor
