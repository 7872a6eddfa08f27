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
#include <span>
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
constexpr std::uint64_t candidate_cost = 2;    ///< a position that passes the lookups: listed and hashed
constexpr std::uint64_t fingerprint_cost = 6;  ///< a position that passes the hash: a mispredicted branch
constexpr std::uint64_t comparison_cost = 1;   ///< each anchor with that fingerprint: no branch

constexpr std::size_t sample_size = 65536;  ///< positions in the texts; resolves 0.1 candidates per kilobyte
constexpr std::size_t words = sample_size / 64;
using PositionBits = std::array<std::uint64_t, words>;  ///< one bit per position of the sample

// The plan is 4 % better (cost, on all of the texts) than by six starts and a walk that only descends, which took five
// times as long. Twice the repairs make it up to 4 % better.
constexpr int passes = 3;            ///< over all anchors, for the first plan
constexpr unsigned repairs = 12000;  ///< of it
// A repaired plan may cost one part in so many more, at first; 50 to 400 do as well.
constexpr unsigned allowance = 100;

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
    for (std::size_t i = 0; i + fingerprint_size <= text.size(); ++i) ++counts_[key(text.data() + i)];
    for (auto& [key, count] : counts_) count = share_unit * sample_size * count / text.size();
  }

  const PositionBits& low(std::size_t j, std::size_t half) const { return low_[j * 16 + half]; }
  const PositionBits& high(std::size_t j, std::size_t half) const { return high_[j * 16 + half]; }

  /// Hashes like the prefilter: upper and lower case are equal.
  static std::uint32_t key(const char* fingerprint) {
    std::uint32_t out;
    std::memcpy(&out, fingerprint, sizeof out);
    return out | 0x20202020u;
  }

  /// Costs are integers, so that every machine makes the same plan. This is the cost of one position at one nanosecond.
  static constexpr std::uint64_t share_unit = 16;
  /// How often the fingerprint occurs in a sample, in positions times share_unit. Counted in the whole text.
  std::uint64_t share(std::uint32_t key) const {
    const auto found = counts_.find(key);
    return found == counts_.end() ? 0 : found->second;
  }

 private:
  std::vector<PositionBits> low_, high_;
  std::unordered_map<std::uint32_t, std::uint64_t> counts_;
};

void merge(PositionBits& into, const PositionBits& row) {
  for (std::size_t w = 0; w < words; ++w) into[w] |= row[w];
}

std::uint64_t count(std::span<const std::uint64_t> bits) {
  std::uint64_t out = 0;
  for (const std::uint64_t word : bits)
    if (word != 0) out += static_cast<std::uint64_t>(std::popcount(word));
  return out;
}

/// A bucket, with the positions of the sample that pass it: at each byte of the fingerprint, both halves of the byte
/// are in the bucket.
class FingerprintBucket {
 public:
  FingerprintBucket() : rows_(rows) {}

  const BucketHalves& halves() const { return halves_; }
  const PositionBits& passing() const { return passing_; }

  void set(const PositionSample& sample, const BucketHalves& halves) {
    halves_ = {};
    for (PositionBits& row : rows_) row.fill(0);
    for_each_added(sample, halves, [&](std::size_t row, const PositionBits& added) { merge(rows_[row], added); });
    halves_ = halves;
    passing_ = rows_[0];
    for (std::size_t row = 1; row < rows; ++row)
      for (std::size_t w = 0; w < words; ++w) passing_[w] &= rows_[row][w];
  }

  /// The positions outside of `known` that would pass with `halves`, which must include its own; nullopt as soon as so
  /// many cost too much, which a part of the sample mostly shows.
  template <typename IsTooMuch>
  std::optional<std::uint64_t> gain_with(const PositionSample& sample, const BucketHalves& halves,
                                         const PositionBits& known, IsTooMuch is_too_much) const {
    std::array<std::array<const PositionBits*, 2>, rows> added{};  // at most two: both cases of a letter
    for_each_added(sample, halves, [&](std::size_t row, const PositionBits& positions) {
      added[row][added[row][0] == nullptr ? 0 : 1] = &positions;
    });
    std::uint64_t gain = 0;
    std::array<std::uint64_t, words_of_part> left;
    for (std::size_t from = 0; from < words; from += words_of_part) {
      for (std::size_t w = 0; w < words_of_part; ++w) left[w] = ~known[from + w];
      for (std::size_t row = 0; row < rows; ++row) {
        const std::uint64_t* own = rows_[row].data() + from;
        const std::uint64_t* one = added[row][0] == nullptr ? own : added[row][0]->data() + from;
        const std::uint64_t* two = added[row][1] == nullptr ? one : added[row][1]->data() + from;
        for (std::size_t w = 0; w < words_of_part; ++w) left[w] &= own[w] | one[w] | two[w];
      }
      gain += count(left);
      if (is_too_much(gain)) return std::nullopt;
    }
    return gain;
  }

