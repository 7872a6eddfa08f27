#include "text/prefilter.h"

#include <algorithm>
#include <random>
#include <stdexcept>

#include "catch.h"

namespace oomdoctor {
namespace {

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

TEST_CASE("every anchor is found at every offset", "[prefilter]") {
  const std::vector<std::string> anchors{"out of memory", "oom-kill", "Killed", "1234", "MemoryError", "Error"};
  const Prefilter filter(anchors, {false, false, false, false, false, false});
  for (std::size_t a = 0; a < anchors.size(); ++a)
    for (std::size_t offset = 0; offset < 70; ++offset) {
      const std::string text = std::string(offset, '.') + anchors[a] + std::string(offset % 5, '.');
      const Hits hits = scanned(filter, text, 0, text.size());
      CHECK(std::count(hits.begin(), hits.end(), std::pair{offset, static_cast<std::uint32_t>(a)}) == 1);
    }
}

TEST_CASE("the prefilter agrees with a naive search", "[prefilter]") {
  std::mt19937 random(7);
  const std::string letters = "aAbB \n0\xC3";
  const auto pick = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  const auto text_of = [&](std::size_t n) {
    std::string out;
    while (out.size() < n) out.push_back(letters[pick(letters.size())]);
    return out;
  };
  std::size_t found = 0;
  for (int round = 0; round < 200; ++round) {
    const std::string text = text_of(1 + pick(400));
    std::vector<std::string> anchors;
    std::vector<bool> fold;
    for (int a = 0; a < 12; ++a) {
      // Half of them are cut from the text, so that long ones occur too.
      const std::string cut = text.substr(pick(text.size()), 4 + pick(9));
      anchors.push_back(a % 2 == 0 && cut.size() >= 4 ? cut : text_of(4 + pick(3)));
      fold.push_back(pick(2) == 1);
    }
    const Prefilter filter(anchors, fold);
    const std::size_t begin = pick(text.size()), end = begin + pick(text.size() - begin + 1);
    const Hits expected = naive(anchors, fold, text, begin, end);
    CAPTURE(round, begin, end, text.size());
    CHECK(scanned(filter, text, begin, end) == expected);
    found += expected.size();
  }
  CHECK(found > 200);
}

TEST_CASE("letter case counts only where it is meant to", "[prefilter]") {
  const Prefilter filter({"Killed", "MemoryError"}, {false, true});
  const std::string text = "killed KILLED memoryerror MEMORYERROR MemoryError";
  CHECK(scanned(filter, text, 0, text.size()) == Hits{{14, 1}, {26, 1}, {38, 1}});
}

TEST_CASE("cuts at any place lose and double nothing", "[prefilter]") {
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

TEST_CASE("earlier hits are kept, short texts are quiet, short anchors refused", "[prefilter]") {
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
