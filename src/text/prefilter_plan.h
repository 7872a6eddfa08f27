// The choice of the four bytes that represent an anchor, and of their bucket in the kernel. Every choice finds the same
// anchors. A good choice has few candidates: its fingerprints are rare in logs and shared by many anchors, and each
// bucket has similar ones. The build chooses for the shipped parsers, on the samples (src/cmake/prefilter_planner.cc).
// For anchors unknown at build time, in a user's formats, the frequencies of single bytes decide.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "text/prefilter_tables.h"

namespace oomdoctor {

/// The fingerprint of an anchor.
struct Placement {
  std::uint16_t at = 0;  ///< offset of the fingerprint in the anchor
  std::uint16_t bucket = 0;
};

/// The placements of the first anchors of a prefilter, in their order.
struct PrefilterPlan {
  std::span<const Placement> placements = {};
  const PrefilterTables* tables = nullptr;  ///< of exactly these anchors, in these places; null if nobody made them
  /// The index of each anchor of each format, in the order of the formats: several may have the same anchor.
  std::span<const std::uint16_t> mentions = {};
};

/// The plan for the anchors of the shipped parsers; written by the build.
const PrefilterPlan& shipped_prefilter_plan();

/// The halves of bytes in one bucket, for each byte of a fingerprint.
struct BucketHalves {
  std::array<std::uint16_t, fingerprint_size> low{}, high{};

  /// Adds the bytes anchor[at, at + 4), in both letter cases if `fold_case`.
  BucketHalves with(std::string_view anchor, bool fold_case, std::size_t at) const;
  bool operator==(const BucketHalves&) const = default;
};

/// The buckets while they are filled, anchor by anchor.
class Buckets {
 public:
  const BucketHalves& operator[](std::size_t bucket) const { return halves_[bucket]; }
  void add(std::string_view anchor, bool fold_case, Placement placement);

  /// The placement of one more anchor that adds the fewest candidates in ordinary logs, estimated from the frequencies
  /// of single bytes. The anchor has at least four bytes.
  Placement best_place(std::string_view anchor, bool fold_case) const;

 private:
  std::array<BucketHalves, bucket_count> halves_;
};

}  // namespace oomdoctor
