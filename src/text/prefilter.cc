#include "text/prefilter.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace oomdoctor {
namespace {

template <class T>
T load(const char* from) {
  T out;
  std::memcpy(&out, from, sizeof out);
  return out;
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// The places of the bits that are set, by rising place. `out` has room for four more than there are.
std::size_t list_places(const CandidateBits& bits, std::size_t words, std::uint16_t* out) {
  std::size_t n = 0;
  for (std::size_t w = 0; w < words; ++w) {
    std::uint64_t word = bits.word[w];
    const auto count = static_cast<std::size_t>(std::popcount(word));
    std::uint16_t* to = out + n;
    const auto take = [&] {
      *to++ = static_cast<std::uint16_t>(w * 64 + static_cast<std::size_t>(std::countr_zero(word)));
      word &= word - 1;
    };
    // Four at a time, wanted or not: most words have two to four, and a branch for each one is guessed wrong too often.
    for (std::size_t done = 0; done < count; done += 4) {
      take();
      take();
      take();
      take();
    }
    n += count;
  }
  return n;
}

}  // namespace

/// The text of a scan, and which of its places need no look at its bounds.
struct Prefilter::Span {
  std::string_view text;
  std::size_t begin, end;
  std::size_t first_hit;  ///< in the list of hits
  std::size_t inside_begin, inside_end;
};

std::uint32_t Prefilter::hash(const char* fingerprint) {
  // The bit 0x20 tells the cases of letters; where it stands for something else there are a few more to compare.
  const std::uint32_t folded = load<std::uint32_t>(fingerprint) | 0x20202020u;
  return (folded * 0x9E3779B1u) >> (32 - std::countr_zero(bit_count));
}

Prefilter::Piece Prefilter::piece_of(std::string_view anchor, bool fold_case, std::size_t at) {
  char bytes[8] = {}, counts[8] = {};
  for (std::size_t i = 0; i < 8 && at + i < anchor.size(); ++i) {
    bytes[i] = anchor[at + i];
    counts[i] = static_cast<char>(fold_case && is_letter(bytes[i]) ? 0xDF : 0xFF);
  }
  return {load<std::uint64_t>(bytes), load<std::uint64_t>(counts)};
}

Prefilter::Entry Prefilter::entry_of(std::string_view anchor, bool fold_case, std::uint32_t index, std::size_t shift) {
  Entry out;
  out.anchor = index;
  out.size = static_cast<std::uint16_t>(anchor.size());
  out.shift = static_cast<std::uint16_t>(shift);
  if (anchor.size() > 8) {
    // The bytes of the fingerprint are known: the end that holds fewer of them tells more.
    const std::size_t behind = anchor.size() - (shift + fingerprint_size);
    out.piece_at = static_cast<std::uint16_t>(shift >= behind ? 0 : anchor.size() - 8);
    out.rest = static_cast<std::uint32_t>(pieces_.size());
    for (std::size_t at = 0; at < anchor.size(); at += 8)
      pieces_.push_back(piece_of(anchor, fold_case, std::min(at, anchor.size() - 8)));
  }
  out.piece = piece_of(anchor, fold_case, out.piece_at);
  return out;
}

Prefilter::Prefilter(const std::vector<std::string>& anchors, const std::vector<bool>& fold_case, PrefilterPlan plan)
    : bits_(bit_count / 64), first_entry_(slot_count + 1) {
  const std::size_t n = anchors.size();
  std::vector<Placement> placed(n);
  std::vector<std::uint32_t> unplanned;
  std::array<BucketHalves, bucket_count> buckets;
  for (std::uint32_t i = 0; i < n; ++i) {
    const std::string& anchor = anchors[i];
    if (anchor.size() < fingerprint_size) throw std::logic_error("anchor of less than four bytes: " + anchor);
    if (anchor.size() > std::numeric_limits<std::uint16_t>::max())
      throw std::logic_error("anchor of more than 65535 bytes: " + anchor.substr(0, 40));
    const auto same = [&](const PlannedAnchor& p) { return p.anchor == anchor && p.fold_case == fold_case[i]; };
    // The plan is in the order of the shipped anchors, and these come first.
    auto planned = i < plan.size() && same(plan[i]) ? plan.begin() + i : std::find_if(plan.begin(), plan.end(), same);
    if (planned == plan.end()) {
      unplanned.push_back(i);
      continue;
    }
    placed[i] = planned->placement;
    buckets[placed[i].bucket] = buckets[placed[i].bucket].with(anchor, fold_case[i], placed[i].at);
  }
  // Short ones have no choice of bytes: they choose their buckets first.
  std::stable_sort(unplanned.begin(), unplanned.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return anchors[a].size() < anchors[b].size(); });
  for (const std::uint32_t i : unplanned) {
    placed[i] = place_anchor(anchors[i], fold_case[i], buckets);
    buckets[placed[i].bucket] = buckets[placed[i].bucket].with(anchors[i], fold_case[i], placed[i].at);
  }

