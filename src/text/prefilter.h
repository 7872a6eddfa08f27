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
  /// `fold_case[i]`: anchor i is meant in any letter case. Anchors hold four to 65535 bytes, and there are
  /// at most 65535.
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
  /// The first eight bytes of an anchor and the last; the same twice where it holds no more than eight.
  struct Ends {
    Piece first, last;
    std::int32_t first_from = 0, last_from = 0;  ///< where they lie, seen from the fingerprint
  };
  struct Entry {
    std::uint32_t anchor = 0;
    std::uint32_t pieces = 0;  ///< where the pieces between its ends begin
    std::uint16_t shift = 0;   ///< where its fingerprint begins
    std::uint16_t size = 0;
  };
  /// What is asked for; in [inside_begin, inside_end) every anchor with a fingerprint there, and eight bytes behind
  /// wherever it begins, are.
  struct Span {
    std::string_view text;
    std::size_t begin, end;
    std::size_t inside_begin, inside_end;
    std::size_t first_hit;  ///< of this scan
  };

  static Piece piece_of(std::string_view anchor, bool fold_case, std::size_t at);
  void add(std::string_view anchor, bool fold_case, std::uint32_t index, std::size_t shift, std::size_t entry);
  bool middle_equal(const Entry& entry, const char* anchor) const;
  void verify(const Span& span, std::size_t block, const FingerprintPlaces& found, std::vector<AnchorHit>& hits) const;
  void verify_at_ends(const Span& span, std::size_t place, std::uint32_t slot, std::vector<AnchorHit>& hits) const;
  void add_hit(const Span& span, AnchorHit hit, std::vector<AnchorHit>& hits) const;

  FingerprintSet fingerprints_;
  std::vector<std::uint16_t> first_entry_;  ///< by hash: the entries from this one to the next slot's
  std::vector<Ends> ends_;                  ///< of the entries
  std::vector<Entry> entries_;
  std::vector<Piece> pieces_;
  std::size_t longest_ = 0, longest_shift_ = 0;
};

}  // namespace oomdoctor
