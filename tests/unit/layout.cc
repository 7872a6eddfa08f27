#include "render/layout.h"

#include "catch.h"
#include "report/utf8.h"

using namespace oomdoctor;
using Lines = std::vector<std::string>;

TEST_CASE("columns count the cells that a terminal shows", "[layout]") {
  CHECK(count_columns("abc") == 3);
  CHECK(count_columns("Größe") == 5);
  CHECK(count_columns("内存") == 4);
  CHECK(count_columns("❌ ✓ 🔥") == 7);
  CHECK(count_columns("e\xcc\x81") == 1);
  CHECK(count_columns("ไม่พอ") == 4);
  CHECK(count_columns("\x1b[1;31mred\x1b[0m") == 3);
  CHECK(count_columns("\xff") == 1);
  CHECK(count_columns("") == 0);
}

TEST_CASE("text wraps at blanks and keeps its indent", "[layout]") {
  CHECK(wrap("- ", "one two three", 9) == Lines{"- one two", "  three"});
  CHECK(wrap("12345 ", "one two", 10, 2) == Lines{"12345 one", "  two"});
  CHECK(wrap("", "", 10) == Lines{""});
  CHECK(wrap("", "a\nb", 10) == Lines{"a", "b"});
}

TEST_CASE("a number stays with its unit, and a citation stays in one piece", "[layout]") {
  CHECK(wrap("", "saves 3.30 GiB", 10) == Lines{"saves", "3.30 GiB"});
  CHECK(wrap("", "a step 7.59 ± 0.44 MiB", 16) == Lines{"a step", "7.59 ± 0.44 MiB"});
  CHECK(wrap("", "it grew [line 1, 2]", 16) == Lines{"it grew", "[line 1, 2]"});
}

TEST_CASE("a word longer than a line is broken between characters", "[layout]") {
  CHECK(wrap("  ", "abcdefgh", 6) == Lines{"  abcd", "  efgh"});
  CHECK(wrap("", "内内内", 5) == Lines{"内内", "内"});
  for (const auto& line : wrap("                    ", std::string(300, 'x'), 20)) CHECK(count_columns(line) <= 20);
}

TEST_CASE("truncated text ends in a visible mark", "[layout]") {
  CHECK(clip_end("abcdef", 6) == "abcdef");
  CHECK(clip_end("abcdef", 4) == "abc…");
  CHECK(clip_front("abcdef", 4) == "…def");
  CHECK(clip_front("abc", 4) == "abc");
  CHECK(clip_middle("container node10-1", 12) == "containe…0-1");
  CHECK(clip_middle("abcdef", 6) == "abcdef");
}

TEST_CASE("a blank line separates a heading from the text above it", "[layout]") {
  Page page(80, Paint{});
  CHECK(page.empty());
  page.heading("first");
  page.lines({"a", "b"});
  page.heading("second");
  page.text("- ", "c");
  CHECK(page.str() == "first\na\nb\n\nsecond\n- c\n");
}

TEST_CASE("in ASCII, every character takes as many columns as before", "[layout]") {
  const std::string text = "── ▁▂█ 1.5 → 2.0 GiB (±0.1), 12 × 8, steps 1–9 │ − ÷ · …";
  const std::string ascii = in_ascii(text);
  CHECK(ascii == "-- _.# 1.5 > 2.0 GiB (~0.1), 12 x 8, steps 1-9 | - / . ~");
  CHECK(count_columns(ascii) == count_columns(text));
  CHECK(in_ascii("ä\xff\x1b[1m") == "??\x1b[1m");
  CHECK(in_ascii("").empty());
}
