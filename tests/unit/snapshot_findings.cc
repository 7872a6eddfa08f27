// What is found in snapshots whose truth a simulator knows: the state at a failure after the program has unwound its
// stack, and the lines of code that grow.
#include "evidence/snapshot_findings.h"

#include <algorithm>
#include <map>
#include <random>
#include <string>

#include "catch.h"
#include "evidence/code_lines.h"
#include "model/memory_snapshot.h"
#include "simulated_allocator.h"

using namespace oomdoctor;
using namespace oomdoctor::testing;

namespace {

constexpr u64 megabyte = SimulatedAllocator::MB;

/// A program whose lines of code have names: line N of train.py has stack N + 1, because stack 0 is empty.
struct NamedLines {
  StackTable stacks;

  StackId line(int number) {
    const TextId file = stacks.add_text("/home/user/project/train.py"), function = stacks.add_text("step");
    const u32 frame = stacks.add_frame({file, function, number});
    return stacks.add_stack(std::span(&frame, 1));
  }
};

SnapshotFile recorded_file(const SimulatedAllocator& allocator, const NamedLines& lines) {
  SnapshotFile file = allocator.snapshot();
  file.stacks = lines.stacks;
  return file;
}

/// Some hundred random calls, then a request that is too large.
std::vector<std::size_t> fill_until_refused(SimulatedAllocator& allocator, unsigned seed, StackId stack) {
  std::mt19937_64 random(seed);
  std::vector<std::size_t> live;
  for (std::size_t id = 0; id < 300; ++id) {
    if (!live.empty() && random() % 3 == 0) {
      const std::size_t which = random() % live.size();
      allocator.free(live[which]);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(which));
    }
    const u64 tops[] = {4000, 900'000, 9 * megabyte, 40 * megabyte};
    if (!allocator.allocate(id, 1 + random() % tops[random() % 4], 0, SimulatedAllocator::default_pool, stack))
      return live;
    live.push_back(id);
  }
  allocator.allocate(1000, 4000 * megabyte, 0, SimulatedAllocator::default_pool, stack);
  return live;
}

}  // namespace

TEST_CASE("frees after a failure are undone to the byte") {
  for (unsigned seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    NamedLines lines;
    SimulatedAllocator allocator({.expandable = seed % 4 == 3}, 800 * megabyte);
    const auto live = fill_until_refused(allocator, seed, lines.line(7));
    const ReportSnapshot at = analyse_snapshot(recorded_file(allocator, lines)).front().report;
    REQUIRE(at.at == "oom");
    for (std::size_t i = 0; i < live.size(); i += 1 + seed % 3) allocator.free(live[live.size() - 1 - i]);
    if (seed % 2 == 0) allocator.empty_cache();
    const ReportSnapshot after = analyse_snapshot(recorded_file(allocator, lines)).front().report;
    REQUIRE(after.at == "after_unwind");
    CHECK(after.reserved_bytes == at.reserved_bytes);
    CHECK(after.live_bytes == at.live_bytes);
    CHECK(after.free_cached_bytes == at.free_cached_bytes);
    CHECK(after.largest_free_bytes == at.largest_free_bytes);
    CHECK(after.failure == at.failure);
    CHECK(after.holders.size() == at.holders.size());
    REQUIRE(after.pinners.size() == at.pinners.size());
    for (std::size_t i = 0; i < at.pinners.size(); ++i)
      CHECK(after.pinners[i].stranded_bytes == at.pinners[i].stranded_bytes);
  }
}

