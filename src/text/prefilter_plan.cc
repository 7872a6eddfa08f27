#include "text/prefilter_plan.h"

#include <algorithm>
#include <limits>

namespace oomdoctor {
namespace {

/// How often a half occurs among the bytes of logs. The bytes from the most frequent one on, in the samples; the n-th
/// is taken to be n times rarer than the first (Zipf's law), all others as rare as the last.
struct HalfShares {
  std::array<double, 16> low{}, high{};

  HalfShares() {
    static constexpr std::string_view frequent =
        " 0e-1ast2oil.r:n=45m3c,8d\np/6|9B7_uGhMygfbIv[]\"AkNUPD(F%)OECxwT'V*R";
    double sum = 0;
    const auto add = [&](unsigned char c, double share) {
      low[low_half(c)] += share;
      high[high_half(c)] += share;
      sum += share;
    };
    for (std::size_t i = 0; i < frequent.size(); ++i)
      add(static_cast<unsigned char>(frequent[i]), 1.0 / static_cast<double>(i + 1));
    for (unsigned char c = 0; c < 128; ++c)
      if (frequent.find(static_cast<char>(c)) == frequent.npos) add(c, 1.0 / static_cast<double>(frequent.size()));
    for (double& share : low) share /= sum;
    for (double& share : high) share /= sum;
  }
};

double share_of(std::uint16_t halves, const std::array<double, 16>& shares) {
  double sum = 0;
  for (std::size_t i = 0; i < 16; ++i)
    if ((halves >> i & 1) != 0) sum += shares[i];
  return sum;
}

constexpr std::size_t max_shift = 64;  ///< so that a long anchor takes no long time

/// The share of all places that this bucket makes candidates, as if bytes and their halves were independent.
double candidates(const BucketHalves& bucket, const HalfShares& shares) {
  double product = 1;
  for (std::size_t j = 0; j < fingerprint_size; ++j)
    product *= share_of(bucket.low[j], shares.low) * share_of(bucket.high[j], shares.high);
  return product;
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

}  // namespace

BucketHalves BucketHalves::with(std::string_view anchor, bool fold_case, std::size_t at) const {
  BucketHalves out = *this;
  for (std::size_t j = 0; j < fingerprint_size; ++j) {
    const char c = anchor[at + j];
    const auto add = [&](unsigned byte) {
      out.low[j] = static_cast<std::uint16_t>(out.low[j] | 1u << low_half(static_cast<unsigned char>(byte)));
      out.high[j] = static_cast<std::uint16_t>(out.high[j] | 1u << high_half(static_cast<unsigned char>(byte)));
    };
    add(static_cast<unsigned char>(c));
    if (fold_case && is_letter(c)) add(static_cast<unsigned char>(c) ^ 0x20u);
  }
  return out;
}

Placement place_anchor(std::string_view anchor, bool fold_case, const std::array<BucketHalves, bucket_count>& buckets) {
  static const HalfShares shares;
  std::array<double, bucket_count> before{};
  for (std::size_t b = 0; b < bucket_count; ++b) before[b] = candidates(buckets[b], shares);
  Placement best;
  double least = std::numeric_limits<double>::infinity();
  const std::size_t last = std::min(anchor.size() - fingerprint_size, max_shift);
  for (std::size_t at = 0; at <= last; ++at)
    for (std::size_t b = 0; b < bucket_count; ++b) {
      const double added = candidates(buckets[b].with(anchor, fold_case, at), shares) - before[b];
      if (added >= least) continue;
      least = added;
      best = {static_cast<std::uint16_t>(at), static_cast<std::uint16_t>(b)};
    }
  return best;
}

}  // namespace oomdoctor
