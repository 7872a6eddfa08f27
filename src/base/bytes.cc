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

namespace {

/// Whether the size is a whole number of hundredths of `unit`, to the byte. A smaller unit would show digits that no
/// log prints: 0.17 GiB are 174.08 MiB.
bool is_hundredths(double size, double unit) {
  constexpr double rounding = 1;  // byte
  return std::fabs(size - std::round(100 * size / unit) * unit / 100) <= rounding;
}

constexpr std::array<const char*, 6> units = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};

int three_digits(double scaled) { return scaled >= 99.95 ? 0 : scaled >= 9.995 ? 1 : 2; }

/// `step` is one unit of the last printed digit, 0 if it is unknown. A computed size has three significant digits.
std::string size_text(i64 count, double step, bool computed) {
  const double size = std::fabs(static_cast<double>(count));
  const char* sign = count < 0 ? "-" : "";
  std::array<char, 48> text{};
  if (size < 1024 && (step < 1024 || size == 0)) {
    std::snprintf(text.data(), text.size(), "%s%.0f %s", sign, size, size == 1 ? "byte" : "bytes");
    return text.data();
  }
  double unit = 1024;
  std::size_t at = 0;
  // A size that would round up to 1024 of one unit prints as 1 of the next. The last of two decimals may be finer than
  // the printed digit, but not a whole unit.
  for (; (size >= 1023.5 * unit || unit < step) && at + 1 < units.size(); ++at) unit *= 1024;
  const double scaled = size / unit;
  computed |= unit < to_double(GiB) && is_hundredths(size, 1024 * unit);
  constexpr double rounding = 0.45;  // a difference of two sizes keeps their last digit; 10 MB are 9.5 MiB
  int decimals = computed ? three_digits(scaled) : 2;
  for (double finest = unit / std::pow(10.0, decimals); decimals > 0 && finest < rounding * step; finest *= 10)
    --decimals;
  const double digits = std::pow(10.0, decimals);
  if ((!computed || decimals == 2) && std::round(digits * scaled) == digits * std::round(scaled)) decimals = 0;
  std::snprintf(text.data(), text.size(), "%s%.*f %s", sign, decimals, scaled, units[at]);
  return text.data();
}

}  // namespace

std::string bytes_text(i64 count, double step) { return size_text(count, step, false); }

std::string bytes_text(const Bytes& size) { return bytes_text(size.count, 2 * to_double(size.slack)); }

std::string bytes_text(double bytes, double step) { return bytes_text(whole_number(std::round(bytes)), step); }

std::string computed_bytes_text(i64 count, double step) { return size_text(count, step, true); }

std::string computed_bytes_text(double bytes, double step) {
  return computed_bytes_text(whole_number(std::round(bytes)), step);
}

std::string decimal_bytes_text(i64 count) {
  constexpr std::array<i64, 3> sizes = {KiB, MiB, GiB};
  std::size_t at = 0;
  while (at + 1 < sizes.size() && std::fabs(to_double(count)) >= 1023.995 * to_double(sizes[at])) ++at;
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%.2f %s", to_double(count) / to_double(sizes[at]), units[at]);
  return text.data();
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