TEST_CASE("only a line that keeps more at each step grows") {
  NamedLines lines;
  const StackId batch = lines.line(1), work = lines.line(2), keep = lines.line(3), buffer = lines.line(4),
                cache = lines.line(5);
  SimulatedAllocator allocator;
  std::size_t id = 0;
  std::vector<std::size_t> turning;
  const auto take = [&](u64 bytes, StackId stack) {
    allocator.allocate(id, bytes, 0, SimulatedAllocator::default_pool, stack);
    return id++;
  };
  for (int step = 0; step < 24; ++step) {
    const std::size_t input = take(3 * megabyte, batch);
    std::vector<std::size_t> made;
    for (int layer = 0; layer < 6; ++layer) made.push_back(take(20 * megabyte, work));
    take(5 * megabyte + 256, keep);
    if (step < 6) take(4 * megabyte, cache);  // a cache that is full after six steps
    turning.push_back(take(7 * megabyte, buffer));
    if (turning.size() > 5) {
      allocator.free(turning.front());
      turning.erase(turning.begin());
    }
    for (const std::size_t one : made) allocator.free(one);
    allocator.free(input);
  }
  const MemorySnapshot found = analyse_snapshot(recorded_file(allocator, lines)).front();
  REQUIRE(found.report.growth);
  REQUIRE(found.report.growth->size() == 1);
  const ReportGrowth& line = found.report.growth->front();
  CHECK(line.at.line == 3);
  CHECK(line.bytes_per_step == static_cast<i64>(5 * megabyte + 256));
  CHECK(line.blocks_per_step == 1);
  CHECK(line.first_step == 1);
  CHECK(found.report.failure == SnapshotFailure::none);
}

TEST_CASE("the layers of one pass are no growth") {
  NamedLines lines;
  const StackId norm = lines.line(1), product = lines.line(2), scratch = lines.line(3);
  SimulatedAllocator allocator;
  std::size_t id = 0;
  for (int layer = 0; layer < 20; ++layer) {
    allocator.allocate(id++, 4 * megabyte, 0, SimulatedAllocator::default_pool, norm);
    allocator.allocate(id, 6 * megabyte, 0, SimulatedAllocator::default_pool, scratch);
    allocator.free(id++);
    allocator.allocate(id++, 12 * megabyte, 0, SimulatedAllocator::default_pool, product);
  }
  const MemorySnapshot found = analyse_snapshot(recorded_file(allocator, lines)).front();
  REQUIRE(found.report.growth);
  CHECK(found.report.growth->empty());
}

TEST_CASE("a line of the user's code is in no library") {
  for (const char* file :
       {"/home/user/project/train.py", "C:\\work\\run.py", "/workspace/python3-lab/main.py", "model.py"})
    CHECK(is_user_code(file));
  for (const char* file :
       {"/opt/conda/lib/python3.11/site-packages/transformers/trainer.py", "/usr/lib/python3/dist-packages/a.py",
        "/usr/lib/python3.11/threading.py", "torch/nn/functional.py", "C:\\env\\Lib\\site-packages\\accelerate\\x.py",
        "/tmp/torchinductor_user/ab/cab.py", "<frozen importlib>", "<string>", "??", "/src/kernel.cpp"})
    CHECK_FALSE(is_user_code(file));
}

TEST_CASE("the pictures of a snapshot add up") {
  for (unsigned seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    NamedLines lines;
    SimulatedAllocator allocator({.expandable = seed % 4 == 3}, 800 * megabyte);
    std::mt19937_64 random(seed);
    for (std::size_t id = 0; id < 40; ++id)
      allocator.allocate(1000 + id, 1 + random() % (3 * megabyte), random() % 2, SimulatedAllocator::default_pool,
                         lines.line(10 + static_cast<int>(id % 14)));
    fill_until_refused(allocator, seed, lines.line(7));
    const ReportSnapshot found = analyse_snapshot(recorded_file(allocator, lines)).front().report;
    REQUIRE(found.live_memory);
    REQUIRE(found.live_memory->curves.size() == SnapshotPictures::curves);
    CHECK(found.live_memory->curves.back().category == "others");
    i64 most = 0, last = 0;
    const std::size_t points = found.live_memory->curves.front().bytes.size();
    REQUIRE(points <= SnapshotPictures::points + 1);
    for (std::size_t i = 0; i < points; ++i) {
      last = 0;
      for (const ReportLiveCurve& curve : found.live_memory->curves) last += curve.bytes.at(i);
      most = std::max(most, last);
    }
    CHECK(last == found.live_bytes);
    CHECK(most == found.live_memory->peak_bytes);
    REQUIRE(found.map);
    i64 pieces = 0, free = 0;
    for (const ReportMapList& list : found.map->lists) {
      for (const ReportMapPiece& piece : list.pieces) pieces += piece.bytes;
      free += list.free_bytes;
    }
    CHECK(pieces == found.reserved_bytes);
    CHECK(free == found.free_cached_bytes);
    CHECK(found.map->lists.front().of_request);
    CHECK(found.map->row_bytes >= std::min(*found.request_bytes, found.reserved_bytes));
  }
}

