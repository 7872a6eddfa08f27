#include "text/line_index.h"

#include <bit>
#include <cstring>

// Highway compiles this file once for each instruction set, by including it again. The program chooses the one for the
// machine at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "text/line_index.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace oomdoctor::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Sets the bits of all ends, and of '\n' alone, in words of 64 bytes. True if the text has a byte of an escape or a
/// NUL hole. `size` is a multiple of 64.
bool mark_ends(const char* text, std::size_t size, std::uint64_t* feeds, std::uint64_t* breaks) {
  bool strange = false;
#if HWY_TARGET == HWY_SCALAR
  for (std::size_t at = 0; at < size; at += 64) {
    std::uint64_t feed = 0, end = 0;
    for (unsigned i = 0; i < 64; ++i) {
      const char c = text[at + i];
      feed |= std::uint64_t{c == '\n'} << i;
      end |= std::uint64_t{c == '\n' || c == '\r'} << i;
      strange |= c == '\x1b' || c == '\0';
    }
    feeds[at / 64] = feed;
    breaks[at / 64] = end;
  }
#else
  const hn::CappedTag<std::uint8_t, 64> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto feed = hn::Set(d, '\n'), back = hn::Set(d, '\r'), escape = hn::Set(d, 0x1b), zero = hn::Zero(d);
  auto found = zero;
  for (std::size_t at = 0; at < size; at += lanes) {
    const auto bytes = hn::LoadU(d, reinterpret_cast<const std::uint8_t*>(text) + at);
    const auto feeds_here = hn::Eq(bytes, feed);
    hn::StoreMaskBits(d, feeds_here, reinterpret_cast<std::uint8_t*>(feeds) + at / 8);
    hn::StoreMaskBits(d, hn::Or(feeds_here, hn::Eq(bytes, back)), reinterpret_cast<std::uint8_t*>(breaks) + at / 8);
    found = hn::Or(found, hn::VecFromMask(d, hn::Or(hn::Eq(bytes, escape), hn::Eq(bytes, zero))));
  }
  strange = !hn::AllFalse(d, hn::Ne(found, zero));
  if constexpr (std::endian::native == std::endian::big)
    for (std::size_t w = 0; w < size / 64; ++w)
      feeds[w] = __builtin_bswap64(feeds[w]), breaks[w] = __builtin_bswap64(breaks[w]);
#endif
  return strange;
}

}  // namespace oomdoctor::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oomdoctor {
namespace {

HWY_EXPORT(mark_ends);

constexpr std::size_t bits = 64;

/// Masks for the bits of a word from position i on, and before it.
std::uint64_t from(std::size_t i) { return ~std::uint64_t{0} << i % bits; }
std::uint64_t before(std::size_t i) { return ~from(i); }

/// The number of bits, where most words have none or one: std::popcount is a call on machines of any age.
i64 count_few(std::uint64_t word) {
  i64 n = 0;
  for (; word != 0; word &= word - 1) ++n;
  return n;
}

}  // namespace

LineIndex::LineIndex(std::string_view text) : breaks_(text.size() / bits + 2), feeds_(text.size() / bits + 2) {
  const std::size_t whole = text.size() / bits * bits;
  clean_ = !HWY_DYNAMIC_DISPATCH(mark_ends)(text.data(), whole, feeds_.data(), breaks_.data());
  if (whole < text.size()) {
    char rest[bits];
    std::memset(rest, ' ', sizeof rest);
    std::memcpy(rest, text.data() + whole, text.size() - whole);
    clean_ &= !HWY_DYNAMIC_DISPATCH(mark_ends)(rest, bits, &feeds_[whole / bits], &breaks_[whole / bits]);
  }
}

std::size_t LineIndex::find_begin(std::size_t at, std::size_t from_place) const {
  if (at <= from_place) return from_place;
  std::size_t w = at / bits;
  std::uint64_t word = breaks_[w] & before(at);
  while (word == 0 && w > from_place / bits) word = breaks_[--w];
  if (word == 0) return from_place;
  const std::size_t place = w * bits + static_cast<std::size_t>(63 - std::countl_zero(word));
  return place < from_place ? from_place : place + 1;
}

std::size_t LineIndex::find_end(std::size_t at, std::size_t to) const {
  if (at >= to) return to;
  std::size_t w = at / bits;
  std::uint64_t word = breaks_[w] & from(at);
  while (word == 0 && w < to / bits) word = breaks_[++w];
  if (word == 0) return to;
  const std::size_t place = w * bits + static_cast<std::size_t>(std::countr_zero(word));
  return place < to ? place : to;
}

i64 LineIndex::feeds(std::size_t begin, std::size_t end) const {
  if (begin >= end) return 0;
  std::size_t w = begin / bits;
  const std::size_t last = end / bits;
  std::uint64_t word = feeds_[w] & from(begin);
  i64 n = 0;
  for (; w < last; word = feeds_[++w]) n += count_few(word);
  return n + count_few(word & before(end));
}

}  // namespace oomdoctor
#endif
