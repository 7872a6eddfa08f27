#include "text/template_hash.h"

#include <random>
#include <string>

#include "catch.h"
#include "every_target.h"
#include "forged_hash.h"

namespace oomdoctor {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string random_line(std::mt19937& engine) {
  std::string line(engine() % 200, ' ');
  for (char& c : line) c = static_cast<char>(engine() % 3 == 0 ? '0' + engine() % 10 : engine() % 256);
  return line;
}

}  // namespace

TEST_CASE("lines that differ only in digits have the same hash, other lines do not", "[digit_free]") {
  testing::on_every_target([] {
    std::mt19937 engine(9);
    for (int round = 0; round < 2000; ++round) {
      const std::string line = random_line(engine);
      std::string other = line;
      for (char& c : other)
        if (is_digit(c)) c = static_cast<char>('0' + engine() % 10);
      CHECK(template_hash(line) == template_hash(other));
      CHECK(is_same_but_digits(line, other));
      CHECK_FALSE(is_same_but_digits(line, line + "0"));
      CHECK_FALSE(template_hash(line) == template_hash(line + "0"));
      CHECK_FALSE(template_hash(line) == template_hash(line + '\0'));
      if (line.empty()) continue;
      char& c = other[engine() % other.size()];
      c = is_digit(c) ? 'x' : static_cast<char>(c ^ 0x80);
      CHECK_FALSE(template_hash(line) == template_hash(other));
      CHECK_FALSE(is_same_but_digits(line, other));
    }
  });
}

TEST_CASE("lines that were forged to have one hash are distinguished", "[digit_free]") {
  testing::on_every_target([] {
    const std::string line(96, 'a'), other = testing::with_same_hash(line);
    CHECK(template_hash(line) == template_hash(other));
    CHECK_FALSE(is_same_but_digits(line, other));
  });
}

TEST_CASE("the hash is the same on every instruction set", "[digit_free]") {
  const std::string line =
      "step 12 | loss 2.131 | allocated 30.125 GiB | reserved 31.500 GiB | 37456.2 tokens/s, rank 3";
  const LineHash expected = template_hash(line);
  testing::on_every_target([&] { CHECK(template_hash(line) == expected); });
}

}  // namespace oomdoctor
