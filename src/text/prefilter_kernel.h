// The hot loop of the prefilter: where in a block of bytes may one of the fingerprints begin? A fingerprint is four
// bytes of an anchor. Fingerprints lie in eight buckets; for each of its four places a bucket knows the low and the
// high bits of the bytes that its fingerprints have there, and a place of the text is a candidate when its four bytes
// are known to one and the same bucket. Eight table lookups, each for as many bytes as a vector register holds.
//
// Invariant: no fingerprint is missed, on any machine; what is not one may be a candidate, too.
#pragma once

#include <cstddef>
#include <cstdint>

namespace oomdoctor {

constexpr std::size_t fingerprint_size = 4;
constexpr std::size_t bucket_count = 8;

/// A byte in two overlapping halves of its lower seven bits: letters of one case differ in both. The eighth bit is not
/// looked at.
constexpr std::size_t low_half(unsigned char c) { return c & 15u; }
constexpr std::size_t high_half(unsigned char c) { return (c >> 3) & 15u; }

/// For each place of a fingerprint and each half of a byte the buckets, as bits, that know it there.
struct FingerprintTables {
  alignas(16) std::uint8_t low[fingerprint_size][16];
  alignas(16) std::uint8_t high[fingerprint_size][16];
};

constexpr std::size_t kernel_block = 2048;  ///< bytes; what one call works on stays in the first-level cache

/// Bits of one block, the bit i % 64 of word i / 64 for the byte i. Two words more than are used: a vector's bits are
/// written whole.
struct CandidateBits {
  std::uint64_t word[kernel_block / 64 + 2];
};

/// Sets the bits i < count <= kernel_block of `candidates` where a fingerprint may begin at text[i], clears the others
/// of their words. Reads no byte at or behind text + readable; readable >= count + 3.
void find_candidates(const FingerprintTables& tables, const char* text, std::size_t count, std::size_t readable,
                     CandidateBits& candidates);

}  // namespace oomdoctor
