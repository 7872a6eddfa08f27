// A line with all its digits made '0', and a number that stands for it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace oomdoctor {

/// 128 bits: that two of the few thousand lines that are ever compared share them does not happen.
struct LineHash {
  std::uint64_t first = 0, second = 0;
  bool operator==(const LineHash&) const = default;
};

/// The same for two lines exactly when they differ in their digits alone, on every machine of this kind.
LineHash digit_free_hash(std::string_view line);

}  // namespace oomdoctor
