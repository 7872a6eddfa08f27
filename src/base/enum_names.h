// The names of an enumeration, once: to_string(), from_string() and all values follow.
//
//   template <>
//   inline constexpr auto enum_names<Kind> = names_up_to<Kind::last>("first", "second", "last");
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace oomdoctor {

/// Specialised next to each enumeration that has names: an array of them, in their order.
template <class Enum>
inline constexpr std::array<std::string_view, 0> enum_names{};

/// The names of all enumerators up to `last`, which counts them: one name too few or too many does not compile.
template <auto last, class... Names>
requires(sizeof...(Names) ==
         static_cast<std::size_t>(last) +
             1) constexpr std::array<std::string_view, sizeof...(Names)> names_up_to(Names... names) {
  return {names...};
}

template <class Enum>
concept Named = !enum_names<Enum>.empty();

template <Named Enum>
constexpr std::string_view to_string(Enum value) {
  return enum_names<Enum>[static_cast<std::size_t>(value)];
}

template <Named Enum>
constexpr std::optional<Enum> from_string(std::string_view name) {
  for (std::size_t i = 0; i < enum_names<Enum>.size(); ++i)
    if (enum_names<Enum>[i] == name) return static_cast<Enum>(i);
  return std::nullopt;
}

}  // namespace oomdoctor