TEST_CASE("memory that the trace only frees was there before it") {
  NamedLines lines;
  SimulatedAllocator allocator;
  for (std::size_t id = 0; id < 4; ++id)
    allocator.allocate(id, 5 * megabyte, 0, SimulatedAllocator::default_pool, lines.line(3));
  SnapshotFile file = recorded_file(allocator, lines);
  const std::size_t before = file.devices.front().events.size();
  allocator.free(1);
  allocator.allocate(9, 2 * megabyte, 0, SimulatedAllocator::default_pool, lines.line(4));
  file = recorded_file(allocator, lines);
  std::vector<TraceEvent>& events = file.devices.front().events;
  events.erase(events.begin(), events.begin() + static_cast<std::ptrdiff_t>(before));
  const ReportSnapshot found = analyse_snapshot(file).front().report;
  REQUIRE(found.live_memory);
  CHECK(found.live_memory->peak_bytes == static_cast<i64>(20 * megabyte));
  CHECK(found.live_memory->curves.front().at.line == 3);
  CHECK(found.live_memory->curves.front().bytes.back() == static_cast<i64>(15 * megabyte));
}

TEST_CASE("a map of many blocks stays small") {
  SnapshotFile file;
  DeviceSnapshot& device = file.devices.emplace_back();
  DeviceSegment& segment = device.segments.emplace_back();
  constexpr u32 blocks = 100'000;
  segment.blocks = blocks;
  segment.size = 512 * u64{blocks};
  segment.small = true;
  for (u32 i = 0; i < blocks; ++i)
    device.blocks.push_back({u64{512} * i, 512, 500, i % 3 == 0 ? BlockState::inactive : BlockState::active_allocated});
  const ReportSnapshot found = analyse_snapshot(file).front().report;
  REQUIRE(found.map);
  CHECK(found.map->joined_blocks == blocks);
  REQUIRE(found.map->lists.size() == 1);
  CHECK(found.map->lists.front().pieces.size() == 1);
  CHECK(found.map->lists.front().pieces.front().bytes == static_cast<i64>(segment.size));
  CHECK(found.map->lists.front().free_bytes == found.free_cached_bytes);
}

TEST_CASE("tensors with the sizes of the parameters are gradients or states") {
  NamedLines lines;
  SimulatedAllocator allocator;
  const auto parameters = [&](std::size_t first, StackId stack) {
    for (std::size_t i = 0; i < 24; ++i)
      allocator.allocate(first + i, (1 + i % 5) * megabyte / 2 + 4, 0, SimulatedAllocator::default_pool, stack);
  };
  const StackId mine = lines.line(50), backward = 0, other = lines.line(60);
  parameters(0, no_stack);
  const std::size_t before = allocator.snapshot().devices.front().events.size();
  parameters(100, backward);
  parameters(200, mine);
  for (std::size_t i = 0; i < 24; ++i)
    allocator.allocate(300 + i, (1 + i % 5) * megabyte, 0, SimulatedAllocator::default_pool, other);
  SnapshotFile file = recorded_file(allocator, lines);
  std::vector<TraceEvent>& events = file.devices.front().events;
  events.erase(events.begin(), events.begin() + static_cast<std::ptrdiff_t>(before));
  std::map<std::string, std::int64_t> lines_of;
  const std::vector<MemorySnapshot> found = analyse_snapshot(file);
  for (const ReportHolder& holder : found.front().report.holders)
    lines_of[holder.category] = holder.at.line.value_or(0);
  CHECK(lines_of == std::map<std::string, std::int64_t>{
                        {"unrecorded", 0}, {"gradient", 0}, {"optimizer_state", 50}, {"unknown", 60}});
}
