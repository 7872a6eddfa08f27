#include "text/prefilter_plan.h"

#include <algorithm>
#include <limits>

#include "base/ascii.h"

namespace oomdoctor {
namespace {

constexpr std::size_t max_shift = 64;  ///< limits the offsets that are tried in a long anchor, to save time

/// How often each half occurs among the bytes of logs. `frequent` lists the bytes from the most frequent one on, as in
/// the samples. The n-th byte counts as n times rarer than the first (Zipf's law), all others as rare as the last.
struct HalfShares {
  std::array<double, 16> low{}, high{};

  constexpr HalfShares() {
    constexpr std::string_view frequent = " 0e-1ast2oil.r:n=45m3c,8d\np/6|9B7_uGhMygfbIv[]\"AkNUPD(F%)OECxwT'V*R";
    double sum = 0;
    for (unsigned c = 0; c < 128; ++c) {
      const std::size_t rank = std::min(frequent.find(static_cast<char>(c)), frequent.size() - 1);
      const double share = 1.0 / static_cast<double>(rank + 1);
      low[low_half(static_cast<unsigned char>(c))] += share;
      high[high_half(static_cast<unsigned char>(c))] += share;
      sum += share;
    }
    for (double& share : low) share /= sum;
    for (double& share : high) share /= sum;
  }
};
constexpr HalfShares shares;

/// The halves of an anchor's byte. If both letter cases match, there are two high halves.
struct Halves {
  std::size_t low, high, other_high;

  Halves(char c, bool fold_case)
      : low(low_half(static_cast<unsigned char>(c))),
        high(high_half(static_cast<unsigned char>(c))),
        other_high(fold_case && is_letter(c) ? high_half(static_cast<unsigned char>(c ^ 0x20)) : high) {}
};

/// The share of bytes with this half, or 0 if the bucket already contains it.
double share_if_new(std::size_t half, unsigned known, const std::array<double, 16>& share) {
  return (known >> half & 1) != 0 ? 0 : share[half];
}
/// The share of bytes whose half is one of the known ones.
double share_of(unsigned known, const std::array<double, 16>& share) {
  double sum = 0;
  for (std::size_t half = 0; half < share.size(); ++half)
    if ((known >> half & 1) != 0) sum += share[half];
  return sum;
}
double low_share_of_new(const Halves& halves, unsigned known) { return share_if_new(halves.low, known, shares.low); }
double high_share_of_new(const Halves& halves, unsigned known) {
  const double one = share_if_new(halves.high, known, shares.high);
  return halves.other_high == halves.high ? one : one + share_if_new(halves.other_high, known, shares.high);
}

}  // namespace

BucketHalves BucketHalves::with(std::string_view anchor, bool fold_case, std::size_t at) const {
  BucketHalves out = *this;
  for (std::size_t j = 0; j < fingerprint_size; ++j) {
    const Halves halves(anchor[at + j], fold_case);
    out.low[j] = static_cast<std::uint16_t>(out.low[j] | 1u << halves.low);
    out.high[j] = static_cast<std::uint16_t>(out.high[j] | 1u << halves.high | 1u << halves.other_high);
  }
  return out;
}

void Buckets::add(std::string_view anchor, bool fold_case, Placement placement) {
  halves_[placement.bucket] = halves_[placement.bucket].with(anchor, fold_case, placement.at);
}

Placement Buckets::best_place(std::string_view anchor, bool fold_case) const {
  Placement best;
  double least = std::numeric_limits<double>::infinity();
  std::array<std::array<double, fingerprint_size>, bucket_count> low_share, high_share;
  for (std::size_t b = 0; b < bucket_count; ++b)
    for (std::size_t j = 0; j < fingerprint_size; ++j) {
      low_share[b][j] = share_of(halves_[b].low[j], shares.low);
      high_share[b][j] = share_of(halves_[b].high[j], shares.high);
    }
  const std::size_t last = std::min(anchor.size() - fingerprint_size, max_shift);
  for (std::size_t at = 0; at <= last; ++at)
    for (std::size_t b = 0; b < bucket_count; ++b) {
      double before = 1, after = 1;  // assuming that bytes, and the two halves of a byte, are independent
      for (std::size_t j = 0; j < fingerprint_size; ++j) {
        const Halves halves(anchor[at + j], fold_case);
        before *= low_share[b][j] * high_share[b][j];
        after *= (low_share[b][j] + low_share_of_new(halves, halves_[b].low[j])) *
                 (high_share[b][j] + high_share_of_new(halves, halves_[b].high[j]));
      }
      if (after - before >= least) continue;
      least = after - before;
      best = {static_cast<std::uint16_t>(at), static_cast<std::uint16_t>(b)};
    }
  return best;
}

}  // namespace oomdoctor
