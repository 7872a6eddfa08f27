#include "base/natural_order.h"

#include <cstddef>

#include "base/ascii.h"

namespace oomdoctor {
namespace {

/// The digits at `at`, without leading zeros. Moves `at` to the first byte after them.
std::string_view number_at(std::string_view text, std::size_t& at) {
  while (at + 1 < text.size() && text[at] == '0' && is_digit(text[at + 1])) ++at;
  const std::size_t begin = at;
  while (at < text.size() && is_digit(text[at])) ++at;
  return text.substr(begin, at - begin);
}

/// '/' sorts before every other byte: "a/z" before "a-b/c".
int weight(char c) { return c == '/' ? -1 : static_cast<unsigned char>(c); }

}  // namespace

bool natural_less(std::string_view a, std::string_view b) {
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      const std::string_view x = number_at(a, i), y = number_at(b, j);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
      continue;
    }
    if (a[i] != b[j]) return weight(a[i]) < weight(b[j]);
    ++i, ++j;
  }
  if (i < a.size() || j < b.size()) return j < b.size();
  return a < b;  // "rank02" and "rank2" have equal numbers but must not compare equal
}

}  // namespace oomdoctor
