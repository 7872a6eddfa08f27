#include "text/number_spans.h"

#include <algorithm>
#include <bit>
#include <cstring>

// Highway compiles this file once for each instruction set, by including it again. The program chooses the one for the
// machine at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "text/number_spans.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <hwy/highway.h>

#include "base/ascii.h"

HWY_BEFORE_NAMESPACE();
namespace oomdoctor::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Bit i is set if byte i of these 64 is a digit.
std::uint64_t find_digits(const char* text) {
  std::uint64_t word = 0;
#if HWY_TARGET == HWY_SCALAR
  for (unsigned i = 0; i < 64; ++i) word |= std::uint64_t{is_digit(text[i])} << i;
#else
  const hn::CappedTag<std::uint8_t, 64> d;
  const auto zero = hn::Set(d, '0'), nine = hn::Set(d, 9);
  for (std::size_t at = 0; at < 64; at += hn::Lanes(d)) {
    const auto value = hn::Sub(hn::LoadU(d, reinterpret_cast<const std::uint8_t*>(text) + at), zero);
    hn::StoreMaskBits(d, hn::Eq(hn::Min(value, nine), value), reinterpret_cast<std::uint8_t*>(&word) + at / 8);
  }
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
#endif
  return word;
}

/// The same for a whole line. `words` has room for the line's words and two more.
void mark_digits(const char* text, std::size_t size, std::uint64_t* words) {
  std::size_t at = 0;
  for (; at + 64 <= size; at += 64) *words++ = find_digits(text + at);
  if (at < size) {
    char rest[64] = {};
    std::memcpy(rest, text + at, size - at);
    *words++ = find_digits(rest);
  }
  words[0] = words[1] = 0;
}

}  // namespace oomdoctor::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oomdoctor {
namespace {

HWY_EXPORT(mark_digits);

/// The bytes that bind a following run of digits, which is then not free.
constexpr auto binds_digits = [] {
  std::array<bool, 256> out{};
  for (int c = 'a'; c <= 'z'; ++c)
    out[static_cast<std::size_t>(c)] = out[static_cast<std::size_t>(c - 'a' + 'A')] = true;
  for (const char c : std::string_view("_:/-+,")) out[static_cast<unsigned char>(c)] = true;
  return out;
}();

}  // namespace

bool NumberSpans::find(std::string_view line) {
  line_ = line;
  if (line.size() > max_line_length) return false;
  HWY_DYNAMIC_DISPATCH(mark_digits)(line.data(), line.size(), digits_.data());
  // Find the starts of runs of 2, 4, 8, 16 and 20 digits, each from the previous length. The array has the word that
  // follows.
  constexpr std::array<unsigned, 5> more{1, 2, 4, 8, 4};
  std::array<std::uint64_t, more.size()> behind{};
  std::uint64_t twenty = 0;
  for (std::size_t w = line.size() / 64 + 1; w-- > 0;) {
    const std::uint64_t digits = digits_[w], shifted = digits << 1 | (w > 0 ? digits_[w - 1] >> 63 : 0);
    begins_[w] = digits & ~shifted;
    ends_[w] = shifted & ~digits;
    std::uint64_t some = digits;
    for (std::size_t i = 0; i < more.size(); ++i) {
      const std::uint64_t longer = some & (some >> more[i] | behind[i] << (64 - more[i]));
      behind[i] = some;
      some = longer;
    }
    twenty |= some;
  }
  return twenty == 0;
}

bool NumberSpans::is_free(std::size_t begin) const {
  return begin >= line_front && !binds_digits[static_cast<unsigned char>(line_[begin - 1])];
}

std::size_t NumberSpans::first_free() const {
  for (std::size_t w = line_front / 64; w <= line_.size() / 64; ++w)
    for (std::uint64_t runs = begins_[w]; runs != 0; runs &= runs - 1) {
      const std::size_t begin = w * 64 + static_cast<std::size_t>(std::countr_zero(runs));
      if (is_free(begin)) return begin;
    }
  return line_.size();
}

std::string_view NumberSpans::form() {
  std::size_t size = 0, from = 0;
  const auto keep_to = [&](std::size_t to) {
    std::memcpy(form_.data() + size, line_.data() + from, to - from);
    size += to - from;
  };
  for (std::size_t w = line_front / 64; w <= line_.size() / 64; ++w) {
    // A run of one digit has nothing to drop.
    for (std::uint64_t runs = begins_[w] & (digits_[w] >> 1 | digits_[w + 1] << 63); runs != 0; runs &= runs - 1) {
      const std::size_t begin = w * 64 + static_cast<std::size_t>(std::countr_zero(runs));
      if (!is_free(begin)) continue;
      keep_to(begin + 1);
      from = begin + 2;
      while (from < line_.size() && is_digit(line_[from])) ++from;
    }
  }
  if (from == 0) return line_;
  keep_to(line_.size());
  return {form_.data(), size};
}

FormPlace NumberSpans::find_place(std::size_t at) const {
  std::size_t runs = 0, last = 0;
  for (std::size_t i = 0; i <= at; ++i)
    if ((ends_[i / 64] >> i % 64 & 1) != 0) ++runs, last = i;
  return {static_cast<std::uint16_t>(runs), static_cast<std::uint16_t>(at - last)};
}

std::size_t NumberSpans::at(FormPlace place) const {
  if (place.runs == 0) return place.behind;
  std::size_t left = place.runs, w = 0;
  const std::size_t last = line_.size() / 64;
  for (std::size_t here; w <= last && (here = static_cast<std::size_t>(std::popcount(ends_[w]))) < left; ++w)
    left -= here;
  if (w > last) return line_.size();
  std::uint64_t word = ends_[w];
  while (--left > 0) word &= word - 1;
  return std::min(w * 64 + static_cast<std::size_t>(std::countr_zero(word)) + place.behind, line_.size());
}

}  // namespace oomdoctor
#endif
