#include "text/prefilter.h"

#include <algorithm>
#include <random>
#include <ranges>
#include <span>
#include <stdexcept>

#include "catch.h"
#include "every_target.h"
#include "samples.h"
#include "scan/anchors.h"

namespace oomdoctor {
namespace {

using testing::on_every_target;

std::string lowered(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

using Hits = std::vector<std::pair<std::size_t, std::uint32_t>>;

Hits naive(const std::vector<std::string>& anchors, const std::vector<bool>& fold, const std::string& text,
           std::size_t begin, std::size_t end) {
  Hits out;
  for (std::size_t at = begin; at < std::min(end, text.size()); ++at)
    for (std::uint32_t a = 0; a < anchors.size(); ++a) {
      const std::string piece = text.substr(at, anchors[a].size());
      if (fold[a] ? lowered(piece) == lowered(anchors[a]) : piece == anchors[a]) out.emplace_back(at, a);
    }
  return out;
}

Hits scanned(const Prefilter& filter, const std::string& text, std::size_t begin, std::size_t end) {
  std::vector<AnchorHit> hits;
  filter.scan(text, begin, end, hits);
  Hits out;
  for (const AnchorHit& h : hits) out.emplace_back(h.offset, h.anchor);
  return out;
}

}  // namespace

TEST_CASE("the prefilter finds every anchor at every offset, on every instruction set", "[prefilter]") {
  const std::vector<std::string> anchors{"out of memory", "oom-kill", "Killed", "1234", "MemoryError", "Error"};
  const Prefilter filter({anchors.begin(), anchors.end()}, {false, false, false, false, false, false});
  on_every_target([&] {
    for (std::size_t a = 0; a < anchors.size(); ++a)
      for (const std::size_t far : {std::size_t{0}, kernel_block - 35})
        for (std::size_t offset = far; offset < far + 70; ++offset) {
          const std::string text = std::string(offset, '.') + anchors[a] + std::string(offset % 5, '.');
          const Hits hits = scanned(filter, text, 0, text.size());
          if (std::count(hits.begin(), hits.end(), std::pair{offset, static_cast<std::uint32_t>(a)}) == 1) continue;
          CAPTURE(anchors[a], offset);
          FAIL("not found");
        }
  });
}

TEST_CASE("the prefilter agrees with a naive search, on every instruction set", "[prefilter]") {
  std::mt19937 random(7);
  // Few letters, so that there are many matches; both letter cases; bytes that differ from a letter only in the case
  // bit; bytes beyond ASCII.
  const std::string letters{"aAbB \n0@`\xC3\xE1\0", 12};
  const auto pick = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  std::size_t found = 0;
  for (int round = 0; round < 200; ++round) {
    const std::size_t kinds = round % 2 == 0 ? letters.size() : 3;
    const auto text_of = [&](std::size_t n) {
      std::string out;
      while (out.size() < n) out.push_back(letters[pick(kinds)]);
      return out;
    };
    const std::string text = text_of(1 + pick(round % 8 == 0 ? 3 * kernel_block : 400));
    std::vector<std::string> anchors;
    std::vector<bool> fold;
    for (int a = 0; a < 12; ++a) {
      // Half of them are cut from the text, so that long ones occur too.
      const std::string cut = text.substr(pick(text.size()), 4 + pick(30));
      anchors.push_back(a % 2 == 0 && cut.size() >= 4 ? cut : text_of(4 + pick(3)));
      fold.push_back(pick(2) == 1);
    }
    // A plan, good or bad, chooses the bytes of some anchors.
    std::vector<Placement> plan;
    for (std::size_t a = 0; a < pick(anchors.size() + 1); ++a)
      plan.push_back(
          {static_cast<std::uint16_t>(pick(anchors[a].size() - 3)), static_cast<std::uint16_t>(pick(bucket_count))});
    const Prefilter filter({anchors.begin(), anchors.end()}, fold, {.placements = plan});
    const std::size_t begin = pick(text.size()), end = begin + pick(text.size() - begin + 1);
    const Hits expected = naive(anchors, fold, text, begin, end);
    // Put the text at the end of a separate allocation, so that the address sanitizer detects reads past the end.
    const std::vector<char> exact(text.begin(), text.end());
    on_every_target([&] {
      CAPTURE(round, begin, end, text.size());
      std::vector<AnchorHit> hits;
      filter.scan({exact.data(), exact.size()}, begin, end, hits);
      Hits got;
      for (const AnchorHit& h : hits) got.emplace_back(h.offset, h.anchor);
      if (got != expected) CHECK(got == expected);
    });
    found += expected.size();
  }
  CHECK(found > 1000);
}

TEST_CASE("the prefilter follows its plan and chooses the bytes of unplanned anchors itself", "[prefilter]") {
  const std::vector<Placement> plan{{0, 3}, {4, 3}};
  const Prefilter filter({"memory", "max_memory", "step"}, {false, false, true}, {.placements = plan});
  const std::string text = "max_memory Memory STEP";
  CHECK(scanned(filter, text, 0, text.size()) == Hits{{0, 1}, {4, 0}, {18, 2}});
  PrefilterWork work;
  std::vector<AnchorHit> hits;
  filter.scan(text, 0, text.size(), hits, &work);
  CHECK(work.fingerprints >= 2);
  CHECK(work.candidates >= work.fingerprints);
  CHECK(work.comparisons >= work.fingerprints);
}

TEST_CASE("the tables of the shipped plan are those of its placements", "[prefilter]") {
  const Anchors anchors = collect_anchors(all_parsers());
  const PrefilterPlan& plan = shipped_prefilter_plan();
  const Prefilter made(anchors.text, anchors.fold_case, {.placements = plan.placements});
  const PrefilterTables &a = made.tables(), &b = *plan.tables;
  const auto bytes = [](const auto& list) { return std::as_bytes(std::span(list)); };
  const auto equal = [&](const auto& x, const auto& y) { return std::ranges::equal(bytes(x), bytes(y)); };
  CHECK(equal(std::span(&a.fingerprints, 1), std::span(&b.fingerprints, 1)));
  CHECK(equal(a.first_entry, b.first_entry));
  CHECK(equal(a.ends, b.ends));
  CHECK(equal(a.entries, b.entries));
  CHECK(equal(a.pieces, b.pieces));
  CHECK(a.longest == b.longest);
  CHECK(a.longest_shift == b.longest_shift);
  CHECK(std::ranges::equal(plan.mentions, anchors.mentions));
}

TEST_CASE("the shipped plan covers every anchor of the shipped parsers and passes few candidates of its own text",
          "[prefilter]") {
  const Anchors anchors = collect_anchors(all_parsers());
  const PrefilterPlan& plan = shipped_prefilter_plan();
  REQUIRE(plan.placements.size() == anchors.text.size());
  std::string text;
  for (const std::string_view anchor : anchors.text)
    (text += anchor) += "\nepoch 3: 17 of 200 batches, 0.31 s each, 2 workers wait for the next shard\n";
  const auto work_of = [&](const Prefilter& filter) {
    PrefilterWork work;
    std::vector<AnchorHit> hits;
    filter.scan(text, 0, text.size(), hits, &work);
    for (std::uint32_t a = 0; a < anchors.text.size(); ++a)
      if (std::none_of(hits.begin(), hits.end(), [&](const AnchorHit& h) { return h.anchor == a; }))
        FAIL("not found: " << anchors.text[a]);
    return work;
  };
  // The text that the plan was made for. On any other line the rate changes at random with every new anchor.
  const std::size_t strange = text.size();
  for (const auto& log : testing::sample_logs()) text += testing::read_file(log);
  const PrefilterWork planned = work_of(Prefilter(anchors.text, anchors.fold_case, plan));
  const PrefilterWork unplanned = work_of(Prefilter(anchors.text, anchors.fold_case));
  CHECK(planned.candidates < strange / 4 + (text.size() - strange) / 12);
  CHECK(planned.candidates + planned.fingerprints < unplanned.candidates + unplanned.fingerprints);
}

TEST_CASE("letter case counts only for anchors that ask for it", "[prefilter]") {
  const Prefilter filter({"Killed", "MemoryError"}, {false, true});
  const std::string text = "killed KILLED memoryerror MEMORYERROR MemoryError";
  CHECK(scanned(filter, text, 0, text.size()) == Hits{{14, 1}, {26, 1}, {38, 1}});
}

TEST_CASE("cutting a text anywhere neither loses nor doubles a hit", "[prefilter]") {
  const Prefilter filter({"out of memory", "memory"}, {false, false});
  const std::string text = "x out of memory out of memory y";
  const Hits whole = scanned(filter, text, 0, text.size());
  REQUIRE(whole.size() == 4);
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    Hits parts = scanned(filter, text, 0, cut);
    const Hits rest = scanned(filter, text, cut, text.size());
    parts.insert(parts.end(), rest.begin(), rest.end());
    CHECK(parts == whole);
  }
}

TEST_CASE("a search keeps earlier hits, finds nothing in short texts and refuses short anchors", "[prefilter]") {
  const Prefilter filter({"memory"}, {false});
  std::vector<AnchorHit> hits{{99, 5}};
  filter.scan("memory", 0, 6, hits);
  REQUIRE(hits.size() == 2);
  CHECK(hits[0].offset == 99);
  CHECK(scanned(filter, "", 0, 0).empty());
  CHECK(scanned(filter, "mem", 0, 3).empty());
  CHECK_THROWS_AS(Prefilter({"abc"}, {false}), std::logic_error);
}

}  // namespace oomdoctor
