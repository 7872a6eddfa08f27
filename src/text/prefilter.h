// Finds the positions of all anchors in one pass over the bytes. Every regex and every template needs an anchor, so a
// line without anchors costs only this pass.
//
// Method, in three steps. The kernel (prefilter_kernel.h) keeps about one position in twenty at which the four bytes of
// an anchor, its fingerprint, may be. A hash of these bytes keeps the positions with a real fingerprint and a few
// others. There the anchors with that fingerprint are compared, eight bytes at a time. The choice of the four bytes
// keeps such positions rare (prefilter_plan.h).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/prefilter_kernel.h"
#include "text/prefilter_plan.h"

namespace oomdoctor {

struct AnchorHit {
  std::size_t offset = 0;    ///< the position of the anchor
  std::uint32_t anchor = 0;  ///< index of the anchor
};

/// The work of a scan.
struct PrefilterWork {
  std::size_t candidates = 0;    ///< positions that the kernel kept
  std::size_t fingerprints = 0;  ///< of these, positions that the hash kept
  std::size_t comparisons = 0;   ///< of anchors with these fingerprints
};

/// Immutable after construction, so threads may scan concurrently.
class Prefilter {
 public:
  /// `fold_case[i]` means that anchor i matches in any letter case. Anchors have four to 65535 bytes, and there are at
  /// most 65535; otherwise it throws std::logic_error. The constructor itself places the anchors after those of
  /// `plan`, whose tables outlive it.
  Prefilter(const std::vector<std::string_view>& anchors, const std::vector<bool>& fold_case,
            const PrefilterPlan& plan = {});
  Prefilter(const Prefilter&) = delete;

  const PrefilterTables& tables() const { return *tables_; }

  /// Appends all anchors that begin in [begin, end) of `text` to `hits`, by offset, then by index. It may read bytes
  /// after `end`. Adds the work of the scan to `work`.
  void scan(std::string_view text, std::size_t begin, std::size_t end, std::vector<AnchorHit>& hits,
            PrefilterWork* work = nullptr) const;

 private:
  /// The requested range. For a position in [inside_begin, inside_end), every anchor with its fingerprint there lies
  /// within the range, and eight bytes are readable after its beginning.
  struct ScanRange {
    std::string_view text;
    std::size_t begin, end;
    std::size_t inside_begin, inside_end;
    std::size_t first_hit;  ///< index of this scan's first hit
  };

  static MaskedBytes mask_bytes(std::string_view anchor, bool fold_case, std::size_t at);
  void add(std::string_view anchor, bool fold_case, std::uint32_t index, std::size_t shift, std::size_t entry);
  void make_tables(const std::vector<std::string_view>& anchors, const std::vector<bool>& fold_case,
                   const std::vector<Placement>& placed, const Buckets& buckets);
  bool middle_equal(const AnchorEntry& entry, const char* anchor) const;
  void verify(const ScanRange& span, std::size_t block, const FingerprintPlaces& found,
              std::vector<AnchorHit>& hits) const;
  void verify_at_ends(const ScanRange& span, std::size_t place, std::uint32_t slot, std::vector<AnchorHit>& hits) const;
  void add_hit(const ScanRange& span, AnchorHit hit, std::vector<AnchorHit>& hits) const;

  const PrefilterTables* tables_;
  PrefilterTables own_;  ///< views of the members below; empty if the plan has tables
  std::vector<std::uint16_t> first_entry_;
  std::vector<AnchorEnds> ends_;
  std::vector<AnchorEntry> entries_;
  std::vector<MaskedBytes> pieces_;
};

}  // namespace oomdoctor
