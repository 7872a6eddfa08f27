// What the libraries of Debian's emscripten 3.1.6 lack of C++20, C++17 and POSIX. The compiler includes this before
// every file of the WebAssembly build, so that the code itself is written for one standard library.
#pragma once

#if __EMSCRIPTEN_major__ != 3 || __EMSCRIPTEN_minor__ != 1 || __EMSCRIPTEN_tiny__ != 6
#error "written for the libraries of emscripten 3.1.6: remove what this version has itself"
#endif

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>
#include <thread>
#include <type_traits>

#include <unistd.h>

// Its lseek() refuses them, as a file system without holes does.
#define SEEK_DATA 3
#define SEEK_HOLE 4

namespace std {

/// A page has one thread: every start fails, as on a machine that refuses more threads.
class jthread {
 public:
  jthread() = default;
  template <class Work, class... Arguments>
  explicit jthread(Work&&, Arguments&&...) {
    throw system_error(make_error_code(errc::resource_unavailable_try_again));
  }
  void join() {}
  bool joinable() const { return false; }
};

template <class To, class From>
To bit_cast(const From& from) noexcept {
  static_assert(sizeof(To) == sizeof(From) && is_trivially_copyable_v<To> && is_trivially_copyable_v<From>);
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}

// The algorithms on whole ranges that the code uses.
namespace ranges {

template <class Range, class Test>
bool any_of(const Range& range, Test test) {
  return std::any_of(range.begin(), range.end(), test);
}
template <class Range, class Test>
bool none_of(const Range& range, Test test) {
  return std::none_of(range.begin(), range.end(), test);
}
template <class Left, class Right>
bool equal(const Left& left, const Right& right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end());
}
template <class Range>
void sort(Range& range) {
  std::sort(range.begin(), range.end());
}

}  // namespace ranges

/// Decimal numbers in chars_format::general, rounded as strtod() rounds them. "inf" and "nan" are not numbers of a log.
inline from_chars_result from_chars(const char* first, const char* last, double& value) {
  const auto count_digits = [&](const char*& at) {
    const char* const begin = at;
    while (at != last && *at >= '0' && *at <= '9') ++at;
    return at - begin;
  };
  const char* at = first;
  if (at != last && *at == '-') ++at;
  auto digits = count_digits(at);
  if (at != last && *at == '.') ++at, digits += count_digits(at);
  if (digits == 0) return {first, errc::invalid_argument};
  if (at != last && (*at == 'e' || *at == 'E')) {
    const char* exponent = at + 1;
    if (exponent != last && (*exponent == '-' || *exponent == '+')) ++exponent;
    if (count_digits(exponent) > 0) at = exponent;
  }
  const double read = strtod(string(first, at).c_str(), nullptr);
  if (read - read != 0) return {at, errc::result_out_of_range};
  value = read;
  return {at, errc{}};
}

}  // namespace std
