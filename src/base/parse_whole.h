// Texts that are one number, from the first byte to the last.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace oomdoctor {

/// nullopt for any other text, and for a number beyond the range of T. For a floating-point T, "inf" and "nan" are
/// numbers, too.
template <typename T>
std::optional<T> parse_whole(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

}  // namespace oomdoctor
