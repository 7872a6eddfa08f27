// Texts that are one number, from the first byte to the last, and texts that begin with one.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace oomdoctor {

/// nullopt for any other text, and for a number beyond the range of T. For a floating-point T, "inf" and "nan" are
/// numbers as well.
template <typename T>
std::optional<T> parse_whole(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// The whole number at the front; 0 if there is none, or if it is beyond the range of T.
template <typename T = std::int64_t>
T leading_integer(std::string_view text) {
  T value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace oomdoctor
