#include "read/window.h"

#include "catch.h"

namespace oomdoctor {
namespace {

std::vector<std::string> walk(const Window& window, Line line, bool forward) {
  std::vector<std::string> out;
  for (auto at = forward ? window.next(line) : window.previous(line); at;
       at = forward ? window.next(*at) : window.previous(*at))
    out.push_back(std::to_string(at->number).append(at->text));
  return out;
}

using Texts = std::vector<std::string>;

/// The messages of the lines that the cursor visits, up to the message `last`.
Texts visited(const Cursor& cursor, void (Cursor::*walk)(int, const std::function<bool(const Line&)>&) const, int most,
              std::string_view last = "none") {
  Texts out;
  (cursor.*walk)(most, [&](const Line& line) {
    out.emplace_back(line.body());
    return line.body() != last;
  });
  return out;
}

}  // namespace

TEST_CASE("a line is found from any of its bytes", "[window]") {
  const std::string text = "first\n\x1b[1m[rank2]: second\x1b[0m\nthird";
  const Window window(text);
  for (std::size_t at = 6; at < text.find("third"); ++at) {
    const Line line = window.line_around(at, 2);
    CHECK(line.text == "[rank2]: second");
    CHECK(line.body() == "second");
    CHECK(line.prefix.rank == 2);
    CHECK(line.number == 2);
    CHECK(line.begin == 6);
  }
  CHECK(window.line_around(text.size() - 1, 3).text == "third");
}

TEST_CASE("neighbours are the same with every kind of line end", "[window]") {
  for (const std::string end : {"\n", "\r\n"}) {
    const std::string text = "a" + end + "b" + end + end + "d" + end;
    CAPTURE(text);
    const Window window(text);
    const Line line = window.line_around(text.find('b'), 2);
    CHECK(walk(window, line, true) == Texts{"3", "4d"});
    CHECK(walk(window, line, false) == Texts{"1a"});
    const Line last = window.line_around(text.find('d'), 4);
    CHECK(walk(window, last, true).empty());
    CHECK(walk(window, last, false) == Texts{"3", "2b", "1a"});
  }
  const std::string redrawn = "a\rb\r\rd\r\ne";  // pieces of a redrawn line share its number
  const Window window(redrawn);
  const Line line = window.line_around(redrawn.find('b'), 2);
  CHECK(walk(window, line, true) == Texts{"2", "2d", "3e"});
  CHECK(walk(window, line, false) == Texts{"2a"});
}

TEST_CASE("a long line shows the piece around the position", "[window]") {
  const std::string text = "before\n" + std::string(100000, 'x') + "needle" + std::string(100000, 'y') + "\nafter";
  const Window window(text);
  const Line line = window.line_around(text.find("needle"), 2);
  CHECK(line.text.size() <= Window::max_line);
  CHECK(line.text.find("needle") != std::string::npos);
  CHECK(line.text.size() >= Window::max_line / 2);
  CHECK_FALSE(window.next(line));  // the end of the line is outside the window
  CHECK_FALSE(window.previous(line));
}

TEST_CASE("lines of other ranks are skipped", "[window]") {
  const std::string text =
      "[rank0]: a\n[rank1]: x\nuntagged\n[rank0]: hit\n[rank1]: y\n[rank0]: b\n(P pid=7) c\n[rank2]: z\n[rank0]: d\n";
  const Window window(text);
  const Line line = window.line_around(text.find("hit"), 4);
  const Cursor cursor(window, line);
  CHECK(visited(cursor, &Cursor::forward, 10) == Texts{"b", "c", "d"});
  CHECK(visited(cursor, &Cursor::backward, 10) == Texts{"untagged", "a"});
  CHECK(visited(cursor, &Cursor::forward, 2) == Texts{"b", "c"});
  CHECK(visited(cursor, &Cursor::forward, 10, "b") == Texts{"b"});
}

TEST_CASE("lines of other processes are skipped", "[window]") {
  const std::string text = "(P pid=7) a\n(P pid=8) x\nuntagged\n(P pid=7) hit\n(P pid=8) y\n(P pid=7) b\n[rank1]: c\n";
  const Window window(text);
  const Line line = window.line_around(text.find("hit"), 4);
  const Cursor cursor(window, line);
  CHECK(visited(cursor, &Cursor::forward, 10) == Texts{"b", "c"});
  CHECK(visited(cursor, &Cursor::backward, 10) == Texts{"untagged", "a"});
}

TEST_CASE("a walk over texts visits the same lines", "[window]") {
  for (const std::string end : {"\n", "\r\n", "\r"}) {
    std::string text;
    for (const std::string line :
         {"[rank0]: a", "[rank1]: b", "", "\x1b[1m(P pid=7) c\x1b[0m", "12:00:01 d", "(P pid=8) e"})
      for (int again = 0; again < 9; ++again) text += line + end;
    text += std::string(100'000, 'x') + end + "f" + end;
    CAPTURE(end);
    const Window window(text);
    for (std::size_t at = 0; at < text.size(); at += at < 600 || at > 99'900 ? 3 : 5000)
      for (const int most : {0, 1, 3, 20, 60}) {
        const Line line = window.line_around(at, 1);
        Texts lines, texts;
        Cursor(window, line).backward(most, [&](const Line& before) {
          lines.emplace_back(before.text);
          return lines.size() != 33;
        });
        Cursor(window, line).backward_texts(most, [&](std::string_view before) {
          texts.emplace_back(before);
          return texts.size() != 33;
        });
        CAPTURE(at, most);
        CHECK(texts == lines);
      }
  }
}

TEST_CASE("a wrapped message is joined without blanks", "[window]") {
  for (const std::string end : {"\n", "\r\n"}) {
    const std::string text = "far" + end + end + "one t" + end + "wo  th" + end + "ree" + end + "  " + end + "far";
    const Window window(text);
    const Line line = window.line_around(text.find("wo"), 4);
    const Joined joined = Cursor(window, line).joined(3, 9);
    CHECK(joined.text == "onetwothree");
    CHECK(joined.line_at(0).number == 3);
    CHECK(joined.line_at(3).number == 3);
    CHECK(joined.line_at(4).number == 4);
    CHECK(joined.line_at(7).number == 4);
    CHECK(joined.line_at(8).number == 5);
    CHECK(joined.line_at(100).number == 5);
    CHECK(Cursor(window, line).joined(0, 0).text == "woth");
  }
}

TEST_CASE("an endless line is cut at fixed positions of the text", "[window]") {
  const std::string text = "first\n" + std::string(300'000, 'x') + "\nlast\n";
  const std::size_t stop = 3 * Window::long_line;
  const Window whole(text);
  CHECK(whole.bounds_around(stop - 10).second == stop);
  CHECK(whole.bounds_around(stop).first == stop);
  CHECK(whole.end_of_line(stop - 10) == stop);
  CHECK(whole.cut(6, stop + 100) == stop);
  CHECK(whole.cut(6, 1000) == std::nullopt);
  CHECK(whole.cut(0, 1000) == 6);
  // The positions are the same in a block that begins anywhere.
  for (const std::size_t offset : {std::size_t{70'000}, stop - Window::margin}) {
    const Window part(std::string_view(text).substr(offset), {}, offset);
    CHECK(part.bounds_around(stop - offset).first == stop - offset);
    CHECK(part.bounds_around(stop - 1 - offset).second == stop - offset);
  }
  // Near the end of a line, the piece ends with the line.
  const std::size_t end = text.size() - 6;
  CHECK(whole.end_of_line(end - 100) == end);
}

}  // namespace oomdoctor
