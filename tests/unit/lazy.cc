#include "base/lazy.h"

#include <atomic>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "catch.h"

namespace oomdoctor {

TEST_CASE("a lazy value is made once, whichever threads ask for it", "[lazy][threads]") {
  for (int round = 0; round < 50; ++round) {
    const Lazy<int> value;
    std::atomic<int> made = 0;
    std::vector<const int*> seen(4);
    {
      std::vector<std::jthread> threads;
      for (const int*& place : seen) threads.emplace_back([&] { place = &value.get([&] { return 40 + ++made; }); });
    }
    CHECK(made == 1);
    CHECK(std::set(seen.begin(), seen.end()).size() == 1);
    CHECK(*seen[0] == 41);
  }
}

TEST_CASE("a copy of a lazy value is made anew", "[lazy]") {
  Lazy<int> value;
  CHECK(value.get([] { return 1; }) == 1);
  const Lazy<int> copy = value;
  CHECK(copy.get([] { return 2; }) == 2);
  value = copy;
  CHECK(value.get([] { return 3; }) == 3);
  CHECK(copy.get([] { return 4; }) == 2);
}

TEST_CASE("a lazy value that could not be made is tried again", "[lazy]") {
  const Lazy<int> value;
  CHECK_THROWS_AS(value.get([]() -> int { throw std::runtime_error("no memory"); }), std::runtime_error);
  CHECK(value.get([] { return 7; }) == 7);
  CHECK(value.get([]() -> int { throw std::runtime_error("not called"); }) == 7);
}

}  // namespace oomdoctor
