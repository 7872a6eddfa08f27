// A string that a template can take: the key of a setting, in the name of the function that tells it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace oomdoctor {

template <std::size_t N>
struct Literal {
  char data[N]{};
  consteval Literal(const char (&text)[N]) { std::copy_n(text, N, data); }
  constexpr std::string_view view() const { return {data, N - 1}; }
};

}  // namespace oomdoctor
