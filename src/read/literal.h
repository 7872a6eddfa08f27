// A string as a template argument: the key of a setting, for the function that emits it.
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
