#include "text/prefilter_kernel.h"

#include <algorithm>
#include <bit>
#include <cstring>

// Highway compiles this file once for each instruction set, by including it again. The program chooses the one for the
// machine at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "text/prefilter_kernel.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace oomdoctor::HWY_NAMESPACE {

/// Bit i % 64 of word i / 64 is the candidate at i. A vector writes all its bits at once, up to eight bytes.
struct CandidateBits {
  std::uint64_t word[kernel_block / 64 + 2];
};

#if HWY_TARGET == HWY_SCALAR

// One byte at a time: this target's lookups handle vectors of one byte only.
HWY_INLINE void find_candidates(const FingerprintSet& set, const char* text, std::size_t count, std::size_t,
                                CandidateBits& out) {
  std::memset(out.word, 0, (count + 63) / 64 * 8);
  for (std::size_t i = 0; i < count; ++i) {
    unsigned buckets = 255;
    for (std::size_t j = 0; j < fingerprint_size; ++j) {
      const auto c = static_cast<unsigned char>(text[i + j]);
      buckets &= unsigned{set.low[j][low_half(c)]} & set.high[j][high_half(c)];
    }
    out.word[i / 64] |= std::uint64_t{buckets != 0} << (i % 64);
  }
}

#else

namespace hn = hwy::HWY_NAMESPACE;

// Store both halves of all bytes first. Each lookup is then one load and one shuffle, at any offset from the byte, and
// there are zeros after the end of the text.
HWY_INLINE void find_candidates(const FingerprintSet& set, const char* text, std::size_t count, std::size_t readable,
                                CandidateBits& out) {
  const hn::CappedTag<std::uint8_t, 64> d;
  const hn::Repartition<std::uint16_t, decltype(d)> d16;
  const std::size_t lanes = hn::Lanes(d);
  alignas(64) std::uint8_t low[kernel_block + 2 * 64];
  alignas(64) std::uint8_t high[kernel_block + 2 * 64];

  const auto fifteen = hn::Set(d, 15);
  const auto split = [&](const std::uint8_t* from, std::size_t at) HWY_ATTR {
    const auto bytes = hn::LoadU(d, from);
    hn::Store(hn::And(bytes, fifteen), d, low + at);
    hn::Store(hn::And(hn::BitCast(d, hn::ShiftRight<3>(hn::BitCast(d16, bytes))), fifteen), d, high + at);
  };
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text);
  const std::size_t wanted = (count + lanes - 1) / lanes * lanes + lanes;
  std::size_t at = 0;
  for (; at < wanted && at + lanes <= readable; at += lanes) split(bytes + at, at);
  for (; at < wanted; at += lanes) {
    alignas(64) std::uint8_t rest[64] = {};
    if (at < readable) std::memcpy(rest, bytes + at, std::min(readable - at, lanes));
    split(rest, at);
  }

  const auto low0 = hn::LoadDup128(d, set.low[0]), high0 = hn::LoadDup128(d, set.high[0]);
  const auto low1 = hn::LoadDup128(d, set.low[1]), high1 = hn::LoadDup128(d, set.high[1]);
  const auto low2 = hn::LoadDup128(d, set.low[2]), high2 = hn::LoadDup128(d, set.high[2]);
  const auto low3 = hn::LoadDup128(d, set.low[3]), high3 = hn::LoadDup128(d, set.high[3]);
  const auto zero = hn::Zero(d);
  for (std::size_t i = 0; i < count; i += lanes) {
    const auto known = [&](const auto& l, const auto& h, std::size_t j) HWY_ATTR {
      return hn::And(hn::TableLookupBytes(l, hn::LoadU(d, low + i + j)),
                     hn::TableLookupBytes(h, hn::LoadU(d, high + i + j)));
    };
    const auto buckets = hn::And(hn::And(known(low0, high0, 0), known(low1, high1, 1)),
                                 hn::And(known(low2, high2, 2), known(low3, high3, 3)));
    hn::StoreMaskBits(d, hn::Ne(buckets, zero), reinterpret_cast<std::uint8_t*>(out.word) + i / 8);
  }
  if constexpr (std::endian::native == std::endian::big)
    for (std::size_t w = 0; w < (count + 63) / 64; ++w) out.word[w] = __builtin_bswap64(out.word[w]);
  if (count % 64 != 0) out.word[count / 64] &= (std::uint64_t{1} << (count % 64)) - 1;
}

#endif

