#include "text/prefilter.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>

#include "base/ascii.h"

namespace oomdoctor {
namespace {

template <class T>
T load(const char* from) {
  T out;
  std::memcpy(&out, from, sizeof out);
  return out;
}

constexpr std::uint32_t slot_of(std::uint32_t hash) { return hash >> (fingerprint_hash_bits - prefilter_slot_bits); }

constexpr std::size_t most = std::numeric_limits<std::uint16_t>::max();

}  // namespace

MaskedBytes Prefilter::mask_bytes(std::string_view anchor, bool fold_case, std::size_t at) {
  char bytes[8] = {}, counts[8] = {};
  const std::size_t size = std::min<std::size_t>(8, anchor.size() - at);
  std::memcpy(bytes, anchor.data() + at, size);
  std::memset(counts, 0xFF, size);
  for (std::size_t i = 0; fold_case && i < size; ++i)
    if (is_letter(bytes[i])) counts[i] = static_cast<char>(0xDF);
  return {load<std::uint64_t>(bytes), load<std::uint64_t>(counts)};
}

void Prefilter::add(std::string_view anchor, bool fold_case, std::uint32_t index, std::size_t shift,
                    std::size_t entry) {
  const std::size_t size = anchor.size(), last = size > 8 ? size - 8 : 0;
  entries_[entry] = {index, static_cast<std::uint32_t>(pieces_.size()), static_cast<std::uint16_t>(shift),
                     static_cast<std::uint16_t>(size)};
  ends_[entry] = {mask_bytes(anchor, fold_case, 0), mask_bytes(anchor, fold_case, last),
                  -static_cast<std::int32_t>(shift),
                  static_cast<std::int32_t>(last) - static_cast<std::int32_t>(shift)};
  for (std::size_t at = 8; at < last; at += 8) pieces_.push_back(mask_bytes(anchor, fold_case, at));
}

// Takes placements from the plan and places the other anchors.
Prefilter::Prefilter(const std::vector<std::string_view>& anchors, const std::vector<bool>& fold_case,
                     const PrefilterPlan& plan)
    : tables_(&own_) {
  const std::size_t n = anchors.size(), planned = std::min(n, plan.placements.size());
  if (plan.tables != nullptr && n == plan.placements.size()) {
    tables_ = plan.tables;
    return;
  }
  if (n > most) throw std::logic_error("more than 65535 anchors");
  for (const std::string_view anchor : anchors)
    if (anchor.size() < fingerprint_size || anchor.size() > most)
      throw std::logic_error("anchor of less than four or more than 65535 bytes: " + std::string(anchor.substr(0, 40)));
  std::vector<Placement> placed(plan.placements.begin(),
                                plan.placements.begin() + static_cast<std::ptrdiff_t>(planned));
  placed.resize(n);
  Buckets buckets;
  for (std::size_t i = 0; i < planned; ++i) buckets.add(anchors[i], fold_case[i], placed[i]);
  // Short anchors have no choice of bytes, so they choose their buckets first.
  std::vector<std::size_t> unplanned(n - planned);
  std::iota(unplanned.begin(), unplanned.end(), planned);
  std::stable_sort(unplanned.begin(), unplanned.end(),
                   [&](std::size_t a, std::size_t b) { return anchors[a].size() < anchors[b].size(); });
  for (const std::size_t i : unplanned) {
    placed[i] = buckets.best_place(anchors[i], fold_case[i]);
    buckets.add(anchors[i], fold_case[i], placed[i]);
  }
  make_tables(anchors, fold_case, placed, buckets);
}

// Fills the kernel's tables and sorts the entries by slot.
void Prefilter::make_tables(const std::vector<std::string_view>& anchors, const std::vector<bool>& fold_case,
                            const std::vector<Placement>& placed, const Buckets& buckets) {
  const std::size_t n = anchors.size();
  FingerprintSet& fingerprints = own_.fingerprints;
  for (std::size_t b = 0; b < bucket_count; ++b)
    for (std::size_t j = 0; j < fingerprint_size; ++j)
      for (std::size_t half = 0; half < 16; ++half) {
        const auto bit = static_cast<std::uint8_t>(1u << b);
        if ((buckets[b].low[j] >> half & 1) != 0) fingerprints.low[j][half] |= bit;
        if ((buckets[b].high[j] >> half & 1) != 0) fingerprints.high[j][half] |= bit;
      }
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < fingerprint_size; ++j) {
      const auto bit = static_cast<std::uint8_t>(1u << placed[i].bucket);
      const char c = anchors[i][placed[i].at + j];
      fingerprints.byte[j][c & 127] |= bit;
      if (fold_case[i] && is_letter(c)) fingerprints.byte[j][(c ^ 0x20) & 127] |= bit;
    }

  first_entry_.resize((1u << prefilter_slot_bits) + 1);
  std::vector<std::uint32_t> slots(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t hash = fingerprint_hash(anchors[i].data() + placed[i].at);
    fingerprints.hashes[hash / 64] |= std::uint64_t{1} << (hash % 64);
    slots[i] = slot_of(hash);
    ++first_entry_[slots[i] + 1];
    own_.longest = std::max(own_.longest, anchors[i].size());
    own_.longest_shift = std::max<std::size_t>(own_.longest_shift, placed[i].at);
  }
  for (std::size_t s = 1; s < first_entry_.size(); ++s)
    first_entry_[s] = static_cast<std::uint16_t>(first_entry_[s] + first_entry_[s - 1]);
  // Counting sort: entries of one slot become adjacent.
  std::vector<std::uint16_t> next = first_entry_;
  ends_.resize(n);
  entries_.resize(n);
  for (std::uint32_t i = 0; i < n; ++i) add(anchors[i], fold_case[i], i, placed[i].at, next[slots[i]]++);
  own_.first_entry = first_entry_;
  own_.ends = ends_;
  own_.entries = entries_;
  own_.pieces = pieces_;
}

