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

TEST_CASE("a group that matched an empty text is present", "[pattern]") {
  Captures c;
  REQUIRE(Regex("a(b*)c").search("ac", c) == Search::found);
  CHECK(c.has(1));
  CHECK(c.group[1].empty());
}

TEST_CASE("a search starts at the given position", "[pattern]") {
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

TEST_CASE("a match starts at the given position, and sees the text before it", "[pattern]") {
  const Regex word("\\bkill");
  const std::string text = "kill skill kill";
  Captures c;
  CHECK(word.match(text, c, 0) == Search::found);
  CHECK(word.match(text, c, 1) == Search::absent);
  CHECK(word.match(text, c, 6) == Search::absent);
  REQUIRE(word.match(text, c, 11) == Search::found);
  CHECK(c.end == 15);
}

TEST_CASE("a match that starts inside a text sees the text before it", "[pattern]") {
  Captures c;
  const std::string text = "one\nx_key key";
  for (const Steps steps : {Steps::free, Steps::counted}) {
    const Regex none_before("(?<![\\w-])key", steps), one_before("(?<=x_)key", steps), front("^x", steps);
    CHECK(none_before.match(text, c, 6) == Search::absent);
    CHECK(none_before.match(text, c, 10) == Search::found);
    CHECK(one_before.match(text, c, 6) == Search::found);
    REQUIRE(none_before.search(text, c, 5) == Search::found);
    CHECK(c.begin == 10);
    CHECK(front.match(text, c, 4) == Search::absent);  // of a line, not of the text
  }
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

TEST_CASE("a pattern with exponential cost reports it", "[pattern]") {
  const Regex regex("(x+x+)+y");
  Captures c;
  Search result = Search::found;
  CHECK_NOTHROW(result = regex.search(std::string(2000, 'x') + "z", c));
  CHECK(result == Search::too_costly);
  CHECK(regex.search("xxy", c) == Search::found);
}

TEST_CASE("a user's regex stops after a number of steps that only the text determines", "[pattern]") {
  std::string expression;
  for (int i = 0; i < 30; ++i) expression += "a?";
  expression += "a{30}";
  const Regex counted(expression, Steps::counted);
  Captures c;
  CHECK(counted.search(std::string(29, 'a'), c) == Search::too_costly);
  CHECK(counted.search(std::string(60, 'a'), c) == Search::found);
  CHECK(c.end == 60);

  // The result is the same as without a limit.
  const std::string line = "it=40 loss=2.8 gpu_resident=5120.5 MiB, it=41 loss=2.7 gpu_resident=5121 MiB";
  for (const char* words :
       {R"(it=(\d{1,9}) .{0,80}gpu_resident=([\d.]{1,12}))", R"(resident=(\d+)(\.\d+)?)", "(?<=loss=)2", "no"}) {
    CAPTURE(words);
    const Regex free(words), limited(words, Steps::counted);
    for (const std::size_t from : {0u, 1u, 40u, 76u}) {
      Captures a, b;
      CHECK(free.search(line, a, from) == limited.search(line, b, from));
      CHECK(a.begin == b.begin);
      CHECK(a.end == b.end);
      CHECK((a.group == b.group));
    }
  }

  // A long line gets more steps: the search starts at every byte.
  const Regex wide(".{0,80}needle", Steps::counted);
  CHECK(wide.search(std::string(max_window, '.'), c) == Search::absent);
}

TEST_CASE("invalid regexes are refused", "[pattern]") {
  CHECK_THROWS_AS(Regex("("), std::logic_error);
  CHECK_NOTHROW(Regex("()()()()()()()()()()()"));
  CHECK_THROWS_AS(Regex("()()()()()()()()()()()()"), std::logic_error);
}

}  // namespace oomdoctor
