// Numbers of binary files, the lowest byte first.
#pragma once

#include <bit>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace oomdoctor {

/// The number at byte `at`. Its bytes must exist.
template <class Int>
Int read_little_endian(std::string_view bytes, std::size_t at = 0) {
  Int value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  if constexpr (std::endian::native == std::endian::big) {
    value = 0;
    for (std::size_t i = sizeof value; i-- > 0;)
      value = static_cast<Int>(value << 8 | static_cast<unsigned char>(bytes[at + i]));
  }
  return value;
}

}  // namespace oomdoctor
