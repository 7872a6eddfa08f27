#include "text/line_index.h"

#include <algorithm>
#include <random>
#include <string>

#include "catch.h"
#include "every_target.h"
#include "text/lines.h"

namespace oomdoctor {
namespace {

bool ends_line(char c) { return c == '\n' || c == '\r'; }

i64 count_feeds(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

/// Mostly line ends and letters, with an escape or a NUL byte now and then.
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
      CHECK(index.feeds(0, text.size()) == count_feeds(text));
      for (int i = 0; i < 20; ++i) {
        const std::size_t at = engine() % (text.size() + 1), from = engine() % (at + 1);
        const std::size_t to = at + engine() % (text.size() - at + 1);
        std::size_t begin = at, end = at;
        while (begin > from && !ends_line(text[begin - 1])) --begin;
        while (end < to && !ends_line(text[end])) ++end;
        CHECK(index.find_begin(at, from) == begin);
        CHECK(index.find_end(at, to) == end);
        CHECK(index.feeds(0, at) + index.feeds(at, text.size()) == index.feeds(0, text.size()));
      }
    }
  });
}

TEST_CASE("lines are counted by their line feeds alone", "[line_index]") {
  const auto feeds = [](const std::string& text) { return LineIndex(text).feeds(0, text.size()); };
  CHECK(feeds("") == 0);
  CHECK(feeds("a") == 0);
  CHECK(feeds("a\nb\n") == 2);
  CHECK(feeds("a\r\nb\r\n") == 2);
  CHECK(feeds("10%\r20%\r100%\n") == 1);
  CHECK(feeds("a\r\r\nb") == 1);
  CHECK(feeds("\n\r") == 1);
  CHECK(feeds("cut\r") == 0);
}

TEST_CASE("a pair of line end bytes ends at its second byte", "[line_index]") {
  const LineIndex index("a\r\nb\rc\n");
  CHECK(index.feeds(0, 2) == 0);
  CHECK(index.feeds(0, 3) == 1);
  CHECK(index.feeds(3, 5) == 0);
  CHECK(index.find_end(0, 7) == 1);
  CHECK(index.find_begin(3, 0) == 3);
}

}  // namespace oomdoctor
