// Which four bytes of an anchor stand for it, and in which bucket of the kernel they lie. Any choice finds the same; a
// good one makes few candidates: fingerprints that are rare in logs, shared by many anchors, and in one bucket those
// that look alike. The choice for the shipped parsers is made while oomdoctor is built, on the samples
// (src/cmake/plan_prefilter.cc); for anchors that nobody knew of then, a user's formats, it is made from the frequency
// of single bytes.
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

/// In the order in which the parsers list their anchors.
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

/// A place for one more anchor beside those in `buckets`: the one that adds the least to the share of all places in
/// ordinary logs that are candidates. The anchor holds at least four bytes.
Placement place_anchor(std::string_view anchor, bool fold_case, const std::array<BucketHalves, bucket_count>& buckets);

}  // namespace oomdoctor
