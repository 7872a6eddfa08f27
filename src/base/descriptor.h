// An open file descriptor that closes with its owner, and system calls that restart after a signal.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>

namespace oomdoctor {

/// Owns one file descriptor. Movable, not copyable.
class Descriptor {
 public:
  /// Takes ownership of `number`; a negative number means no file.
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { close(); }

  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  /// Closes early; false if that fails. Some file systems report only here that they are full. No-op if not open.
  bool close() {
    const int number = std::exchange(number_, -1);
    return number < 0 || ::close(number) == 0;
  }

 private:
  int number_;
};

/// Calls `call` again while it fails with EINTR, and returns its result. A negative result is a failure with errno.
template <typename Call>
auto uninterrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

/// Writes the whole text to a file descriptor. Returns false on failure, with the reason in errno.
inline bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = uninterrupted([&] { return write(file, text.data(), text.size()); });
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace oomdoctor
