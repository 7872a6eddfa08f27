#include "text/prefilter.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace oomdoctor {
namespace {

constexpr std::uint32_t table_bits = 16;

std::uint32_t load(const char* p) {
  std::uint32_t x;
  std::memcpy(&x, p, 4);
  return x | 0x20202020u;  // lower case for letters; other bytes only collide a little more
}

std::uint32_t slot(std::uint32_t x) { return (x * 0x9E3779B1u) >> (32 - table_bits); }

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

/// Letters that are frequent in logs make a poor fingerprint; the four bytes with the least weight stand for an anchor.
int weight(char c) {
  static constexpr std::string_view frequent = " etaoinsr0l";
  const auto at = frequent.find(lower(c));
  return at == frequent.npos ? 1 : 14 - static_cast<int>(at);
}

}  // namespace

Prefilter::Prefilter(std::vector<std::string> anchors, std::vector<bool> fold_case)
    : anchors_(std::move(anchors)),
      fold_case_(std::move(fold_case)),
      bits_((1u << table_bits) / 64),
      buckets_(1u << table_bits) {
  for (std::uint32_t a = 0; a < anchors_.size(); ++a) {
    const std::string& s = anchors_[a];
    if (s.size() < 4) throw std::logic_error("anchor of less than four bytes: " + s);
    std::size_t best = 0;
    int least = 1 << 20;
    for (std::size_t i = 0; i + 4 <= s.size(); ++i) {
      int w = 0;
      for (std::size_t j = i; j < i + 4; ++j) w += weight(s[j]);
      if (w < least) least = w, best = i;
    }
    const std::uint32_t k = slot(load(s.data() + best));
    bits_[k / 64] |= std::uint64_t{1} << (k % 64);
    buckets_[k].push_back({a, static_cast<std::uint32_t>(best)});
    longest_shift_ = std::max(longest_shift_, best);
  }
}

bool Prefilter::matches(std::string_view text, std::size_t at, std::uint32_t anchor) const {
  const std::string& s = anchors_[anchor];
  if (at + s.size() > text.size()) return false;
  if (!fold_case_[anchor]) return std::memcmp(text.data() + at, s.data(), s.size()) == 0;
  return std::equal(s.begin(), s.end(), text.begin() + static_cast<std::ptrdiff_t>(at),
                    [](char a, char b) { return lower(a) == lower(b); });
}

void Prefilter::scan(std::string_view text, std::size_t begin, std::size_t end, std::vector<AnchorHit>& hits) const {
  const std::size_t first = hits.size();
  const std::size_t stop = std::min(end + longest_shift_, text.size() < 4 ? 0 : text.size() - 3);
  for (std::size_t i = begin; i < stop; ++i) {
    const std::uint32_t k = slot(load(text.data() + i));
    if ((bits_[k / 64] >> (k % 64) & 1) == 0) continue;
    for (const Entry& e : buckets_[k]) {
      if (i < begin + e.shift || i - e.shift >= end) continue;
      if (matches(text, i - e.shift, e.anchor)) hits.push_back({i - e.shift, e.anchor});
    }
  }
  std::sort(hits.begin() + static_cast<std::ptrdiff_t>(first), hits.end(), [](const AnchorHit& a, const AnchorHit& b) {
    return a.offset != b.offset ? a.offset < b.offset : a.anchor < b.anchor;
  });
}

}  // namespace oomdoctor
