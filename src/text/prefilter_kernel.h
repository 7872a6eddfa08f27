// The hot loop of the prefilter: where in a block of bytes does one of the fingerprints begin? A fingerprint is four
// bytes of an anchor. Fingerprints lie in eight buckets; for each of its four places a bucket knows the low and the
// high half of the bytes that its fingerprints have there, and a place of the text is a candidate when its four bytes
// are known to one and the same bucket. That is eight table lookups, each for as many bytes as a vector register holds.
// Of the candidates those are left whose four bytes have the hash of a fingerprint.
//
// Invariant: no fingerprint is missed, on any machine; what is not one may be left, too.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace oomdoctor {

constexpr std::size_t fingerprint_size = 4;
constexpr std::size_t bucket_count = 8;

/// A byte in two overlapping halves of its lower seven bits: letters of one case differ in both. The eighth bit is not
/// looked at.
constexpr std::size_t low_half(unsigned char c) { return c & 15u; }
constexpr std::size_t high_half(unsigned char c) { return (c >> 3) & 15u; }

constexpr unsigned fingerprint_hash_bits = 15;  ///< a table of 4 KiB: of fifty candidates one is left by mistake

/// Of the four bytes at `from`, the same for both cases of a letter. (The bit 0x20 tells them apart; that it also tells
/// apart other bytes is what a few more mistakes are made by.)
inline std::uint32_t fingerprint_hash(const char* from) {
  std::uint32_t bytes;
  std::memcpy(&bytes, from, sizeof bytes);
  return ((bytes | 0x20202020u) * 0x9E3779B1u) >> (32 - fingerprint_hash_bits);
}

struct FingerprintSet {
  /// For each place of a fingerprint and each half of a byte the buckets, as bits, that know it there.
  alignas(16) std::uint8_t low[fingerprint_size][16] = {};
  alignas(16) std::uint8_t high[fingerprint_size][16] = {};
  std::array<std::uint64_t, (1u << fingerprint_hash_bits) / 64> hashes{};  ///< the bits of those that there are
};

constexpr std::size_t kernel_block = 2048;  ///< bytes; what one call works on stays in the first-level cache

/// Where fingerprints may begin in a block, by rising place.
struct FingerprintPlaces {
  std::size_t candidates = 0;  ///< left by the lookups
  std::size_t count = 0;       ///< left by the hash, too
  std::uint16_t place[kernel_block];
  std::uint16_t hash[kernel_block];
};

/// Looks at the places i < count <= kernel_block of the text. Reads no byte at or behind text + readable;
/// readable >= count + 3.
void find_fingerprints(const FingerprintSet& set, const char* text, std::size_t count, std::size_t readable,
                       FingerprintPlaces& found);

}  // namespace oomdoctor
