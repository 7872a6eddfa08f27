// The rules of the caching allocator one by one, with numbers from its source.
#include "evidence/allocator_model.h"

#include <fmt/format.h>

#include "catch.h"

using namespace oomdoctor;

namespace {

constexpr u64 MB = MiB, start = u64{1} << 40;

/// A driver that writes down what it does, in MiB from its first address.
class LoggingDriver final : public MemoryDriver {
 public:
  explicit LoggingDriver(u64 limit = 1000 * MB) : limit_(limit) {}

  std::optional<u64> allocate(u64 size) override {
    if (!take(size)) return std::nullopt;
    log("alloc", next_, size);
    next_ += size;
    return next_ - size;
  }
  void free(u64 address, u64 size) override { give("free", address, size); }
  std::optional<u64> reserve_range() override { return next_; }
  bool map(u64 address, u64 size) override {
    if (!take(size)) return false;
    log("map", address, size);
    return true;
  }
  void unmap(u64 address, u64 size) override { give("unmap", address, size); }

  /// What happened since the last call.
  std::string done() { return std::exchange(log_, ""); }

 private:
  bool take(u64 size) {
    if (reserved_ + size > limit_) return false;
    reserved_ += size;
    return true;
  }
  void give(std::string_view what, u64 address, u64 size) {
    reserved_ -= size;
    log(what, address, size);
  }
  void log(std::string_view what, u64 address, u64 size) {
    log_ += fmt::format("{}{} {}+{}", log_.empty() ? "" : ", ", what, (address - start) / MB, size / MB);
  }

  u64 limit_, reserved_ = 0, next_ = start;
  std::string log_;
};

/// Allocations on one stream, in the default pool.
struct Program {
  explicit Program(PlacementRules rules = {}, u64 limit = 1000 * MB) : driver(limit), model(rules, driver) {}

  bool allocate(u32 id, u64 bytes) { return model.allocate(id, bytes, 0, AllocatorModel::default_pool); }
  u64 place(u32 id) const { return model.place_of(id)->first - start; }
  u64 size(u32 id) const { return model.place_of(id)->second; }
  void free(std::initializer_list<u32> ids) {
    for (const u32 id : ids) model.complete_free(id);
  }

  LoggingDriver driver;
  AllocatorModel model;
};

}  // namespace

TEST_CASE("segments are 2 MiB up to a request of 1 MiB, 20 MiB below 10 MiB, then as large as the request",
          "[allocator_model]") {
  Program p;
  CHECK(p.allocate(0, 1));
  CHECK(p.size(0) == 512);
  CHECK(p.driver.done() == "alloc 0+2");
  CHECK(p.allocate(1, MB));
  CHECK(p.driver.done().empty());  // the rest of the same segment
  CHECK(p.place(1) == 512);
  CHECK(p.allocate(2, MB + 1));
  CHECK(p.driver.done() == "alloc 2+20");
  CHECK(p.size(2) == MB + 512);
  CHECK(p.allocate(3, 10 * MB));
  CHECK(p.driver.done().empty());
  CHECK(p.allocate(4, 10 * MB));
  CHECK(p.driver.done() == "alloc 22+10");
  CHECK(p.allocate(5, 10 * MB + 1));
  CHECK(p.driver.done() == "alloc 32+12");
  CHECK(p.size(5) == 10 * MB + 512);  // the rest is larger than 1 MiB
}

TEST_CASE("a large block keeps a rest of up to 1 MiB, and 512 bytes of a small one are split off",
          "[allocator_model]") {
  Program p;
  CHECK(p.allocate(0, 11 * MB));  // a segment of 12 MiB
  CHECK(p.size(0) == 12 * MB);
  CHECK(p.allocate(1, 2 * MB - 512 - 512 * 2048));
  CHECK(p.allocate(2, 512));
  CHECK(p.place(2) == p.place(1) + p.size(1));
}

TEST_CASE("the smallest free block wins, of equal ones the one of the lowest address", "[allocator_model]") {
  Program p;
  for (u32 id = 0; id < 4; ++id) CHECK(p.allocate(id, (id == 1 ? 40 : 30) * MB));
  p.free({3, 1, 0, 2});
  CHECK(p.allocate(4, 30 * MB));
  CHECK(p.place(4) == 0);
  CHECK(p.allocate(5, 30 * MB));
  CHECK(p.place(5) == 70 * MB);
  CHECK(p.allocate(6, 20 * MB));
  CHECK(p.place(6) == 100 * MB);
  CHECK(p.allocate(7, 20 * MB));
  CHECK(p.place(7) == 30 * MB);  // of the block of 40 MiB
}

TEST_CASE("free neighbours of one segment merge", "[allocator_model]") {
  Program p;
  for (u32 id = 0; id < 3; ++id) CHECK(p.allocate(id, 6 * MB));
  CHECK(p.driver.done() == "alloc 0+20");
  p.free({0});
  p.free({2});
  CHECK(p.allocate(3, 7 * MB));
  CHECK(p.place(3) == 12 * MB);  // the third block and the rest after it
  p.free({1});
  CHECK(p.allocate(4, 9 * MB));
  CHECK(p.place(4) == 0);
}

TEST_CASE("a refused request releases whole segments, large ones first, and is tried again", "[allocator_model]") {
  Program p({}, 100 * MB);
  CHECK(p.allocate(0, 512));  // 2 MiB
  CHECK(p.allocate(1, 30 * MB));
  CHECK(p.allocate(2, 24 * MB));
  CHECK(p.allocate(3, 6 * MB));  // 20 MiB, partly in use
  CHECK(p.driver.done() == "alloc 0+2, alloc 2+30, alloc 32+24, alloc 56+20");
  p.free({0, 1, 2});
  CHECK(p.allocate(4, 50 * MB));
  CHECK(p.driver.done() == "free 32+24, free 2+30, free 0+2, alloc 76+50");
  CHECK_FALSE(p.allocate(5, 40 * MB));
  CHECK_FALSE(p.model.place_of(5));
}

