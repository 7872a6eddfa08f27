// Text that is read in large pieces: reads go directly after it, and no byte is set before it is read.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string_view>

namespace oomdoctor {

/// A growing text. It keeps its memory when it is restarted. Throws std::bad_alloc if there is no memory.
class TextBuffer {
 public:
  std::string_view text() const { return {bytes_.get(), size_}; }
  std::size_t size() const { return size_; }

  /// Replaces the text by `kept`, which must not be a part of it.
  void restart(std::string_view kept);
  /// Room for `n` bytes after the text, with any content. Valid until the next call.
  char* room(std::size_t n);
  /// Adds the first `n` bytes of the room to the text.
  void add(std::size_t n) { size_ += n; }
  void append(std::string_view more);
  /// Keeps the first `size` bytes.
  void cut(std::size_t size) { size_ = size; }

 private:
  struct FreeBytes {
    void operator()(char* bytes) const { std::free(bytes); }
  };

  std::unique_ptr<char, FreeBytes> bytes_;
  std::size_t capacity_ = 0, size_ = 0;
};

}  // namespace oomdoctor