bool Prefilter::middle_equal(const AnchorEntry& entry, const char* anchor) const {
  const MaskedBytes* piece = tables_->pieces.data() + entry.pieces;
  for (std::size_t at = 8; at + 8 < entry.size; at += 8, ++piece)
    if (!piece->equal(load<std::uint64_t>(anchor + at))) return false;
  return true;
}

void Prefilter::add_hit(const ScanRange& span, AnchorHit hit, std::vector<AnchorHit>& hits) const {
  hits.push_back(hit);
  // Insertion sort: hits are almost in order, because a fingerprint is a few bytes after the beginning of its anchor.
  for (std::size_t i = hits.size() - 1; i > span.first_hit; --i) {
    AnchorHit &a = hits[i - 1], &b = hits[i];
    if (a.offset < b.offset || (a.offset == b.offset && a.anchor < b.anchor)) break;
    std::swap(a, b);
  }
}

/// The slow path for anchors that may begin outside the requested range, or without eight readable bytes.
void Prefilter::verify_at_ends(const ScanRange& span, std::size_t place, std::uint32_t slot,
                               std::vector<AnchorHit>& hits) const {
  const PrefilterTables& tables = *tables_;
  for (std::size_t e = tables.first_entry[slot]; e < tables.first_entry[slot + 1]; ++e) {
    const AnchorEntry& entry = tables.entries[e];
    if (place < span.begin + entry.shift || place - entry.shift >= span.end) continue;
    const std::size_t offset = place - entry.shift;
    if (entry.size > span.text.size() - offset) continue;
    const char* at = span.text.data() + offset;
    char first[8] = {}, last[8] = {};
    const std::size_t size = std::min<std::size_t>(entry.size, 8);
    std::memcpy(first, at, size);
    std::memcpy(last, at + entry.size - size, size);
    if (tables.ends[e].first.equal(load<std::uint64_t>(first)) &&
        tables.ends[e].last.equal(load<std::uint64_t>(last)) && middle_equal(entry, at))
      add_hit(span, {offset, entry.anchor}, hits);
  }
}

// Compares the ends of all anchors with a found fingerprint. Matches are collected first and their middle parts
// compared later, which keeps the inner loop free of branches.
void Prefilter::verify(const ScanRange& span, std::size_t block, const FingerprintPlaces& found,
                       std::vector<AnchorHit>& hits) const {
  struct PossibleHit {
    std::uint32_t place, entry;
  };
  constexpr std::size_t room = 256;
  PossibleHit matches[room];
  std::size_t count = 0;
  const char* base = span.text.data() + block;
  // A sparse log spends most of its time here.
  const std::uint16_t* const first_entry = tables_->first_entry.data();
  const AnchorEnds* const ends_of = tables_->ends.data();
  const AnchorEntry* const entries = tables_->entries.data();
  const auto settle = [&] {
    for (std::size_t i = 0; i < count; ++i) {
      const AnchorEntry& entry = entries[matches[i].entry];
      const std::size_t offset = block + matches[i].place - entry.shift;
      if (entry.size <= 16 || middle_equal(entry, span.text.data() + offset))
        add_hit(span, {offset, entry.anchor}, hits);
    }
    count = 0;
  };
  for (std::size_t i = 0; i < found.count; ++i) {
    const std::uint32_t slot = slot_of(found.hash[i]);
    const std::size_t place = block + found.place[i];
    if (place < span.inside_begin || place >= span.inside_end) {
      settle();
      verify_at_ends(span, place, slot, hits);
      continue;
    }
    const std::uint32_t last = first_entry[slot + 1];
    std::uint32_t e = first_entry[slot];
    do {  // the branch is unpredictable, so the match is always written, but counted only if it is real
      const AnchorEnds& ends = ends_of[e];
      const char* at = base + found.place[i];
      matches[count] = {found.place[i], e};
      const bool first_equal = ends.first.equal(load<std::uint64_t>(at + ends.first_from));
      const bool last_equal = ends.last.equal(load<std::uint64_t>(at + ends.last_from));
      count += static_cast<std::size_t>(first_equal) & static_cast<std::size_t>(last_equal);
      if (count == room) settle();
    } while (++e < last);
  }
  settle();
}

void Prefilter::scan(std::string_view text, std::size_t begin, std::size_t end, std::vector<AnchorHit>& hits,
                     PrefilterWork* work) const {
  if (text.size() < fingerprint_size) return;
  end = std::min(end, text.size());
  const std::size_t stop = std::min(end + tables_->longest_shift, text.size() - (fingerprint_size - 1));
  const std::size_t reach = tables_->longest + 8;
  const std::size_t inside_end = std::min(end, text.size() < reach ? 0 : text.size() - reach);
  const ScanRange span{text, begin, end, begin + tables_->longest_shift, inside_end, hits.size()};
  FingerprintPlaces found;
  for (std::size_t block = begin; block < stop; block += kernel_block) {
    const std::size_t count = std::min(kernel_block, stop - block);
    find_fingerprints(tables_->fingerprints, text.data() + block, count, text.size() - block, found);
    verify(span, block, found, hits);
    if (work == nullptr) continue;
    work->candidates += found.candidates;
    work->fingerprints += found.count;
    for (std::size_t i = 0; i < found.count; ++i) {
      const std::uint32_t slot = slot_of(found.hash[i]);
      work->comparisons += std::size_t{tables_->first_entry[slot + 1]} - tables_->first_entry[slot];
    }
  }
}

}  // namespace oomdoctor