/// Lists the positions of the bits in rising order and returns their number. Writes up to seven more values after them.
HWY_INLINE std::size_t list_places(const CandidateBits& bits, std::size_t count, std::uint16_t* out) {
  constexpr int at_once = 8;
  std::size_t n = 0;
  for (std::size_t w = 0; w * 64 < count; ++w) {
    std::uint64_t word = bits.word[w];
    const auto there =
        static_cast<std::size_t>(__builtin_popcountll(word));  // std::popcount has no target, so is a call
    // Write eight at a time, even if fewer exist: a branch after each one would be mispredicted half of the time.
    std::uint16_t* to = out + n;
    do {
      for (int i = 0; i < at_once; ++i) {
        const std::uint64_t some = word | std::uint64_t{1} << 63;  // avoids a special case for zero
        to[i] = static_cast<std::uint16_t>(w * 64 + hwy::Num0BitsBelowLS1Bit_Nonzero64(some));
        word &= word - 1;
      }
      to += at_once;
    } while (word != 0);
    n += there;
  }
  return n;
}

/// Keeps the candidates whose bytes have the hash of a fingerprint.
HWY_INLINE void keep_fingerprints(const FingerprintSet& set, const char* text, const CandidateBits& bits,
                                  std::size_t count, FingerprintPlaces& found) {
  std::uint16_t candidates[kernel_block + 8];
  found.candidates = list_places(bits, count, candidates);
  std::size_t n = 0;
  for (std::size_t i = 0; i < found.candidates; ++i) {  // no branch, for the same reason
    const std::uint16_t place = candidates[i];
    const std::uint32_t hash = fingerprint_hash(text + place);
    found.place[n] = place;
    found.hash[n] = static_cast<std::uint16_t>(hash);
    n += static_cast<std::size_t>(set.hashes[hash / 64] >> (hash % 64) & 1);
  }
  found.count = n;
}

void find(const FingerprintSet& set, const char* text, std::size_t count, std::size_t readable,
          FingerprintPlaces& found) {
  CandidateBits bits;
  find_candidates(set, text, count, readable, bits);
  keep_fingerprints(set, text, bits, count, found);
}

#if HWY_TARGET == HWY_AVX3
#define OOMDOCTOR_BYTE_TABLES __attribute__((target(HWY_TARGET_STR ",avx512vbmi")))

/// The 64 bytes at `at`, with zeros after the end of the text.
OOMDOCTOR_BYTE_TABLES inline __m512i load_bytes(const char* text, std::size_t at, std::size_t readable) {
  if (at + 64 <= readable) return _mm512_loadu_si512(text + at);
  const std::size_t rest = at < readable ? readable - at : 0;
  return _mm512_maskz_loadu_epi8((std::uint64_t{1} << rest) - 1, text + at);
}

OOMDOCTOR_BYTE_TABLES void find_by_byte_tables(const FingerprintSet& set, const char* text, std::size_t count,
                                               std::size_t readable, FingerprintPlaces& found) {
  CandidateBits bits;
  __m512i low[fingerprint_size], high[fingerprint_size];
  for (std::size_t j = 0; j < fingerprint_size; ++j) {
    low[j] = _mm512_load_si512(set.byte[j]);
    high[j] = _mm512_load_si512(set.byte[j] + 64);
  }
  for (std::size_t i = 0; i < count; i += 64) {
    __m512i buckets = _mm512_permutex2var_epi8(low[0], load_bytes(text, i, readable), high[0]);
    for (std::size_t j = 1; j < fingerprint_size; ++j)
      buckets = _mm512_and_si512(buckets, _mm512_permutex2var_epi8(low[j], load_bytes(text, i + j, readable), high[j]));
    bits.word[i / 64] = _mm512_test_epi8_mask(buckets, buckets);
  }
  if (count % 64 != 0) bits.word[count / 64] &= (std::uint64_t{1} << (count % 64)) - 1;
  keep_fingerprints(set, text, bits, count, found);
}
#endif

}  // namespace oomdoctor::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace oomdoctor {

HWY_EXPORT(find);

void find_fingerprints(const FingerprintSet& set, const char* text, std::size_t count, std::size_t readable,
                       FingerprintPlaces& found) {
#if HWY_TARGETS & HWY_AVX3
  if ((hwy::SupportedTargets() & HWY_AVX3_DL) != 0)
    return N_AVX3::find_by_byte_tables(set, text, count, readable, found);
#endif
  HWY_DYNAMIC_DISPATCH(find)(set, text, count, readable, found);
}

}  // namespace oomdoctor

#endif  // HWY_ONCE
