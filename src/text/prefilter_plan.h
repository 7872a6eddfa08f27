// Which four bytes of an anchor stand for it, and in which bucket of the kernel they lie. Any choice finds the same; a
// good one makes few candidates: fingerprints that are rare in logs, shared by many anchors, and in one bucket those
// that look alike. The choice for the shipped parsers is made while oomdoctor is built, on the samples
// (src/cmake/prefilter_planner.cc); for anchors that nobody knew of then, a user's formats, it is made from the
// frequency of single bytes.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "text/prefilter_kernel.h"

namespace oomdoctor {

struct Placement {
  std::uint16_t at = 0;  ///< where in the anchor its fingerprint begins
  std::uint16_t bucket = 0;
};

struct PlannedAnchor {
  std::string_view anchor;
  bool fold_case;
  Placement placement;
};

/// Best in the order in which the prefilter is given its anchors: then none is searched for.
using PrefilterPlan = std::span<const PlannedAnchor>;

/// The plan for the anchors of the shipped parsers; written by the build.
PrefilterPlan shipped_prefilter_plan();

/// The halves of the bytes that one bucket knows at each place of a fingerprint.
struct BucketHalves {
  std::array<std::uint16_t, fingerprint_size> low{}, high{};

  /// With the bytes anchor[at, at + 4) besides, in both letter cases where `fold_case`.
  BucketHalves with(std::string_view anchor, bool fold_case, std::size_t at) const;
  bool operator==(const BucketHalves&) const = default;
};

/// Fills the buckets, anchor by anchor.
class Buckets {
 public:
  const BucketHalves& operator[](std::size_t bucket) const { return halves_[bucket]; }
  void add(std::string_view anchor, bool fold_case, Placement placement);

  /// The place for one more anchor that adds the least to the share of all places in ordinary logs that are candidates,
  /// as far as the frequency of single bytes tells. The anchor holds at least four bytes.
  Placement best_place(std::string_view anchor, bool fold_case) const;

 private:
  std::array<BucketHalves, bucket_count> halves_;
  /// The share of bytes that have a half that the bucket knows there.
  std::array<std::array<double, fingerprint_size>, bucket_count> low_share_{}, high_share_{};
};

}  // namespace oomdoctor
