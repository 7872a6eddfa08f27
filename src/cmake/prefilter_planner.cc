// A program of the build. For each anchor of the shipped parsers it chooses the four bytes to search for and their
// bucket (text/prefilter_plan.h), so that a scan of text like the samples takes the least time. It writes the choice as
// the source file that defines shipped_prefilter_plan(). The same anchors and samples give the same plan.
//
//   prefilter_planner samples/ prefilter_plan.cc
#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cmake/generated_source.h"
#include "read/label.h"
#include "scan/anchors.h"
#include "text/prefilter.h"
#include "text/prefilter_plan.h"

namespace oomdoctor {
namespace {

// The costs of a scan in nanoseconds, measured with AVX-512 at 2.8 GHz. Only the ratios matter, and only slightly: with
// half or twice of one of them, a scan takes a few per cent longer.
constexpr double candidate_cost = 2;    ///< a position that passes the lookups: listed and hashed
constexpr double fingerprint_cost = 6;  ///< a position that passes the hash: a mispredicted branch
constexpr double comparison_cost = 1;   ///< each anchor with that fingerprint: no branch

constexpr std::size_t sample_size = 65536;  ///< positions in the texts; resolves 0.1 candidates per kilobyte
constexpr int passes = 4;                   ///< a fifth pass changes nothing
constexpr unsigned starts = 6;              ///< orders of assignment: their costs differ by a tenth
constexpr unsigned repairs = 6000;          ///< of the best one: a quarter less by the first 1500, then ever less
constexpr std::size_t piece_size = 4096;    ///< bytes: plans are compared on pieces of the texts, about a log each
constexpr std::size_t pieces_apart = 2;     ///< one of two: of fewer, a plan for them is not the best for all
constexpr std::size_t words = sample_size / 64;
using PositionBits = std::array<std::uint64_t, words>;  ///< one bit per position of the sample

/// Random positions in the texts: which of them contain which half of a byte, and how often each fingerprint occurs.
class PositionSample {
 public:
  explicit PositionSample(const std::string& text) : low_(fingerprint_size * 16), high_(fingerprint_size * 16) {
    std::mt19937_64 random(1);
    for (std::size_t i = 0; i < sample_size; ++i) {
      const char* position = text.data() + random() % (text.size() - fingerprint_size + 1);
      for (std::size_t j = 0; j < fingerprint_size; ++j) {
        const auto c = static_cast<unsigned char>(position[j]);
        low_[j * 16 + low_half(c)][i / 64] |= std::uint64_t{1} << (i % 64);
        high_[j * 16 + high_half(c)][i / 64] |= std::uint64_t{1} << (i % 64);
      }
    }
    for (std::size_t i = 0; i + fingerprint_size <= text.size(); ++i)
      shares_[key(text.data() + i)] += 1 / static_cast<double>(text.size());
  }

  const PositionBits& low(std::size_t j, std::size_t half) const { return low_[j * 16 + half]; }
  const PositionBits& high(std::size_t j, std::size_t half) const { return high_[j * 16 + half]; }

  /// Hashes like the prefilter: upper and lower case are equal.
  static std::uint32_t key(const char* fingerprint) {
    std::uint32_t out;
    std::memcpy(&out, fingerprint, sizeof out);
    return out | 0x20202020u;
  }
  /// The share of positions with this fingerprint.
  double share(std::uint32_t key) const {
    const auto found = shares_.find(key);
    return found == shares_.end() ? 0 : found->second;
  }

 private:
  std::vector<PositionBits> low_, high_;
  std::unordered_map<std::uint32_t, double> shares_;
};

/// A bucket, with the positions of the sample that pass it: at each byte of the fingerprint, both halves of the byte
/// are in the bucket.
class FingerprintBucket {
 public:
  FingerprintBucket() : low_(fingerprint_size), high_(fingerprint_size) {}

  const BucketHalves& halves() const { return halves_; }
  std::size_t candidates() const { return candidates_; }

  void set(const PositionSample& sample, const BucketHalves& halves) {
    halves_ = halves;
    for (std::size_t j = 0; j < fingerprint_size; ++j) {
      low_[j].fill(0);
      high_[j].fill(0);
      for (std::size_t half = 0; half < 16; ++half) {
        if ((halves.low[j] >> half & 1) != 0) merge(low_[j], sample.low(j, half));
        if ((halves.high[j] >> half & 1) != 0) merge(high_[j], sample.high(j, half));
      }
    }
    candidates_ = 0;
    for (std::size_t part = 0; part < parts; ++part)
      candidates_ += candidates_of_[part] = count_candidates(sample, halves, part);
  }