 private:
  static constexpr std::size_t rows = 2 * fingerprint_size;  ///< the low halves of each byte, then the high ones
  static constexpr std::size_t words_of_part = 32;

  /// Calls visit(row, positions) for each half that the bucket lacks.
  template <typename Visit>
  void for_each_added(const PositionSample& sample, const BucketHalves& halves, Visit visit) const {
    for (std::size_t j = 0; j < fingerprint_size; ++j)
      for (const bool low : {true, false}) {
        unsigned added = low ? halves.low[j] & ~halves_.low[j] : halves.high[j] & ~halves_.high[j];
        for (; added != 0; added &= added - 1) {
          const auto half = static_cast<std::size_t>(std::countr_zero(added));
          visit(low ? j : fingerprint_size + j, low ? sample.low(j, half) : sample.high(j, half));
        }
      }
  }

  BucketHalves halves_;
  std::vector<PositionBits> rows_;  ///< the positions with one of the halves
  PositionBits passing_{};
};

/// Assigns the anchors one after the other, each where it adds the least cost. Then it removes and assigns each one
/// again, several times, because the best assignment may have changed.
class Planner {
 public:
  Planner(Anchors anchors, const PositionSample& sample)
      : anchors_(std::move(anchors)), sample_(&sample), placed_(anchors_.text.size()), buckets_(bucket_count) {
    std::vector<std::size_t> order(anchors_.text.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::mt19937_64 random(1);
    shuffle(order, random);
    // Short anchors have no choice of bytes. They choose their buckets first, and longer ones join them.
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return anchors_.text[a].size() < anchors_.text[b].size(); });
    for (const std::size_t i : order) assign(i);
    for (int pass = 1; pass < passes; ++pass) {
      shuffle(order, random);
      for (const std::size_t i : order) {
        remove({i});
        assign(i);
      }
    }
  }

  /// Closes one half of a byte in one bucket: all anchors that hold it open are assigned again. One at a time, each of
  /// them would find it open.
  void repair(std::mt19937_64& random) {
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
    remove(out);
    shuffle(out, random);
    for (const std::size_t i : out) assign(i);
  }

  /// Of a scan of the sample. A position that passes several buckets is one candidate.
  std::uint64_t cost() const {
    std::uint64_t out = count(passing_) * candidate_share;
    for (const auto& [key, anchors] : fingerprints_)
      out += sample_->share(key) * (fingerprint_cost + comparison_cost * anchors);
    return out;
  }

  const Anchors& anchors() const { return anchors_; }
  const std::vector<Placement>& placements() const { return placed_; }
  std::size_t fingerprints() const { return fingerprints_.size(); }
  std::uint64_t candidates() const { return count(passing_); }

 private:
  static constexpr std::uint64_t candidate_share = candidate_cost * PositionSample::share_unit;

  static void shuffle(std::vector<std::size_t>& order, std::mt19937_64& random) {
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  }

  std::uint32_t key(std::size_t i, std::size_t at) const { return PositionSample::key(anchors_.text[i].data() + at); }

  /// Of one more anchor with this fingerprint.
  std::uint64_t verification_cost(std::uint32_t key) const {
    return sample_->share(key) * (comparison_cost + (fingerprints_.contains(key) ? 0 : fingerprint_cost));
  }

  void assign(std::size_t i) {
    const std::string_view anchor = anchors_.text[i];
    std::uint64_t min_cost = std::numeric_limits<std::uint64_t>::max();
    // Where the bucket has all halves already, no sample need be counted, and what costs less is soon rare.
    for (const bool is_open : {true, false})
      for (std::size_t at = 0; at + fingerprint_size <= anchor.size(); ++at) {
        const std::uint64_t verified = verification_cost(key(i, at));
        for (std::size_t b = 0; b < bucket_count && verified < min_cost; ++b) {
          const BucketHalves halves = buckets_[b].halves().with(anchor, anchors_.fold_case[i], at);
          if ((halves == buckets_[b].halves()) != is_open) continue;
          const auto cost_of = [&](std::uint64_t gain) { return verified + candidate_share * gain; };
          const auto is_too_much = [&](std::uint64_t gain) { return cost_of(gain) >= min_cost; };
          const auto gain = is_open ? 0 : buckets_[b].gain_with(*sample_, halves, passing_, is_too_much);
          if (!gain || is_too_much(*gain)) continue;
          min_cost = cost_of(*gain);
          placed_[i] = {static_cast<std::uint16_t>(at), static_cast<std::uint16_t>(b)};
        }
      }
    FingerprintBucket& bucket = buckets_[placed_[i].bucket];
    const BucketHalves halves = bucket.halves().with(anchor, anchors_.fold_case[i], placed_[i].at);
    if (halves != bucket.halves()) {
      bucket.set(*sample_, halves);
      merge(passing_, bucket.passing());
    }
    members_[placed_[i].bucket].push_back(i);
    ++fingerprints_[key(i, placed_[i].at)];
  }

  /// Removes anchors of one bucket.
  void remove(const std::vector<std::size_t>& out) {
    const std::size_t b = placed_[out.front()].bucket;
    for (const std::size_t i : out) {
      std::erase(members_[b], i);
      const auto found = fingerprints_.find(key(i, placed_[i].at));
      if (--found->second == 0) fingerprints_.erase(found);
    }
    BucketHalves halves;
    for (const std::size_t m : members_[b])
      halves = halves.with(anchors_.text[m], anchors_.fold_case[m], placed_[m].at);
    if (halves == buckets_[b].halves()) return;
    buckets_[b].set(*sample_, halves);
    passing_.fill(0);
    for (const FingerprintBucket& bucket : buckets_) merge(passing_, bucket.passing());
  }

  Anchors anchors_;
  const PositionSample* sample_;
  std::vector<Placement> placed_;
  std::vector<FingerprintBucket> buckets_;
  PositionBits passing_{};  ///< any bucket
  std::array<std::vector<std::size_t>, bucket_count> members_;
  std::unordered_map<std::uint32_t, std::size_t> fingerprints_;  ///< fingerprint → number of anchors
};