TEST_CASE("memory that another stream uses is free when that is complete, at the latest when a request is refused",
          "[allocator_model]") {
  Program p({}, 60 * MB);
  for (u32 id = 0; id < 2; ++id) CHECK(p.allocate(id, 20 * MB));
  for (u32 id = 0; id < 2; ++id) p.model.request_free(id);
  CHECK(p.allocate(2, 20 * MB));
  CHECK(p.place(2) == 40 * MB);
  p.model.complete_free(1);
  CHECK(p.allocate(3, 20 * MB));
  CHECK(p.place(3) == 20 * MB);
  p.driver.done();
  CHECK(p.allocate(4, 20 * MB));
  CHECK(p.driver.done() == "free 0+20, alloc 60+20");
  p.model.complete_free(0);  // which is complete by now
  CHECK_FALSE(p.allocate(5, 20 * MB));
}

TEST_CASE("other streams, other pools and the other size class have memory of their own", "[allocator_model]") {
  Program p;
  CHECK(p.allocate(0, 40 * MB));
  p.free({0});
  CHECK(p.model.allocate(1, 40 * MB, 7, AllocatorModel::default_pool));
  CHECK(p.model.allocate(2, 40 * MB, 0, 1));
  CHECK(p.allocate(3, 512));
  CHECK(p.driver.done() == "alloc 0+40, alloc 40+40, alloc 80+40, alloc 120+2");
  p.model.complete_free(2);
  p.model.release_cached();
  CHECK(p.driver.done() == "free 0+40");
  p.model.allow_release(1);
  p.model.release_cached();
  CHECK(p.driver.done() == "free 80+40");
}

TEST_CASE("max_split_size keeps large blocks whole, and releases one before all of the cache", "[allocator_model]") {
  Program p({.max_split_size = 64 * MB}, 400 * MB);
  CHECK(p.allocate(0, 100 * MB));
  CHECK(p.allocate(1, 80 * MB));
  CHECK(p.allocate(2, 30 * MB));
  p.free({0, 1, 2});
  CHECK(p.driver.done() == "alloc 0+100, alloc 100+80, alloc 180+30");
  CHECK(p.allocate(3, 40 * MB));  // not from the blocks of 64 MiB and more
  CHECK(p.driver.done() == "alloc 210+40");
  CHECK(p.allocate(4, 70 * MB));  // at most 20 MiB are wasted
  CHECK(p.place(4) == 100 * MB);
  CHECK(p.size(4) == 80 * MB);
  CHECK(p.allocate(5, 75 * MB));
  CHECK(p.driver.done() == "alloc 250+76");
  CHECK(p.allocate(6, 85 * MB));
  CHECK(p.place(6) == 0);
  p.free({4});
  p.free({6});
  CHECK(p.allocate(7, 110 * MB));  // refused: the blocks of 80 and 100 MiB are enough together
  CHECK(p.driver.done() == "free 0+100, free 100+80, alloc 326+110");
}

TEST_CASE("roundup_power2_divisions rounds up to a part of the next power of two", "[allocator_model]") {
  PlacementRules rules;
  rules.roundup_divisions.fill(4);
  rules.roundup_divisions[3] = 0;  // of requests from 8 to 16 MiB
  Program p(rules);
  const std::pair<u64, u64> sizes[] = {{1200 * KiB, 1280 * KiB}, {2000, 2048},       {2049, 2560},
                                       {4 * MB, 4 * MB},         {65 * MB, 80 * MB}, {9 * MB + 1, 9 * MB + 512}};
  u32 id = 0;
  for (const auto& [bytes, rounded] : sizes) {
    INFO(bytes);
    CHECK(p.allocate(id, bytes));
    CHECK(p.size(id) == rounded);
    ++id;
  }
}

TEST_CASE("an expandable range grows by its pages, and the holes inside are used first", "[allocator_model]") {
  Program p({.expandable = true}, 100 * MB);
  CHECK(p.allocate(0, 30 * MB));
  CHECK(p.driver.done() == "map 0+40");
  CHECK(p.allocate(1, 30 * MB));
  CHECK(p.driver.done() == "map 40+20");
  CHECK(p.place(1) == 30 * MB);
  CHECK(p.allocate(2, 12 * MB));
  CHECK(p.driver.done() == "map 60+20");
  p.free({0});
  CHECK(p.allocate(3, 7 * MB));
  CHECK(p.place(3) == 0);  // although the 8 MiB at the end are a better fit
  p.free({1});
  p.model.release_cached();
  CHECK(p.driver.done() == "unmap 20+40");  // whole pages of the 53 MiB in the middle; 8 MiB at the end are none
  CHECK(p.allocate(4, 60 * MB));            // 20 MiB for the hole of 40 would do, but it needs more
  CHECK(p.driver.done() == "map 80+60");
  p.free({4});
  p.free({2});
  p.free({3});
  p.model.release_cached();
  CHECK(p.driver.done() == "unmap 0+20, unmap 60+80");
  CHECK(p.allocate(5, 500'000));
  CHECK(p.driver.done() == "map 0+2");  // small blocks have a range and pages of their own
}

TEST_CASE("sizes beyond any device are refused", "[allocator_model]") {
  Program p;
  CHECK_FALSE(p.allocate(0, std::numeric_limits<u64>::max()));
  CHECK_FALSE(p.allocate(1, AllocatorModel::range_size));
  CHECK(p.driver.done().empty());
}
