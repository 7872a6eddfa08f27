#include "text/template_hash.h"

#include <cstring>

// Highway compiles this file once for each instruction set, by including it again. The program chooses the one for the
// machine at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "text/template_hash.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <hwy/highway.h>

#include "base/ascii.h"

#ifndef OOMDOCTOR_TEXT_DIGIT_FREE_CC
#define OOMDOCTOR_TEXT_DIGIT_FREE_CC
namespace oomdoctor {

/// Four independent chains of multiplications, which the processor runs in parallel.
struct HashState {
  static constexpr std::uint64_t odd = 0x9E3779B97F4A7C15u, other = 0xC2B2AE3D27D4EB4Fu;
  std::uint64_t lane[4];

  explicit HashState(std::uint64_t size) : lane{size * odd, ~size * other, size ^ odd, size ^ other} {}
  void add(const std::uint64_t* words) {
    for (int i = 0; i < 4; ++i) {
      lane[i] = (lane[i] ^ words[i]) * odd;
      lane[i] ^= lane[i] >> 32;
    }
  }
  LineHash end() const {
    LineHash out{lane[0] ^ lane[2] >> 7, lane[1] ^ lane[3] >> 7};
    out.first = (out.first ^ lane[3]) * other, out.second = (out.second ^ lane[2]) * odd;
    out.first ^= out.first >> 29, out.second ^= out.second >> 31;
    return out;
  }
};

}  // namespace oomdoctor
#endif

HWY_BEFORE_NAMESPACE();
namespace oomdoctor::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

LineHash hash(const char* text, std::size_t size) {
  constexpr std::size_t block = 32;
  HashState state(size);
  alignas(block) std::uint64_t words[block / sizeof(std::uint64_t)];
  const auto take = [&](const char* from) HWY_ATTR {
#if HWY_TARGET == HWY_SCALAR
    char bytes[block];
    for (std::size_t i = 0; i < block; ++i) bytes[i] = is_digit(from[i]) ? '0' : from[i];
    std::memcpy(words, bytes, block);
#else
    const hn::CappedTag<std::uint8_t, block> d;
    const auto zero = hn::Set(d, '0'), nine = hn::Set(d, 9);
    for (std::size_t at = 0; at < block; at += hn::Lanes(d)) {
      const auto bytes = hn::LoadU(d, reinterpret_cast<const std::uint8_t*>(from) + at);
      const auto value = hn::Sub(bytes, zero);
      const auto digit = hn::Eq(hn::Min(value, nine), value);
      hn::Store(hn::IfThenElse(digit, zero, bytes), d, reinterpret_cast<std::uint8_t*>(words) + at);
    }
#endif
    state.add(words);
  };
  std::size_t at = 0;
  for (; at + block <= size; at += block) take(text + at);
  if (at < size) {
    char rest[block] = {};
    std::memcpy(rest, text + at, size - at);
    take(rest);
  }
  return state.end();
}

bool same(const char* a, const char* b, std::size_t size) {
  constexpr std::size_t block = 32;
  const hn::CappedTag<std::uint8_t, block> d;
  const auto zero = hn::Set(d, '0'), nine = hn::Set(d, 9);
  const auto digit_free = [&](const char* from) HWY_ATTR {
    const auto bytes = hn::LoadU(d, reinterpret_cast<const std::uint8_t*>(from));
    const auto value = hn::Sub(bytes, zero);
    return hn::IfThenElse(hn::Eq(hn::Min(value, nine), value), zero, bytes);
  };
  const auto differ = [&](const char* x, const char* y)
                          HWY_ATTR { return !hn::AllTrue(d, hn::Eq(digit_free(x), digit_free(y))); };
  const std::size_t lanes = hn::Lanes(d);
  std::size_t at = 0;
  for (; at + lanes <= size; at += lanes)
    if (differ(a + at, b + at)) return false;
  if (at == size) return true;
  char rest_a[block] = {}, rest_b[block] = {};
  std::memcpy(rest_a, a + at, size - at);
  std::memcpy(rest_b, b + at, size - at);
  return !differ(rest_a, rest_b);
}

}  // namespace oomdoctor::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oomdoctor {

HWY_EXPORT(hash);
HWY_EXPORT(same);

LineHash template_hash(std::string_view line) { return HWY_DYNAMIC_DISPATCH(hash)(line.data(), line.size()); }

bool is_same_but_digits(std::string_view a, std::string_view b) {
  return a.size() == b.size() && HWY_DYNAMIC_DISPATCH(same)(a.data(), b.data(), a.size());
}

}  // namespace oomdoctor
#endif