/// The best plan of a random walk by repairs. A repaired plan may cost a little more than the one that it was made of,
/// so that the walk leaves small valleys; the allowance falls to nothing.
Planner best_plan(const PositionSample& sample) {
  Planner current(collect_anchors(all_parsers()), sample);
  Planner best = current;
  std::uint64_t cost = current.cost(), least = cost;
  std::mt19937_64 random(1);
  for (unsigned left = repairs; left > 0; --left) {
    Planner other = current;
    other.repair(random);
    const std::uint64_t other_cost = other.cost();
    const std::uint64_t most = cost + random() % (cost / allowance * left / repairs + 1);
    if (other_cost > most) continue;
    current = std::move(other);
    cost = other_cost;
    if (cost >= least) continue;
    least = cost;
    best = current;
  }
  return best;
}

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
  const PositionSample sample(read_texts(folder));
  const Planner best = best_plan(sample);
  const Anchors& anchors = best.anchors();
  std::ofstream out(path, std::ios::binary);
  out << "// Written by src/cmake/prefilter_planner.cc: " << anchors.text.size() << " anchors behind "
      << best.fingerprints() << " fingerprints, " << 1000 * best.candidates() / sample_size
      << " candidates in\n// a kilobyte of its text.\n"
         "#include \"text/prefilter_plan.h\"\n\nnamespace oomdoctor {\n\n";
  const Prefilter prefilter(anchors.text, anchors.fold_case, {.placements = best.placements()});
  write_array(out, "Placement placements", best.placements(), [](const Placement& p) {
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