  /// The candidates in the sample that the bucket would gain with `halves`, which must include its own; nullopt as soon
  /// as so many cost too much, which a part of the sample mostly shows.
  template <typename IsTooMuch>
  std::optional<std::size_t> gain_with(const PositionSample& sample, const BucketHalves& halves,
                                       IsTooMuch is_too_much) const {
    std::size_t gain = 0;
    for (std::size_t part = 0; part < parts; ++part) {
      gain += count_candidates(sample, halves, part) - candidates_of_[part];
      if (is_too_much(gain)) return std::nullopt;
    }
    return gain;
  }

 private:
  static constexpr std::size_t parts = 32, words_of_part = words / parts;

  static void merge(PositionBits& into, const PositionBits& row) {
    for (std::size_t w = 0; w < words; ++w) into[w] |= row[w];
  }

  std::size_t count_candidates(const PositionSample& sample, const BucketHalves& halves, std::size_t part) const {
    std::array<std::uint64_t, words_of_part> left, row;
    left.fill(~std::uint64_t{0});
    const std::size_t from = part * words_of_part;
    const auto keep = [&](const PositionBits& own, unsigned more, std::size_t j,
                          const PositionBits& (PositionSample::*rows)(std::size_t, std::size_t) const) {
      std::copy_n(own.begin() + from, words_of_part, row.begin());
      for (std::size_t half = 0; half < 16; ++half)
        if ((more >> half & 1) != 0) {
          const PositionBits& added = (sample.*rows)(j, half);
          for (std::size_t w = 0; w < words_of_part; ++w) row[w] |= added[from + w];
        }
      for (std::size_t w = 0; w < words_of_part; ++w) left[w] &= row[w];
    };
    for (std::size_t j = 0; j < fingerprint_size; ++j) {
      keep(low_[j], halves.low[j] & ~unsigned{halves_.low[j]}, j, &PositionSample::low);
      keep(high_[j], halves.high[j] & ~unsigned{halves_.high[j]}, j, &PositionSample::high);
    }
    std::size_t count = 0;
    for (const std::uint64_t word : left)
      if (word != 0) count += static_cast<std::size_t>(std::popcount(word));
    return count;
  }

  BucketHalves halves_;
  std::vector<PositionBits> low_, high_;
  std::size_t candidates_ = 0;
  std::array<std::size_t, parts> candidates_of_{};  ///< in each part of the sample
};

/// Assigns the anchors one after the other, each where it adds the least cost. Then it removes and assigns each one
/// again, several times, because the best assignment may have changed. What comes out depends on the order, so
/// write_plan() tries several and repairs the best one.
class Planner {
 public:
  Planner(Anchors anchors, const PositionSample& sample, unsigned seed)
      : anchors_(std::move(anchors)), sample_(sample), placed_(anchors_.text.size()), buckets_(bucket_count) {
    for (FingerprintBucket& bucket : buckets_) bucket.set(sample_, {});
    std::vector<std::size_t> order(anchors_.text.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::mt19937_64 random(seed);
    const auto shuffle = [&] {
      for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
    };
    shuffle();
    // Short anchors have no choice of bytes. They choose their buckets first, and longer ones join them.
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return anchors_.text[a].size() < anchors_.text[b].size(); });
    for (const std::size_t i : order) assign(i);
    for (int pass = 1; pass < passes; ++pass) {
      shuffle();
      for (const std::size_t i : order) {
        remove(i);
        assign(i);
      }
    }
  }

  /// Closes one half of a byte in one bucket: all anchors that hold it open are assigned again. One at a time, each of
  /// them would find it open.
  void repair(unsigned seed) {
    std::mt19937_64 random(seed);
    const auto& members = members_[random() % bucket_count];
    if (members.empty()) return;
    const std::size_t j = random() % fingerprint_size;
    const bool low = random() % 2 == 0;
    const auto half_of = [&](std::size_t i) {
      const auto c = static_cast<unsigned char>(anchors_.text[i][placed_[i].at + j]);
      return low ? low_half(c) : high_half(c);
    };
    const std::size_t half = half_of(members[random() % members.size()]);
    std::vector<std::size_t> out;
    for (const std::size_t i : members)
      if (half_of(i) == half) out.push_back(i);
    for (const std::size_t i : out) remove(i);
    for (std::size_t i = out.size(); i > 1; --i) std::swap(out[i - 1], out[random() % i]);
    for (const std::size_t i : out) assign(i);
  }

  const Anchors& anchors() const { return anchors_; }
  const std::vector<Placement>& placements() const { return placed_; }
  std::size_t fingerprints() const { return fingerprints_.size(); }

