#include "text/number_spans.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "catch.h"
#include "every_target.h"

namespace oomdoctor {
namespace {

const std::string front(line_front, 'x');

bool is_digit(char c) { return c >= '0' && c <= '9'; }

LineHash form_of(const std::string& line) {
  NumberSpans runs;
  REQUIRE(runs.find(line));
  return template_hash(runs.form());
}

/// The ends of the runs of digits, searched byte by byte.
std::vector<std::size_t> ends_of(const std::string& line) {
  std::vector<std::size_t> out;
  for (std::size_t i = 1; i <= line.size(); ++i)
    if (is_digit(line[i - 1]) && (i == line.size() || !is_digit(line[i]))) out.push_back(i);
  return out;
}

std::string line_of_chance(std::mt19937& engine) {
  static constexpr std::string_view others = " .=|(e:-/,_x";
  std::string line;
  for (std::size_t size = engine() % (NumberSpans::max_line_length + 1); line.size() < size;) {
    line.append(1 + engine() % 3, others[engine() % others.size()]);
    for (std::size_t n = engine() % 9; n > 0; --n) line.push_back(static_cast<char>('0' + engine() % 10));
  }
  return line.substr(0, NumberSpans::max_line_length);
}

}  // namespace

TEST_CASE("the length of a free number does not change the form, the length of a bound one does", "[digit_runs]") {
  testing::on_every_target([] {
    CHECK(form_of(front + " loss=1.25 mem 9 GB") == form_of(front + " loss=10.3 mem 812 GB"));
    CHECK(form_of(front + "|7|") == form_of(front + "|7777777|"));
    for (const std::string before : {"e-", "1:", "x", "_", "/", ",", "e+"})
      CHECK_FALSE(form_of(front + " a" + before + "5 b") == form_of(front + " a" + before + "55 b"));
    CHECK_FALSE(form_of("step 5 " + front) == form_of("step 55 " + front));  // at the front
    CHECK_FALSE(form_of(front + " 5") == form_of(front + " 5."));
    CHECK_FALSE(form_of(front + " 5") == form_of(front + " x"));
  });
}

TEST_CASE("the first free number", "[digit_runs]") {
  NumberSpans runs;
  const std::string line = "step 5 " + front + " v1 x:2 3/4 = 56";
  REQUIRE(runs.find(line));
  CHECK(line.substr(runs.first_free()) == "3/4 = 56");
  REQUIRE(runs.find(front));
  CHECK(runs.first_free() == front.size());
  REQUIRE(runs.find("12"));
  CHECK(runs.first_free() == 2);
}

TEST_CASE("a position is found again in a line of the same form", "[digit_runs]") {
  const std::string line = front + " a 12 b 3 c", other = front + " a 1 b 31234 c";
  NumberSpans runs;
  for (const char what : {'a', 'b', 'c'}) {
    REQUIRE(runs.find(line));
    const FormPlace place = runs.find_place(line.find(what));
    REQUIRE(runs.find(other));
    CHECK(runs.at(place) == other.find(what));
  }
  REQUIRE(runs.find(line));
  const FormPlace number = runs.find_place(line.find("3 c"));
  REQUIRE(runs.find(other));
  CHECK(runs.at(number) == other.find("31234"));
}

TEST_CASE("every position of a line is found again in it, on every instruction set", "[digit_runs]") {
  testing::on_every_target([] {
    std::mt19937 engine(5);
    for (int round = 0; round < 200; ++round) {
      const std::string line = line_of_chance(engine);
      NumberSpans runs;
      REQUIRE(runs.find(line));
      const auto ends = ends_of(line);
      for (std::size_t at = 0; at <= line.size(); at += 1 + engine() % 7) {
        const FormPlace place = runs.find_place(at);
        const auto before = std::count_if(ends.begin(), ends.end(), [at](std::size_t end) { return end <= at; });
        CHECK(place.runs == before);
        CHECK(runs.at(place) == at);
      }
    }
  });
}

TEST_CASE("twenty digits are too many anywhere", "[digit_runs]") {
  NumberSpans runs;
  for (std::size_t at = 0; at < 200; ++at) {
    CAPTURE(at);
    CHECK(runs.find(std::string(at, 'x') + std::string(19, '7') + "x" + std::string(19, '7')));
    CHECK_FALSE(runs.find(std::string(at, 'x') + std::string(20, '7') + "x"));
  }
  CHECK(runs.find(std::string(NumberSpans::max_line_length, 'x')));
  CHECK_FALSE(runs.find(std::string(NumberSpans::max_line_length + 1, 'x')));
}

}  // namespace oomdoctor
