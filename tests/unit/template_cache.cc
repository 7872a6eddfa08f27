#include "scan/template_cache.h"

#include <array>
#include <string>

#include "catch.h"
#include "forged_hash.h"

namespace oomdoctor {
namespace {

const std::string front(line_front, 'x');

std::string line_with(const std::string& number) { return front + " loss=" + number + " mem=9 GB"; }

/// Another word before the number for each `i`.
std::string prose(int i) {
  std::string name;
  for (; i > 0; i /= 26) name.push_back(static_cast<char>('a' + i % 26));
  return name + " 9 GB";
}

/// A template whose only match reads the number after "mem=".
LineTemplate shape_of(const std::string& line, const NumberSpans* runs) {
  const std::size_t at = line.find("9 GB");
  LineTemplate shape;
  TemplateMatch& take = shape.accepts.emplace_back();
  take.numbers.push_back({0, static_cast<std::uint32_t>(at), runs != nullptr ? runs->find_place(at) : FormPlace{}});
  return shape;
}

/// Looks the line up, and stores a template of it if the cache asks for one.
KnownTemplate meet(TemplateCache& memo, const std::string& line, Lengths lengths) {
  const KnownTemplate known = memo.find({line});
  if (memo.wanted()) memo.keep(shape_of(line, memo.runs()), lengths);
  return known;
}

}  // namespace

TEST_CASE("a template is stored when its line recurs", "[line_memo]") {
  TemplateCache memo;
  const std::string line = "step 12 | mem=9 GB";
  CHECK(meet(memo, line, Lengths::differ).shape == nullptr);
  CHECK(meet(memo, line, Lengths::differ).shape == nullptr);
  const KnownTemplate known = memo.find({"step 45 | mem=7 GB"});
  REQUIRE(known.shape != nullptr);
  CHECK(known.at(known.shape->accepts[0].numbers[0]) == line.find("9 GB"));
  CHECK(memo.find({"step 123 | mem=9 GB"}).shape == nullptr);
}

TEST_CASE("a template applies to lines whose free numbers have other lengths", "[line_memo]") {
  TemplateCache memo;
  for (const char* number :
       {"1.25", "10.25", "100.5"})  // the front is met first, then the form, then the template is stored
    CHECK(meet(memo, line_with(number), Lengths::alike).shape == nullptr);
  for (const char* number : {"7.125", "7.125", "123456.7", "1.25"}) {
    CAPTURE(number);
    const std::string line = line_with(number);
    const KnownTemplate known = memo.find({line});
    REQUIRE(known.shape != nullptr);
    CHECK(known.at(known.shape->accepts[0].numbers[0]) == line.find("9 GB"));
  }
  CHECK(memo.find({line_with("7")}).shape == nullptr);     // no point
  CHECK(memo.find({line_with("7e-5")}).shape == nullptr);  // an exponent
}

TEST_CASE("a line that was forged to have the hash of a known one does not match its template", "[line_memo]") {
  TemplateCache memo;
  for (const char* number : {"1.25", "10.25", "100.5", "100.5", "100.5"}) meet(memo, line_with(number), Lengths::alike);
  const std::string known = line_with("100.5");
  CHECK(memo.find({known}).shape != nullptr);
  CHECK(memo.find({testing::with_same_hash(known)}).shape == nullptr);
  const std::string plain = std::string(70, 'y') + " 9 GB";
  for (int i = 0; i < 3; ++i) meet(memo, plain, Lengths::differ);
  CHECK(memo.find({plain}).shape != nullptr);
  CHECK(memo.find({testing::with_same_hash(plain)}).shape == nullptr);
}

TEST_CASE("if lengths matter, a template applies to its own lengths only", "[line_memo]") {
  TemplateCache memo;
  for (const char* number : {"1.25", "10.25", "100.5"})
    CHECK(meet(memo, line_with(number), Lengths::differ).shape == nullptr);
  CHECK(memo.find({line_with("200.7")}).shape != nullptr);
  CHECK(memo.find({line_with("20.7")}).shape == nullptr);
}

TEST_CASE("templates stay known while the tables grow", "[line_memo]") {
  TemplateCache memo;
  constexpr int lines = 1500;
  for (int round = 0; round < 4; ++round)
    for (int i = 0; i < lines; ++i) meet(memo, prose(i), Lengths::differ);
  int known = 0;
  for (int i = 0; i < lines; ++i) {
    CAPTURE(i);
    const std::string line = prose(i);
    const KnownTemplate found = memo.find({line});
    if (found.shape == nullptr) continue;
    ++known;
    CHECK(found.at(found.shape->accepts[0].numbers[0]) == line.find("9 GB"));
  }
  CHECK(known > 0.95 * lines);  // two lines whose hashes collide may displace each other
}

TEST_CASE("the cache stays bounded", "[line_memo]") {
  TemplateCache memo;
  constexpr int lines = 5000;
  int known = 0;
  for (int round = 0; round < 3; ++round) {
    known = 0;
    for (int i = 0; i < lines; ++i) known += meet(memo, prose(i), Lengths::differ).shape != nullptr;
  }
  CHECK(known > 1000);
  CHECK(known < lines);
}

TEST_CASE("a template is known without a search only if nothing else can be on its lines", "[line_memo]") {
  const std::string line = front + " step 12 | mem=9 GB";
  for (const bool fixed : {true, false})
    for (const bool raw : {true, false}) {
      CAPTURE(fixed, raw);
      TemplateCache memo;
      CHECK(memo.find_unsearched(line).shape == nullptr);
      for (int i = 0; i < 3; ++i) {
        memo.find({line, {}, raw});
        LineTemplate shape = shape_of(line, memo.runs());
        shape.anchors_fixed = fixed;
        if (memo.wanted()) memo.keep(std::move(shape), Lengths::differ);
      }
      CHECK(memo.find({line}).shape != nullptr);
      CHECK((memo.find_unsearched(line).shape != nullptr) == (fixed && raw));
      CHECK(memo.find_unsearched(front + " step 12 | mem=19 GB").shape == nullptr);
    }
}

TEST_CASE("a template serves only lines whose anchors lead to the same formats", "[line_memo]") {
  const std::string line = "step 12 | mem=9 GB";
  const int places[2] = {};  // two formats, as their addresses only
  const auto* const one = reinterpret_cast<const CompiledFormat*>(&places[0]);
  const auto* const two = reinterpret_cast<const CompiledFormat*>(&places[1]);
  TemplateCache memo;
  for (int i = 0; i < 3; ++i) {
    memo.find({line, std::array{one}});
    LineTemplate shape = shape_of(line, memo.runs());
    shape.tried = {one};
    if (memo.wanted()) memo.keep(std::move(shape), Lengths::differ);
  }
  CHECK(memo.find({line, std::array{one}}).shape != nullptr);
  CHECK(memo.find({line, std::array{two}}).shape == nullptr);
  CHECK_FALSE(memo.wanted());
  CHECK(memo.find({line, std::array{one, two}}).shape == nullptr);
  CHECK(memo.find({line}).shape == nullptr);
}

TEST_CASE("fronts that were looked up in vain are looked up rarely, until one is found", "[line_memo]") {
  LookUpChances chances;
  const auto looked_up = [&](const std::string& line, int lines, bool found) {
    int count = 0;
    for (int i = 0; i < lines; ++i)
      if (chances.are_good(line)) chances.count(found), ++count;
    return count;
  };
  const std::string prose = "a sentence that no format reads, of any length";
  CHECK(looked_up(prose, 10'000, false) < 200);
  CHECK(looked_up(prose, 10'000, false) > 20);
  CHECK(looked_up("2026-01-05 10:00:00,125 INFO step 7 | allocated", 1000, true) == 1000);
  CHECK(looked_up(prose, 1000, true) > 700);
  CHECK(looked_up("short", 10, true) == 0);
}

}  // namespace oomdoctor
