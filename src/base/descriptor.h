// An open file of the system, closed with its owner; and calls that a signal does not break off.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace oomdoctor {

class Descriptor {
 public:
  /// Owns it where it is not negative.
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { close(); }

  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  /// Some file systems say only here that they are full.
  bool close() {
    const int number = std::exchange(number_, -1);
    return number < 0 || ::close(number) == 0;
  }

 private:
  int number_;
};

/// What `call` gives, which is negative where it fails; asked again where a signal came in between.
template <typename Call>
auto uninterrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

}  // namespace oomdoctor
