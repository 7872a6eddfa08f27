// The hot loop of the prefilter: finds the positions in a block at which a fingerprint may begin. A fingerprint is four
// bytes of an anchor, and belongs to one of eight buckets. For each of the four bytes, a bucket has the set of low
// halves and the set of high halves that its fingerprints have there. A position is a candidate if one bucket contains
// all eight halves. That takes eight table lookups, each for a whole vector register. Where the machine looks up tables
// of 128 entries (AVX-512 VBMI), four lookups of whole bytes find fewer candidates. Candidates stay if their four bytes
// have the hash of a fingerprint.
//
// Invariant: it misses no fingerprint on any machine. False positives are possible.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace oomdoctor {

constexpr std::size_t fingerprint_size = 4;
constexpr std::size_t bucket_count = 8;

/// The two overlapping halves of a byte's lower seven bits. Upper and lower case of a letter differ in the high half
/// only. The eighth bit is ignored.
constexpr std::size_t low_half(unsigned char c) { return c & 15u; }
constexpr std::size_t high_half(unsigned char c) { return (c >> 3) & 15u; }

constexpr unsigned fingerprint_hash_bits = 15;  ///< a table of 4 KiB; one candidate in fifty is a false positive

/// The hash of the four bytes at `from`, equal for both cases of a letter. It ignores the bit 0x20, which also
/// distinguishes other bytes, so there are a few more false positives.
inline std::uint32_t fingerprint_hash(const char* from) {
  std::uint32_t bytes;
  std::memcpy(&bytes, from, sizeof bytes);
  return ((bytes | 0x20202020u) * 0x9E3779B1u) >> (32 - fingerprint_hash_bits);
}

/// The fingerprints of all anchors, in the form that the kernel uses.
struct FingerprintSet {
  /// For each byte of a fingerprint and each half, the set of buckets that contain it, as bits.
  alignas(16) std::uint8_t low[fingerprint_size][16] = {};
  alignas(16) std::uint8_t high[fingerprint_size][16] = {};
  /// The same for each byte of a fingerprint and each value of its lower seven bits.
  alignas(64) std::uint8_t byte[fingerprint_size][128] = {};
  std::array<std::uint64_t, (1u << fingerprint_hash_bits) / 64> hashes{};  ///< bit set of the fingerprints' hashes
};

constexpr std::size_t kernel_block = 2048;  ///< in bytes; the buffers of one call fit into the first-level cache

/// The possible fingerprints of a block, by rising position.
struct FingerprintPlaces {
  std::size_t candidates = 0;  ///< kept by the lookups
  std::size_t count = 0;       ///< kept by the lookups and the hash
  std::uint16_t place[kernel_block];
  std::uint16_t hash[kernel_block];
};

/// Searches the positions i < count <= kernel_block of the text. Never reads at or after text + readable; readable >=
/// count + 3.
void find_fingerprints(const FingerprintSet& set, const char* text, std::size_t count, std::size_t readable,
                       FingerprintPlaces& found);

}  // namespace oomdoctor
