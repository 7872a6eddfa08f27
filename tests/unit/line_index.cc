#include "text/line_index.h"

#include <random>
#include <string>

#include "catch.h"
#include "every_target.h"
#include "text/lines.h"

namespace oomdoctor {
namespace {

bool ends_line(char c) { return c == '\n' || c == '\r'; }

i64 count_ends(const std::string& text) {
  i64 n = 0;
  for (std::size_t i = 0; i < text.size(); ++i) n += text[i] == '\n' || (text[i] == '\r' && text[i + 1] != '\n');
  return n;
}

/// Mostly ends and letters, now and then an escape or a hole.
std::string random_text(std::mt19937& engine) {
  static const std::string letters = "ab\n\r\n\r12 x";
  std::string text(engine() % 300, ' ');
  for (char& c : text) c = letters[engine() % letters.size()];
  if (!text.empty() && engine() % 8 == 0) text[engine() % text.size()] = engine() % 2 == 0 ? '\0' : '\x1b';
  return text;
}

}  // namespace

TEST_CASE("an index answers as a search does, on every instruction set", "[line_index]") {
  testing::on_every_target([] {
    std::mt19937 engine(5);
    for (int round = 0; round < 400; ++round) {
      const std::string text = random_text(engine);
      const LineIndex index(text);
      CHECK(index.clean() == is_clean(text));
      CHECK(index.ends(0, text.size()) == count_ends(text));
      for (int i = 0; i < 20; ++i) {
        const std::size_t at = engine() % (text.size() + 1), from = engine() % (at + 1);
        const std::size_t to = at + engine() % (text.size() - at + 1);
        std::size_t begin = at, end = at;
        while (begin > from && !ends_line(text[begin - 1])) --begin;
        while (end < to && !ends_line(text[end])) ++end;
        CHECK(index.begin_of(at, from) == begin);
        CHECK(index.end_of(at, to) == end);
        CHECK(index.ends(0, at) + index.ends(at, text.size()) == index.ends(0, text.size()));
      }
    }
  });
}

TEST_CASE("line ends are counted once each", "[line_index]") {
  const auto ends = [](const std::string& text) { return LineIndex(text).ends(0, text.size()); };
  CHECK(ends("") == 0);
  CHECK(ends("a") == 0);
  CHECK(ends("a\nb\n") == 2);
  CHECK(ends("a\r\nb\r\n") == 2);
  CHECK(ends("10%\r20%\r100%\n") == 3);
  CHECK(ends("a\r\r\nb") == 2);
  CHECK(ends("\n\r") == 2);
  CHECK(ends("cut\r") == 1);
}

TEST_CASE("the second byte of a pair is the end", "[line_index]") {
  const LineIndex index("a\r\nb\rc\n");
  CHECK(index.ends(0, 2) == 0);
  CHECK(index.ends(0, 3) == 1);
  CHECK(index.ends(3, 5) == 1);
  CHECK(index.end_of(0, 7) == 1);
  CHECK(index.begin_of(3, 0) == 3);
}

}  // namespace oomdoctor
