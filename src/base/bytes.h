// Sizes. A size is an exact count of bytes plus the slack that its printed form leaves open: "1.26 GiB" is 1.26 GiB
// give or take half of its last digit. Sums add their slack, so that an account can tell rounding from a hole.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace oomdoctor {

using i64 = std::int64_t;

inline constexpr i64 KiB = i64{1} << 10;
inline constexpr i64 MiB = i64{1} << 20;
inline constexpr i64 GiB = i64{1} << 30;
inline constexpr i64 TiB = i64{1} << 40;

struct Bytes {
  i64 count = 0;
  i64 slack = 0;  ///< half a unit of the last printed digit, in bytes; 0 for an exact count

  friend constexpr bool operator==(const Bytes&, const Bytes&) = default;
};

/// A log may print any number: what does not fit stays at the limit, which has the same distance from 0 on both sides,
/// so that it can be negated.
constexpr i64 saturated_sum(i64 a, i64 b) {
  constexpr i64 most = std::numeric_limits<i64>::max();
  i64 sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return b > 0 ? most : -most;
  return sum < -most ? -most : sum;
}

constexpr Bytes operator+(Bytes a, Bytes b) {
  return {saturated_sum(a.count, b.count), saturated_sum(a.slack, b.slack)};
}
constexpr Bytes operator-(Bytes a, Bytes b) {
  return {b.count >= 0 ? saturated_sum(a.count, -b.count) : saturated_sum(saturated_sum(a.count, 1), -(b.count + 1)),
          saturated_sum(a.slack, b.slack)};
}

/// How a unit word is to be read where its letters do not tell ("GB" is 2^30 in most training tools, 1e9 in some).
enum class Radix { binary, decimal };

/// Bytes in one of `unit` ("GiB", "MB", "K", "bytes", "G", …; letter case is ignored); nullopt for any other word.
/// An "i" in the unit always means 2^10; without it `radix` decides.
std::optional<i64> unit_bytes(std::string_view unit, Radix radix = Radix::binary);

/// Reads "1.26" with "GiB" to a size with the slack of its digits. Thousands commas are allowed ("1,024").
/// nullopt when the number or the unit is not one, or the size does not fit 63 bits.
std::optional<Bytes> read_bytes(std::string_view number, std::string_view unit, Radix radix = Radix::binary);

/// Printed numbers may be anything: towards zero, clamped to what fits, 0 for NaN.
i64 whole_number(double value);
/// A rank or device number; nullopt for what none can be.
std::optional<int> index_number(double value);

/// For people: "512 bytes", "20.00 MiB", "1.26 GiB"; a minus sign stays in front.
std::string bytes_text(i64 count);

}  // namespace oomdoctor
