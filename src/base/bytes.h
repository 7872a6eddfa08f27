// Sizes. A size is an exact count of bytes plus the rounding error of its printed form: "1.26 GiB" is exact to half a
// unit of its last digit. Sums add these errors, so the memory account can distinguish rounding from a missing part.
#pragma once

#include <cstddef>
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

/// A size in bytes with its tolerance. The true value lies within count ± slack.
struct Bytes {
  i64 count = 0;
  i64 slack = 0;  ///< half a unit of the last printed digit, in bytes; 0 for an exact count

  friend constexpr bool operator==(const Bytes&, const Bytes&) = default;
};

/// Adds, and clamps to the range ±max: a log may print any number. The range is symmetric, so the negation never
/// overflows.
constexpr i64 saturated_sum(i64 a, i64 b) {
  constexpr i64 max = std::numeric_limits<i64>::max();
  i64 sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return b > 0 ? max : -max;
  return sum < -max ? -max : sum;
}

constexpr Bytes operator+(Bytes a, Bytes b) {
  return {saturated_sum(a.count, b.count), saturated_sum(a.slack, b.slack)};
}
constexpr Bytes operator-(Bytes a, Bytes b) {
  return {b.count >= 0 ? saturated_sum(a.count, -b.count) : saturated_sum(saturated_sum(a.count, 1), -(b.count + 1)),
          saturated_sum(a.slack, b.slack)};
}

/// As many of `count` bytes as a piece of `room` bytes takes. Where an address has 32 bits, a count may exceed
/// std::size_t, so it is compared before it is converted.
constexpr std::size_t bytes_of_piece(i64 count, std::size_t room) {
  return static_cast<std::size_t>(count < static_cast<i64>(room) ? count : static_cast<i64>(room));
}

/// The meaning of a unit without an "i". "GB" is 2^30 in most training tools, 10^9 in some.
enum class Radix { binary, decimal };

/// The bytes of one `unit` ("GiB", "MB", "K", "bytes", "G", …), in any letter case; nullopt for any other word. An "i"
/// in the unit always means 2^10; otherwise `radix` decides.
std::optional<i64> unit_bytes(std::string_view unit, Radix radix = Radix::binary);

/// Reads "1.26" with "GiB" as a size with the tolerance of its digits. Thousands commas are allowed ("1,024"). nullopt
/// if the number or the unit is invalid, or if the size does not fit into 63 bits.
std::optional<Bytes> read_bytes(std::string_view number, std::string_view unit, Radix radix = Radix::binary);

/// Converts a printed number, which may be anything: truncates towards zero, clamps to the range of i64, 0 for NaN.
i64 whole_number(double value);
/// A count for arithmetic; exact below 2^53.
inline double to_double(i64 count) { return static_cast<double>(count); }
/// Converts a rank or device number; nullopt if it is negative or not below 10^6.
std::optional<int> index_number(double value);

/// Formats a size that a log prints, for people: "512 bytes", "20 MiB", "1.26 GiB". A minus sign stays in front. It has
/// two decimals, or none if all are zero. No digit is finer than `step` bytes, the last digit of the printed number:
/// "0.79 GiB" for 808.96 MiB that the log prints as 0.79 GB. Below 1 GiB, hundredths of the next unit are a size as
/// below: 0.17 GiB is "174 MiB".
std::string bytes_text(i64 count, double step = 0);
std::string bytes_text(const Bytes& size);
/// Of a size that was computed with, rounded to bytes.
std::string bytes_text(double bytes, double step = 0);
/// The same with three significant digits, for a size that no log prints: differences, sums, rates, levels. "15.7 GiB",
/// "48.0 MiB", "192 MiB". Of zeros it drops only two decimals: "2 GiB".
std::string computed_bytes_text(i64 count, double step = 0);
std::string computed_bytes_text(double bytes, double step = 0);
/// Always with two decimals: where a program reads the text again, or where two close sizes have to differ.
std::string decimal_bytes_text(i64 count);

}  // namespace oomdoctor
