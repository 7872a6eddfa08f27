// Finds which anchors occur where, in one pass over the bytes. Every regex and every template stands behind an anchor,
// so that the cost of a quiet line is the cost of this pass.
//
// Method, from much text to little: the kernel (prefilter_kernel.h) leaves about one place in twenty where the four
// bytes that stand for an anchor, its fingerprint, may lie; a hash of these bytes leaves those where one does, but for
// a few; there the anchors behind it are compared, eight bytes at a time. Which four bytes stand for an anchor is
// chosen so that there are few such places (prefilter_plan.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/prefilter_kernel.h"
#include "text/prefilter_plan.h"

namespace oomdoctor {

struct AnchorHit {
  std::size_t offset = 0;    ///< where the anchor begins
  std::uint32_t anchor = 0;  ///< its index
};

/// What a scan had to look at, as counts of places.
struct PrefilterWork {
  std::size_t candidates = 0;    ///< left by the kernel
  std::size_t fingerprints = 0;  ///< left by the hash
};

class Prefilter {
 public:
  /// `fold_case[i]`: anchor i is meant in any letter case. Anchors hold at least four bytes and at most 65535.
  /// Anchors that the plan does not name are placed here and now.
  Prefilter(const std::vector<std::string>& anchors, const std::vector<bool>& fold_case, PrefilterPlan plan = {});

  /// All anchors that begin in [begin, end) of `text`, by offset, then by index; bytes behind `end` are read where they
  /// exist. They are added to `hits`; what the scan had to look at is added to `work`.
  void scan(std::string_view text, std::size_t begin, std::size_t end, std::vector<AnchorHit>& hits,
            PrefilterWork* work = nullptr) const;

 private:
  /// Eight bytes to compare with: equal when they differ in no bit that counts. No bit of a byte that is not there
  /// counts, nor the one that tells the cases of a letter in an anchor that is meant in both.
  struct Piece {
    std::uint64_t bytes = 0, counts = 0;
    bool equal(std::uint64_t other) const { return ((other ^ bytes) & counts) == 0; }
  };
  /// An anchor behind a fingerprint.
  struct Entry {
    Piece piece;  ///< the one compared first: with bytes that the fingerprint does not hold
    std::uint32_t anchor = 0;
    std::uint32_t rest = 0;      ///< the first of its pieces in `pieces_`
    std::uint16_t piece_at = 0;  ///< where in the anchor the first piece lies
    std::uint16_t shift = 0;     ///< where its fingerprint begins
    std::uint16_t size = 0;
  };
  struct Span;

  static std::uint32_t hash(const char* fingerprint);
  static Piece piece_of(std::string_view anchor, bool fold_case, std::size_t at);
  Entry entry_of(std::string_view anchor, bool fold_case, std::uint32_t index, std::size_t shift);
  bool rest_equal(const Entry& entry, const char* at) const;
  template <bool inside>
  void verify(const Span& span, std::size_t place, std::uint32_t key, std::vector<AnchorHit>& hits) const;

  static constexpr std::uint32_t bit_count = 1u << 15;  ///< 4 KiB: one false fingerprint in fifty candidates
  static constexpr std::uint32_t slot_count = 1u << 12;

  FingerprintTables tables_{};
  std::vector<std::uint64_t> bits_;         ///< by hash: there is a fingerprint
  std::vector<std::uint32_t> first_entry_;  ///< by hash: the entries from this one to the next slot's
  std::vector<Entry> entries_;
  std::vector<Piece> pieces_;
  std::size_t longest_ = 0, longest_shift_ = 0;
};

}  // namespace oomdoctor
