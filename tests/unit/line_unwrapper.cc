#include "text/line_unwrapper.h"

#include "catch.h"
#include "read/window.h"

namespace oomdoctor {
namespace {

/// Four lines of 74 columns and a short one.
const std::string steps =
    "2025-01-05 11:22:11 step 1 | loss 2.911 | gpu memory allocated 5.125 GiB00\n"
    "2025-01-05 11:22:12 step 2 | evaluation 2.4 | gpu memory reserved 5.25 GiB\n"
    "saved\n"
    "2025-01-05 11:22:13 step 3 | accuracy 0.713 | mean token accuracy 0.375411\n"
    "2025-01-05 11:22:14 step 4 | gradient norm 2.65000 | learning rate 0.00012\n";

std::string broken_at(std::size_t width, const std::string& end) {
  std::string out;
  std::size_t column = 0;
  for (const char c : steps) {
    if (c != '\n' && column == width) out += end, column = 0;
    ++column;
    if (c == '\n')
      out += end, column = 0;
    else
      out += c;
  }
  return out;
}

struct Read {
  std::string text;
  std::vector<std::size_t> removed_breaks;
  std::size_t width;
};

Read all(const std::string& text, std::size_t chunk) {
  Source source = Source::of_text("log", text);
  LineUnwrapper console(source);
  UnwrappedText text_read;
  while (console.read(text_read, chunk)) continue;
  return {std::string(text_read.bytes.text()), text_read.removed_breaks, console.width()};
}

}  // namespace

TEST_CASE("broken lines are joined again") {
  for (const std::string end : {"\n", "\r\n"})
    for (const std::size_t width : {60u, 63u, 66u}) {
      CAPTURE(width);
      const Read read = all(broken_at(width, end), 1 << 20);
      CHECK(read.width == width);
      const std::size_t line = 74 + end.size(), saved = 5 + end.size();
      CHECK(read.removed_breaks ==
            std::vector<std::size_t>{width, line + width, 2 * line + saved + width, 3 * line + saved + width});
      std::string whole;
      for (const char c : steps) c == '\n' ? whole += end : whole += c;
      CHECK(read.text == whole);
    }
}

TEST_CASE("lines keep their numbers in the file") {
  const std::string text = broken_at(60, "\n");
  Source source = Source::of_text("log", text);
  LineUnwrapper console(source);
  UnwrappedText whole;
  while (console.read(whole, 1 << 20)) continue;
  const Window window(whole.bytes.text(), whole.removed_breaks);
  const std::size_t third = whole.bytes.text().find("step 3");
  const i64 number = 1 + window.line_ends(0, third);
  const Line line = window.line_around(third, number);
  CHECK(line.number == 6);
  CHECK(line.last == 7);
  CHECK(window.previous(line)->number == 5);
  CHECK(window.next(line)->number == 8);
  // From a position after the break, the line still begins at its first byte.
  const std::size_t late = whole.bytes.text().find("411");
  CHECK(window.line_around(late, 1 + window.line_ends(0, late)).number == 6);
}

TEST_CASE("the width counts characters, without colours") {
  std::string text = broken_at(60, "\n");
  const auto replace = [&](std::string_view what, std::string_view with) {
    text.replace(text.find(what), what.size(), with);
  };
  replace("loss", "\x1b[1mloss\x1b[0m");
  replace("step 3", "st\xC3\xA9p 3");
  replace("step 4", "\xE6\xAD\xA5\xE9\xAA\xA4\xE4\xB8\xAD\xE6\xAD\xA5 4");
  CHECK(find_console_form(text).width == 60);
}

TEST_CASE("a text that no console wrapped stays unchanged") {
  // Rows of one length, a box, a ruler, a message with a first line as wide as a console.
  const std::string rows =
      "2023/05/01 12:00:00.123, 0, NVIDIA H100 80GB HBM3, 87 %, 21518 MiB, 81559 MiB\n"
      "2023/05/01 12:00:10.123, 0, NVIDIA H100 80GB HBM3, 88 %, 21520 MiB, 81559 MiB\n"
      "2023/05/01 12:00:20.124, 0, NVIDIA H100 80GB HBM3, 91 %, 21522 MiB, 81559 MiB\n"
      "2023/05/01 12:00:30.124, 0, NVIDIA H100 80GB HBM3, 9 %, 21524 MiB, 81559 MiB\n";
  const std::string box =
      "+------------------------------------------------------+\n"
      "| a table that somebody drew with walls on either side |\n"
      "| its rows are as wide as each other, all of them here |\n"
      "+------------------------------------------------------+\n";
  const std::string ruler = std::string(80, '-') + "\nall done\n" + std::string(80, '-') + "\nall saved\n";
  const std::string message =
      "some.errors.RuntimeProblem: RESOURCE_EXHAUSTED: the compiler gave up on this one\nRan out.\n";
  REQUIRE(message.find('\n') == 80);
  for (const std::string& text : {rows, box, ruler, message, std::string()}) {
    CAPTURE(text);
    CHECK(find_console_form(text).width == 0);
    CHECK(all(text, 1 << 20).text == text);
  }
}

TEST_CASE("a blank after a last word and a line between rows are no breaks") {
  const std::string stopped =
      "RuntimeError: DataLoader worker (pid 7182) is killed by signal: Killed. \nrun.sh: line 12: stopped\n";
  const std::string rows =
      "mem avail:  4120 of 32010 MiB (12 %), swap free:  811 of 2047 MiB (39 %)\n"
      "mem avail:  4118 of 32010 MiB (12 %), swap free:  810 of 2047 MiB (39 %)\n"
      "mem avail:  4117 of 32010 MiB (12 %), swap free:  806 of 2047 MiB (39 %)\n";
  REQUIRE(stopped.find('\n') == 72);
  REQUIRE(rows.find('\n') == 72);
  CHECK(find_console_form(stopped).width == 0);
  // A whole size is not a broken word.
  const std::string refused =
      "RuntimeError: CUDA out of memory. Tried to allocate 1.75 GiB\nsrun: error: task 0 ended\n";
  REQUIRE(refused.find('\n') == 60);
  CHECK(find_console_form(refused).width == 0);
  CHECK(find_console_form(rows + "...\n" + rows + "...\n").width == 0);
}

TEST_CASE("a row that was filled with blanks goes on in no other row") {
  const auto padded = [](std::string row) { return row.append(60 - row.size(), ' ') + '\n'; };
  const std::string message = "(raylet) node_manager.cc: 3 Workers killed due to memory pre";
  const std::string rest = "ssure (OOM), 0 Workers crashed due to other reasons at the n";
  REQUIRE(message.size() == 60);
  REQUIRE(rest.size() == 60);
  const std::string last = padded("ode, the 7th");
  const Read read = all(padded("an error.") + message + '\n' + rest + '\n' + last + padded("(raylet)"), 1 << 20);
  CHECK(read.width == 60);
  CHECK(read.text == padded("an error.") + message + rest + last + padded("(raylet)"));
}

TEST_CASE("a wrapped text is joined the same way in pieces of any size") {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += broken_at(66, "\r\n");
  const Read whole = all(text, 1 << 22);
  CHECK(whole.removed_breaks.size() == 4 * 3000);
  for (const std::size_t chunk : {4093u, 65536u}) {
    const Read parts = all(text, chunk);
    CHECK(parts.text == whole.text);
    CHECK(parts.removed_breaks == whole.removed_breaks);
  }
}

}  // namespace oomdoctor
