#include "evidence/allocator_sizes.h"

#include <algorithm>
#include <bit>

namespace oomdoctor::allocator_sizes {
namespace {

/// The next of `divisions` equal steps between two powers of two.
u64 next_division(u64 bytes, u64 divisions) {
  if (std::has_single_bit(bytes)) return bytes;
  const u64 floor = std::bit_floor(bytes);
  const u64 step = floor / std::bit_floor(divisions);
  return step == 0 ? floor * 2 : rounded_up(bytes, step);
}

}  // namespace

u64 rounded_request(u64 bytes, u64 divisions) {
  if (bytes < min_block) return min_block;
  // The quotient too: a file may have a number of divisions with which the product overflows.
  const bool divided = divisions > 1 && bytes / divisions >= min_block && bytes > min_block * divisions;
  return divided ? next_division(bytes, divisions) : rounded_up(bytes, min_block);
}

u64 rounded_request(u64 bytes, const AllocatorSettings& settings) {
  constexpr u64 last_class = 32768;  // the settings have a number for each power of two, in MiB
  const auto divisions =
      settings.roundup_power2_divisions.find(std::clamp<u64>(std::bit_floor(bytes) / MiB, 1, last_class));
  return rounded_request(bytes, divisions == settings.roundup_power2_divisions.end() ? 0 : divisions->second);
}

u64 segment_size(u64 rounded) {
  if (rounded <= small_size) return small_segment;
  return rounded < min_large_request ? large_segment : rounded_up(rounded, small_segment);
}

}  // namespace oomdoctor::allocator_sizes