 private:
  std::uint32_t key(std::size_t i, std::size_t at) const { return PositionSample::key(anchors_.text[i].data() + at); }

  void assign(std::size_t i) {
    const std::string_view anchor = anchors_.text[i];
    double min_cost = std::numeric_limits<double>::infinity();
    for (std::size_t at = 0; at + fingerprint_size <= anchor.size(); ++at) {
      const std::uint32_t k = key(i, at);
      const double verified = sample_.share(k) * (comparison_cost + (fingerprints_.contains(k) ? 0 : fingerprint_cost));
      if (verified >= min_cost) continue;
      for (std::size_t b = 0; b < bucket_count; ++b) {
        const BucketHalves halves = buckets_[b].halves().with(anchor, anchors_.fold_case[i], at);
        const auto cost_of = [&](std::size_t gain) {
          return verified + candidate_cost * static_cast<double>(gain) / static_cast<double>(sample_size);
        };
        const auto gain =
            halves == buckets_[b].halves() ? 0 : buckets_[b].gain_with(sample_, halves, [&](std::size_t so_far) {
              return cost_of(so_far) >= min_cost;
            });
        if (!gain) continue;
        const double cost = cost_of(*gain);
        if (cost >= min_cost) continue;
        min_cost = cost;
        placed_[i] = {static_cast<std::uint16_t>(at), static_cast<std::uint16_t>(b)};
      }
    }
    FingerprintBucket& bucket = buckets_[placed_[i].bucket];
    const BucketHalves halves = bucket.halves().with(anchor, anchors_.fold_case[i], placed_[i].at);
    if (halves != bucket.halves() || bucket.candidates() == 0) bucket.set(sample_, halves);
    members_[placed_[i].bucket].push_back(i);
    ++fingerprints_[key(i, placed_[i].at)];
  }

  void remove(std::size_t i) {
    const std::size_t b = placed_[i].bucket;
    std::erase(members_[b], i);
    BucketHalves halves;
    for (const std::size_t m : members_[b])
      halves = halves.with(anchors_.text[m], anchors_.fold_case[m], placed_[m].at);
    if (halves != buckets_[b].halves()) buckets_[b].set(sample_, halves);
    const auto found = fingerprints_.find(key(i, placed_[i].at));
    if (--found->second == 0) fingerprints_.erase(found);
  }

  Anchors anchors_;
  const PositionSample& sample_;
  std::vector<Placement> placed_;
  std::vector<FingerprintBucket> buckets_;
  std::array<std::vector<std::size_t>, bucket_count> members_;
  std::unordered_map<std::uint32_t, std::size_t> fingerprints_;  ///< fingerprint → number of anchors
};

/// The lines of a form that the log has several times: most of a long log are lines of a few forms.
std::string repeated_lines(const std::string& log) {
  constexpr std::size_t several = 3;
  std::vector<std::string> lines, forms;
  std::unordered_map<std::string, std::size_t> counts;
  std::istringstream in(log);
  for (std::string line; std::getline(in, line); lines.push_back(line))
    ++counts[forms.emplace_back(mask_numbers(line))];
  std::string out;
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (counts[forms[i]] >= several) out.append(lines[i]).push_back('\n');
  return out;
}

/// The contents of all logs and tables in a folder, in the order of their names. Repeated lines count more: of the
/// samples, which are short, they are a smaller part than of what is read.
std::string read_texts(const std::filesystem::path& folder) {
  constexpr int more = 2;  // times

  std::vector<std::filesystem::path> paths;
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder))
    if (file.path().extension() == ".log" || file.path().extension() == ".csv") paths.push_back(file.path());
  std::sort(paths.begin(), paths.end());
  std::string text;
  for (const auto& path : paths) {
    std::ifstream in(path, std::ios::binary);
    const std::string log(std::istreambuf_iterator<char>(in), {});
    text += log;
    for (int i = 0; i < more; ++i) text += repeated_lines(log);
  }
  if (text.size() < sample_size) throw std::runtime_error(folder.string() + ": too little text to plan by");
  return text;
}

/// One of each `pieces_apart` pieces of the text.
std::string take_pieces(const std::string& text) {
  std::string pieces;
  for (std::size_t at = 0; at < text.size(); at += piece_size * pieces_apart) pieces += text.substr(at, piece_size);
  return pieces;
}

/// The work of a scan of the text. A position that passes several buckets is one candidate.
PrefilterWork measure(const Planner& planner, const std::string& text) {
  const Anchors& anchors = planner.anchors();
  PrefilterWork work;
  std::vector<AnchorHit> hits;
  Prefilter(anchors.text, anchors.fold_case, {.placements = planner.placements()})
      .scan(text, 0, text.size(), hits, &work);
  return work;
}

