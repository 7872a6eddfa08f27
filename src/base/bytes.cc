#include "base/bytes.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

#include "base/ascii.h"

namespace oomdoctor {
namespace {

constexpr i64 max_size = std::numeric_limits<i64>::max();

/// The power of 1024 (or 1000) that a prefix letter means; -1 for any other letter.
int prefix_power(char letter) {
  constexpr std::string_view letters = "kmgtpe";
  const auto at = letters.find(letter);
  return at == std::string_view::npos ? -1 : static_cast<int>(at) + 1;
}

i64 raise(i64 base, int power) {
  i64 result = 1;
  for (int i = 0; i < power; ++i) result *= base;
  return result;
}

/// Reads the whole part. Commas are allowed only as thousands separators, before groups of exactly three digits.
std::optional<i64> read_whole(std::string_view text) {
  if (text.empty() || !is_digit(text.front())) return std::nullopt;
  const bool grouped = text.find(',') != std::string_view::npos;
  i64 value = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool comma_place = grouped && (text.size() - i) % 4 == 0;
    if (comma_place != (text[i] == ',')) return std::nullopt;
    if (comma_place) continue;
    if (!is_digit(text[i])) return std::nullopt;
    const int digit = text[i] - '0';
    if (value > (max_size - digit) / 10) return std::nullopt;
    value = value * 10 + digit;
  }
  return value;
}

struct Fraction {
  double value = 0;
  int digits = 0;
};

/// Reads the digits after the point. It ignores all after the 15th, because no size can resolve them.
std::optional<Fraction> read_fraction(std::string_view text) {
  Fraction fraction;
  for (const char c : text) {
    if (!is_digit(c)) return std::nullopt;
    if (fraction.digits == 15) continue;
    ++fraction.digits;
    fraction.value = fraction.value * 10 + (c - '0');
  }
  fraction.value /= std::pow(10.0, fraction.digits);
  return fraction;
}

}  // namespace

std::optional<i64> unit_bytes(std::string_view unit, Radix radix) {
  const std::string word = lower(unit);
  constexpr std::array<std::string_view, 3> plain = {"b", "byte", "bytes"};
  for (const auto name : plain)
    if (word == name) return 1;
  constexpr std::array<std::string_view, 6> long_prefixes = {"kilo", "mega", "giga", "tera", "peta", "exa"};
  for (const auto prefix : long_prefixes)
    if (word.starts_with(prefix) && (word.substr(prefix.size()) == "byte" || word.substr(prefix.size()) == "bytes"))
      return raise(radix == Radix::binary ? 1024 : 1000, prefix_power(prefix.front()));
  if (word.empty()) return std::nullopt;
  const int power = prefix_power(word.front());
  if (power < 0) return std::nullopt;
  std::string_view rest = std::string_view(word).substr(1);
  const bool marked_binary = rest.starts_with('i');
  if (marked_binary) rest.remove_prefix(1);
  if (!rest.empty() && rest != "b" && rest != "byte" && rest != "bytes") return std::nullopt;
  return raise(marked_binary || radix == Radix::binary ? 1024 : 1000, power);
}

std::optional<Bytes> read_bytes(std::string_view number, std::string_view unit, Radix radix) {
  const auto factor = unit_bytes(unit, radix);
  if (!factor) return std::nullopt;
  const auto point = number.find('.');
  const auto whole = read_whole(number.substr(0, point));
  if (!whole || *whole > max_size / *factor) return std::nullopt;
  Fraction fraction;
  if (point != std::string_view::npos) {
    const auto read = read_fraction(number.substr(point + 1));
    if (!read || read->digits == 0) return std::nullopt;
    fraction = *read;
  }
  const double scale = static_cast<double>(*factor);
  const i64 fraction_bytes = std::llround(fraction.value * scale);
  if (*whole * *factor > max_size - fraction_bytes) return std::nullopt;
  // A count of single bytes is exact. Any other number was rounded to its last digit, even if it has no decimals.
  const i64 slack = *factor == 1 ? 0 : std::llround(std::ceil(0.5 * scale / std::pow(10.0, fraction.digits)));
  return Bytes{*whole * *factor + fraction_bytes, slack};
}

std::string bytes_text(i64 count) { return bytes_text(count, 0); }

std::string bytes_text(i64 count, double step) {
  const double size = std::fabs(static_cast<double>(count));
  const char* sign = count < 0 ? "-" : "";
  std::array<char, 48> text{};
  // A size that would round up to 1024.00 of one unit prints as 1.00 of the next.
  constexpr std::array<const char*, 6> units = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (size < 1024 && (step < 1024 || size == 0)) {
    std::snprintf(text.data(), text.size(), "%s%.0f %s", sign, size, size == 1 ? "byte" : "bytes");
    return text.data();
  }
  double scaled = size / 1024, finest = 1024 / 100.0;
  std::size_t unit = 0;
  // The last of two decimals may be finer than the printed digit, but not a whole unit.
  for (; (scaled >= 1023.995 || 100 * finest < step) && unit + 1 < units.size(); ++unit) scaled /= 1024, finest *= 1024;
  constexpr double rounding = 0.9;  // 10 MB are 9.5 MiB
  int decimals = 2;
  for (; decimals > 0 && finest < rounding * step; --decimals) finest *= 10;
  std::snprintf(text.data(), text.size(), "%s%.*f %s", sign, decimals, scaled, units[unit]);
  return text.data();
}

std::string computed_bytes_text(i64 count) {
  const double size = std::fabs(static_cast<double>(count));
  double unit = 1;
  while (size >= 1023.5 * unit && unit < 0x1p60) unit *= 1024;
  const double scaled = size / unit;
  return bytes_text(count, unit * (scaled >= 99.95 ? 1 : scaled >= 9.995 ? 0.1 : 0.01));
}

i64 whole_number(double value) {
  constexpr double max = 9.2e18;
  if (std::isnan(value)) return 0;
  return static_cast<i64>(std::fmin(std::fmax(value, -max), max));
}

std::optional<int> index_number(double value) {
  constexpr double max = 1e6;  // the largest jobs have five-digit ranks
  return value >= 0 && value < max ? std::optional(static_cast<int>(value)) : std::nullopt;
}

}  // namespace oomdoctor
