// A hash of a line that treats all digits as '0'.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace oomdoctor {

/// 128 bits, for lookups only: collisions can be constructed.
struct LineHash {
  std::uint64_t first = 0, second = 0;
  bool operator==(const LineHash&) const = default;
};

/// Equal for lines that differ only in their digits. The same on every machine with the same byte order.
LineHash template_hash(std::string_view line);
/// True if two lines differ only in their digits.
bool is_same_but_digits(std::string_view a, std::string_view b);

}  // namespace oomdoctor
