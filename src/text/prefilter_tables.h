// What the prefilter reads during a scan: plain tables, so that the build can write those of the shipped parsers and a
// start of the program makes none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "text/prefilter_kernel.h"

namespace oomdoctor {

/// The number of hash bits for the entry lookup: the table is small and fast to fill.
constexpr unsigned prefilter_slot_bits = 12;

/// Eight bytes for a comparison. The mask `counts` excludes bits of missing bytes, and the case bit of letters in an
/// anchor that matches in any case.
struct MaskedBytes {
  std::uint64_t bytes = 0, counts = 0;  ///< in the order of bytes of the machine
  bool equal(std::uint64_t other) const { return ((other ^ bytes) & counts) == 0; }
};

/// The first and the last eight bytes of an anchor; the same bytes twice if it has at most eight.
struct AnchorEnds {
  MaskedBytes first, last;
  std::int32_t first_from = 0, last_from = 0;  ///< their offsets relative to the fingerprint
};

struct AnchorEntry {
  std::uint32_t anchor = 0;  ///< index of the anchor
  std::uint32_t pieces = 0;  ///< index of the first piece between the ends
  std::uint16_t shift = 0;   ///< offset of the fingerprint in the anchor
  std::uint16_t size = 0;
};

struct PrefilterTables {
  FingerprintSet fingerprints;
  /// By hash: the entries of a slot begin here and end at the next slot's.
  std::span<const std::uint16_t> first_entry;
  std::span<const AnchorEnds> ends;  ///< of the entries
  std::span<const AnchorEntry> entries;
  std::span<const MaskedBytes> pieces;
  std::size_t longest = 0;        ///< bytes of the longest anchor
  std::size_t longest_shift = 0;  ///< of the entries
};

}  // namespace oomdoctor