  for (std::size_t b = 0; b < bucket_count; ++b)
    for (std::size_t j = 0; j < fingerprint_size; ++j)
      for (std::size_t half = 0; half < 16; ++half) {
        const auto bit = static_cast<std::uint8_t>(1u << b);
        if ((buckets[b].low[j] >> half & 1) != 0) tables_.low[j][half] |= bit;
        if ((buckets[b].high[j] >> half & 1) != 0) tables_.high[j][half] |= bit;
      }

  std::vector<std::uint32_t> keys(n);
  for (std::size_t i = 0; i < n; ++i) {
    keys[i] = hash(anchors[i].data() + placed[i].at);
    bits_[keys[i] / 64] |= std::uint64_t{1} << (keys[i] % 64);
    ++first_entry_[keys[i] / (bit_count / slot_count) + 1];
    longest_ = std::max(longest_, anchors[i].size());
    longest_shift_ = std::max<std::size_t>(longest_shift_, placed[i].at);
  }
  for (std::size_t s = 1; s <= slot_count; ++s) first_entry_[s] += first_entry_[s - 1];
  std::vector<std::uint32_t> next = first_entry_;
  entries_.resize(n);
  for (std::uint32_t i = 0; i < n; ++i)
    entries_[next[keys[i] / (bit_count / slot_count)]++] = entry_of(anchors[i], fold_case[i], i, placed[i].at);
}

bool Prefilter::rest_equal(const Entry& entry, const char* at) const {
  if (entry.size <= 8) return true;
  const Piece* piece = &pieces_[entry.rest];
  std::size_t i = 0;
  for (; i + 8 < entry.size; i += 8, ++piece)
    if (!piece->equal(load<std::uint64_t>(at + i))) return false;
  return piece->equal(load<std::uint64_t>(at + entry.size - 8));
}

/// Compares the text with the anchors behind the fingerprint at `place`. `inside`: eight bytes may be read wherever an
/// anchor may lie, and no such place is outside what is asked for.
template <bool inside>
void Prefilter::verify(const Span& span, std::size_t place, std::uint32_t key, std::vector<AnchorHit>& hits) const {
  const std::uint32_t slot = key / (bit_count / slot_count);
  for (std::uint32_t e = first_entry_[slot]; e < first_entry_[slot + 1]; ++e) {
    const Entry& entry = entries_[e];
    const std::size_t offset = place - entry.shift;
    if constexpr (!inside)
      if (place < span.begin + entry.shift || offset >= span.end || offset + entry.size > span.text.size()) continue;
    const char* at = span.text.data() + offset;
    if constexpr (inside) {
      if (!entry.piece.equal(load<std::uint64_t>(at + entry.piece_at))) continue;
    } else {
      char bytes[8] = {};
      std::memcpy(bytes, at + entry.piece_at, std::min<std::size_t>(8, entry.size));
      if (!entry.piece.equal(load<std::uint64_t>(bytes))) continue;
    }
    if (!rest_equal(entry, at)) continue;
    // Nearly in order already: an anchor is found where its fingerprint is, a few bytes behind its beginning.
    hits.push_back({offset, entry.anchor});
    for (std::size_t i = hits.size() - 1; i > span.first_hit; --i) {
      AnchorHit &a = hits[i - 1], &b = hits[i];
      if (a.offset < b.offset || (a.offset == b.offset && a.anchor < b.anchor)) break;
      std::swap(a, b);
    }
  }
}

void Prefilter::scan(std::string_view text, std::size_t begin, std::size_t end, std::vector<AnchorHit>& hits,
                     PrefilterWork* work) const {
  if (text.size() < fingerprint_size) return;
  end = std::min(end, text.size());
  const std::size_t stop = std::min(end + longest_shift_, text.size() - (fingerprint_size - 1));
  const std::size_t reach = longest_ + 8;
  const Span span{text,
                  begin,
                  end,
                  hits.size(),
                  begin + longest_shift_,
                  std::min(end, text.size() < reach ? 0 : text.size() - reach)};
  CandidateBits bits;
  std::uint16_t places[kernel_block + 4];
  std::uint16_t keys[kernel_block];
  for (std::size_t block = begin; block < stop; block += kernel_block) {
    const std::size_t count = std::min(kernel_block, stop - block);
    const char* base = text.data() + block;
    find_candidates(tables_, base, count, text.size() - block, bits);
    const std::size_t candidates = list_places(bits, (count + 63) / 64, places);
    std::size_t fingerprints = 0;
    for (std::size_t i = 0; i < candidates; ++i) {  // without a branch: nothing here can be guessed
      const std::uint16_t place = places[i];
      const std::uint32_t key = hash(base + place);
      places[fingerprints] = place;
      keys[fingerprints] = static_cast<std::uint16_t>(key);
      fingerprints += bits_[key / 64] >> (key % 64) & 1;
    }
    for (std::size_t i = 0; i < fingerprints; ++i) {
      const std::size_t place = block + places[i];
      if (place >= span.inside_begin && place < span.inside_end)
        verify<true>(span, place, keys[i], hits);
      else
        verify<false>(span, place, keys[i], hits);
    }
    if (work != nullptr) {
      work->candidates += candidates;
      work->fingerprints += fingerprints;
    }
  }
}

}  // namespace oomdoctor