double cost_of(const PrefilterWork& work) {
  return candidate_cost * static_cast<double>(work.candidates) +
         fingerprint_cost * static_cast<double>(work.fingerprints) +
         comparison_cost * static_cast<double>(work.comparisons);
}

std::string number(std::uint64_t value) { return std::to_string(value) + (value > INT32_MAX ? "u" : ""); }

std::string braced(const std::vector<std::string>& parts) {
  std::string out = "{";
  for (const std::string& part : parts) out.append(out.size() > 1 ? ", " : "").append(part);
  return out + "}";
}

template <typename Values, typename Write>
std::string list(const Values& values, Write write) {
  std::vector<std::string> parts;
  for (const auto& value : values) parts.push_back(write(value));
  return braced(parts);
}

template <typename Values, typename Write>
void write_array(std::ostream& out, const char* declaration, const Values& values, Write write) {
  out << "static constexpr " << declaration << "[] = " << list(values, write) << ";\n\n";
}

void write_tables(std::ostream& out, const PrefilterTables& tables) {
  const auto masked = [](const MaskedBytes& b) { return braced({number(b.bytes), number(b.counts)}); };
  write_array(out, "std::uint16_t first_entry", tables.first_entry, number);
  write_array(out, "AnchorEnds ends", tables.ends, [&](const AnchorEnds& e) {
    return braced({masked(e.first), masked(e.last), std::to_string(e.first_from), std::to_string(e.last_from)});
  });
  write_array(out, "AnchorEntry entries", tables.entries, [](const AnchorEntry& e) {
    return braced({number(e.anchor), number(e.pieces), number(e.shift), number(e.size)});
  });
  write_array(out, "MaskedBytes pieces", tables.pieces, masked);
  const auto rows = [](const auto& of_bytes) {
    return list(of_bytes, [](const auto& row) { return list(row, number); });
  };
  const FingerprintSet& set = tables.fingerprints;
  out << "static constexpr PrefilterTables tables{\n"
      << braced({rows(set.low), rows(set.high), rows(set.byte), "{" + list(set.hashes, number) + "}"})
      << ", first_entry, ends, entries, pieces, " << tables.longest << ", " << tables.longest_shift << "};\n\n";
}

void write_plan(const std::string& folder, const std::string& path) {
  const std::string text = read_texts(folder);
  const PositionSample sample(text);
  const std::string pieces = take_pieces(text);
  std::optional<Planner> best;
  PrefilterWork least;
  const auto offer = [&](Planner other) {
    const PrefilterWork work = measure(other, pieces);
    if (best && cost_of(work) >= cost_of(least)) return;
    least = work;
    best.emplace(std::move(other));
  };
  for (unsigned seed = 0; seed < starts; ++seed) offer(Planner(collect_anchors(all_parsers()), sample, seed));
  for (unsigned seed = 0; seed < repairs; ++seed) {
    Planner other = *best;
    other.repair(seed);
    offer(std::move(other));
  }
  const Anchors& anchors = best->anchors();
  std::ofstream out(path, std::ios::binary);
  out << "// Written by src/cmake/prefilter_planner.cc: " << anchors.text.size() << " anchors behind "
      << best->fingerprints() << " fingerprints, " << 1000 * least.candidates / pieces.size()
      << " candidates in\n// a kilobyte of its text.\n"
         "#include \"text/prefilter_plan.h\"\n\nnamespace oomdoctor {\n\n";
  const Prefilter prefilter(anchors.text, anchors.fold_case, {.placements = best->placements()});
  write_array(out, "Placement placements", best->placements(), [](const Placement& p) {
    return braced({std::to_string(p.at), std::to_string(p.bucket)});
  });
  write_array(out, "std::uint16_t mentions", anchors.mentions, number);
  write_tables(out, prefilter.tables());
  out << "const PrefilterPlan& shipped_prefilter_plan() {\n"
         "  static constexpr PrefilterPlan plan{placements, &tables, mentions};\n  return plan;\n}\n\n"
         "}  // namespace oomdoctor\n";
  if (!out.flush()) throw std::runtime_error(path + ": cannot be written");
}

}  // namespace
}  // namespace oomdoctor

int main(int count, char** words) {
  if (count != 3) {
    std::fputs("usage: prefilter_planner FOLDER SOURCE\n", stderr);
    return 2;
  }
  try {
    oomdoctor::write_plan(words[1], words[2]);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  return 1;
}
