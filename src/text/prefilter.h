// Finds which anchors occur where, in one pass over the bytes. Every regex and every template stands behind an anchor,
// so that the cost of a quiet line is the cost of this pass.
//
// Method: of each anchor four neighbouring bytes, folded to lower case, set one bit of a table; at each place of the
// text the same four bytes are looked up, and only where the bit is set the anchors behind it are compared. Anchors are
// at least four bytes long.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace oomdoctor {

struct AnchorHit {
  std::size_t offset = 0;    ///< where the anchor begins
  std::uint32_t anchor = 0;  ///< its index
};

class Prefilter {
 public:
  /// `fold_case[i]`: anchor i is meant in any letter case.
  Prefilter(std::vector<std::string> anchors, std::vector<bool> fold_case);

  /// All anchors that begin in [begin, end) of `text`, by offset; bytes behind `end` are read where they exist.
  void scan(std::string_view text, std::size_t begin, std::size_t end, std::vector<AnchorHit>& hits) const;

 private:
  struct Entry {
    std::uint32_t anchor;
    std::uint32_t shift;  ///< where in the anchor its four bytes lie
  };
  bool matches(std::string_view text, std::size_t at, std::uint32_t anchor) const;

  std::vector<std::string> anchors_;
  std::vector<bool> fold_case_;
  std::vector<std::uint64_t> bits_;
  std::vector<std::vector<Entry>> buckets_;
  std::size_t longest_shift_ = 0;
};

}  // namespace oomdoctor
