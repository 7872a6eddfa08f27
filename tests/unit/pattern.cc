#include "text/pattern.h"

#include <stdexcept>
#include <string>

#include "catch.h"

namespace oomdoctor {

TEST_CASE("captures are views into the text", "[pattern]") {
  const Regex regex("allocate ([0-9.]+) (?:(GiB)|(MiB))( now)?");
  CHECK(regex.captures() == 4);
  const std::string text = "Tried to allocate 20.00 MiB.";
  Captures c;
  REQUIRE(regex.search(text, c) == Search::found);
  CHECK(c.group[0] == "allocate 20.00 MiB");
  CHECK(c.begin == 9);
  CHECK(c.end == 27);
  CHECK(c.group[1] == "20.00");
  CHECK(c.group[1].data() == text.data() + 18);
  CHECK_FALSE(c.has(2));
  CHECK(c.has(3));
  CHECK_FALSE(c.has(4));
}

TEST_CASE("a group that took part with nothing is there", "[pattern]") {
  Captures c;
  REQUIRE(Regex("a(b*)c").search("ac", c) == Search::found);
  CHECK(c.has(1));
  CHECK(c.group[1].empty());
}

TEST_CASE("a search goes on from where it is told", "[pattern]") {
  const Regex word("\\bkill");
  const std::string text = "kill skill kill";
  Captures c;
  REQUIRE(word.search(text, c, 1) == Search::found);
  CHECK(c.begin == 11);
  REQUIRE(word.search(text, c, 6) == Search::found);  // "kill" in "skill" begins there, but not as a word
  CHECK(c.begin == 11);
  CHECK(word.search(text, c, 12) == Search::absent);
  CHECK(word.search(text, c, text.size()) == Search::absent);
  CHECK(word.search(text, c, text.size() + 5) == Search::absent);
}

TEST_CASE("a match begins where it is told, and looks behind", "[pattern]") {
  const Regex word("\\bkill");
  const std::string text = "kill skill kill";
  Captures c;
  CHECK(word.match(text, c, 0) == Search::found);
  CHECK(word.match(text, c, 1) == Search::absent);
  CHECK(word.match(text, c, 6) == Search::absent);
  REQUIRE(word.match(text, c, 11) == Search::found);
  CHECK(c.end == 15);
}

TEST_CASE("a regex sees a bounded window", "[pattern]") {
  const Regex regex("needle");
  Captures c;
  const std::string text = std::string(max_window - 6, '.') + "needle";
  CHECK(regex.search(text, c) == Search::found);
  CHECK(regex.search("." + text, c) == Search::absent);
  CHECK(regex.search("." + text, c, 1) == Search::found);
  CHECK(c.begin == max_window - 5);
}

TEST_CASE("a pattern that runs away says so", "[pattern]") {
  const Regex regex("(x+x+)+y");
  Captures c;
  Search result = Search::found;
  CHECK_NOTHROW(result = regex.search(std::string(2000, 'x') + "z", c));
  CHECK(result == Search::too_costly);
  CHECK(regex.search("xxy", c) == Search::found);
}

TEST_CASE("broken expressions are refused", "[pattern]") {
  CHECK_THROWS_AS(Regex("("), std::logic_error);
  CHECK_NOTHROW(Regex("()()()()()()()()()()()"));
  CHECK_THROWS_AS(Regex("()()()()()()()()()()()()"), std::logic_error);
}

}  // namespace oomdoctor
