// The replay against the simulator, which shares no code with it: every address and segment of a random program, and
// what other settings would have done.
#include "evidence/replay.h"

#include <random>

#include "catch.h"
#include "simulated_allocator.h"

using namespace oomdoctor;
using namespace oomdoctor::testing;

namespace {

using What = SimulatedCall::What;
constexpr u64 MB = SimulatedAllocator::MB;

const std::vector<std::pair<std::string_view, SimulatedSettings>> other_settings = {
    {"default", {}},
    {"expandable_segments:True", {.expandable = true}},
    {"max_split_size_mb:128", {.max_split = 128 * MB}},
    {"roundup_power2_divisions:4", {.roundup = 4}}};

/// A random program: what it asks for, and what it does in between.
struct RandomProgram {
  unsigned seed = 0;
  int calls = 400;
  bool streams = false;  ///< several, and some use each other's memory
  bool private_pools = false;
  bool caches = true;  ///< torch.cuda.empty_cache() now and then

  u64 size(std::mt19937_64& random) const {
    static constexpr u64 tops[] = {600, 40'000, 900'000, 6 * MB, 30 * MB, 170 * MB, 400 * MB};
    const u64 top = tops[random() % std::size(tops)];
    return 1 + random() % top;
  }

  /// Runs until the end or its first failure.
  void run(SimulatedAllocator& allocator) const {
    std::mt19937_64 random(seed);
    std::vector<std::size_t> live, waiting;
    for (int i = 0; i < calls; ++i) {
      const auto id = static_cast<std::size_t>(i);
      const u64 choice = random() % 100;
      if (choice < 55 || live.empty()) {
        const u64 stream = streams ? random() % 3 : 0;
        const PoolName pool = private_pools && random() % 5 == 0 ? PoolName{0, 1 + random() % 2} : PoolName{};
        const auto stack = static_cast<StackId>(1 + random() % 9);
        if (!allocator.allocate(id, size(random), stream, pool, stack)) return;
        live.push_back(id);
      } else if (choice < 97) {
        const auto at = live.begin() + static_cast<std::ptrdiff_t>(random() % live.size());
        if (streams && random() % 4 == 0) {
          allocator.start_free(*at);
          waiting.push_back(*at);
        } else {
          allocator.free(*at);
        }
        live.erase(at);
      } else if (caches) {
        allocator.empty_cache();
      }
      if (!waiting.empty() && random() % 3 == 0) {
        allocator.finish_free(waiting.front());
        waiting.erase(waiting.begin());
      }
      if (private_pools && random() % 90 == 0) allocator.abandon({0, 1});
    }
  }
};

WhatIf simulate(std::string_view name, SimulatedSettings settings, const std::vector<SimulatedCall>& calls,
                u64 capacity, bool failed) {
  SimulatedAllocator allocator(settings, capacity, false);
  WhatIf result{name, std::nullopt, 0};
  for (const SimulatedCall& call : calls) {
    bool done = true;
    if (call.what == What::allocate || call.what == What::fail)
      done = allocator.allocate(call.id, call.bytes, call.stream, call.pool);
    else if (call.what == What::free)
      allocator.free(call.id);
    else if (call.what == What::start_free)
      allocator.start_free(call.id);
    else if (call.what == What::finish_free)
      allocator.finish_free(call.id);
    else if (call.what == What::empty_cache)
      allocator.empty_cache();
    else
      allocator.abandon(call.pool);
    if (failed && (!done || call.what == What::fail)) {
      result.fits = done;
      break;
    }
  }
  result.peak_reserved = allocator.peak();
  return result;
}

std::optional<std::size_t> oom_of(const SnapshotFile& file) {
  const std::vector<TraceEvent>& events = file.devices[0].events;
  for (std::size_t i = 0; i < events.size(); ++i)
    if (events[i].action == TraceAction::oom) return i;
  return std::nullopt;
}

void compare(const RandomProgram& program, const SimulatedSettings& settings) {
  SimulatedAllocator roomy(settings);
  program.run(roomy);
  std::mt19937_64 random(program.seed + 1);
  // From a capacity at which the program soon fails to one at which it never does.
  const u64 capacity = roomy.peak() / 20 * (8 + random() % 14);
  SimulatedAllocator allocator(settings, capacity);
  program.run(allocator);
  const SnapshotFile file = allocator.snapshot(program.private_pools);
  const std::optional<std::size_t> oom = oom_of(file);
  INFO("seed " << program.seed << ", max_split " << settings.max_split << ", roundup " << settings.roundup
               << ", expandable " << settings.expandable << ", " << file.devices[0].events.size() << " events"
               << (oom ? ", fails" : ""));
  const WhatIfs what_ifs = replay_other_settings(file, file.devices[0], oom);
  CHECK(what_ifs.unavailable.empty());
  INFO(what_ifs.unavailable);
  REQUIRE(what_ifs.settings.size() == other_settings.size());
  for (std::size_t i = 0; i < other_settings.size(); ++i) {
    const auto& [name, other] = other_settings[i];
    const WhatIf truth =
        simulate(name, other, allocator.calls(), oom ? capacity : SimulatedAllocator::unlimited, oom.has_value());
    INFO(name);
    CHECK(what_ifs.settings[i].setting == truth.setting);
    CHECK(what_ifs.settings[i].fits == truth.fits);
    CHECK(what_ifs.settings[i].peak_reserved == truth.peak_reserved);
  }
}

const std::vector<SimulatedSettings> own_settings = {{},
                                                     {.expandable = true},
                                                     {.max_split = 64 * MB},
                                                     {.max_split = 256 * MB},
                                                     {.roundup = 8},
                                                     {.roundup = 2, .expandable = true},
                                                     {.max_split = 128 * MB, .expandable = true}};

}  // namespace

TEST_CASE("a random program is replayed to the last address, and under other settings as the simulator runs it",
          "[replay]") {
  for (unsigned seed = 1; seed <= 12; ++seed)
    for (const SimulatedSettings& settings : own_settings) compare({.seed = seed}, settings);
}

TEST_CASE("memory of several streams is replayed, freed when the trace completes it", "[replay]") {
  for (unsigned seed = 1; seed <= 12; ++seed)
    for (const SimulatedSettings& settings : {SimulatedSettings{}, {.expandable = true}, {.roundup = 4}})
      compare({.seed = seed, .streams = true}, settings);
}

TEST_CASE("private pools are replayed, and released after their graph is gone", "[replay]") {
  for (unsigned seed = 1; seed <= 12; ++seed)
    for (const SimulatedSettings& settings : {SimulatedSettings{}, {.expandable = true}, {.max_split = 64 * MB}})
      compare({.seed = seed, .private_pools = true}, settings);
}

namespace {

/// Tensors in 1000 MiB, a cleared cache, new tensors, and a request that fails. Under some settings a new tensor fails.
SimulatedAllocator failed_run(SimulatedSettings settings = {}) {
  SimulatedAllocator allocator(settings, 1000 * MB);
  for (std::size_t id = 0; id < 30; ++id) REQUIRE(allocator.allocate(id, 26 * MB));
  for (std::size_t id = 0; id < 30; id += 2) allocator.free(id);
  REQUIRE(allocator.allocate(30, 3 * MB));
  REQUIRE(allocator.allocate(31, 90'000));
  allocator.empty_cache();
  for (std::size_t id = 40; id < 55; ++id)
    if (!allocator.allocate(id, 27 * MB)) return allocator;
  for (std::size_t id = 1; id < 30; id += 2) allocator.free(id);
  REQUIRE_FALSE(allocator.allocate(55, 700 * MB));
  return allocator;
}

WhatIfs replayed(const SnapshotFile& file) { return replay_other_settings(file, file.devices[0], oom_of(file)); }

}  // namespace

TEST_CASE("a trace that the rules do not give has no answer", "[replay]") {
  const SnapshotFile good = failed_run().snapshot();
  REQUIRE(replayed(good).unavailable.empty());
  const auto change = [&](TraceAction action, auto&& edit) {
    SnapshotFile file = good;
    std::vector<TraceEvent>& events = file.devices[0].events;
    const auto it =
        std::find_if(events.rbegin(), events.rend(), [&](const TraceEvent& e) { return e.action == action; });
    edit(events, *it);
    const WhatIfs result = replayed(file);
    CHECK(result.settings.empty());
    return result.unavailable;
  };
  CHECK_THAT(change(TraceAction::alloc, [](auto&, TraceEvent& e) { e.address += 512; }), ContainsSubstring("differs"));
  CHECK_THAT(change(TraceAction::segment_alloc, [](auto&, TraceEvent& e) { e.address += 2 * MB; }),
             ContainsSubstring("differs"));
  CHECK_THAT(change(TraceAction::segment_free,
                    [](auto& events, TraceEvent& e) {
                      std::swap(e, *(&e - 1));
                      (void)events;
                    }),
             ContainsSubstring("segment_free"));
  CHECK_THAT(change(TraceAction::segment_free, [](auto&, TraceEvent& e) { e.size += 2 * MB; }),
             ContainsSubstring("where all of the reserved memory came from"));
  CHECK_THAT(change(TraceAction::free_completed, [](auto& events, TraceEvent& e) { events.push_back(e); }),
             ContainsSubstring("does not show the allocation"));
  CHECK_THAT(change(TraceAction::oom, [](auto&, TraceEvent& e) { e.address = TraceEvent::unknown; }),
             ContainsSubstring("does not give the free memory"));
  CHECK_THAT(change(TraceAction::oom, [](auto&, TraceEvent& e) { e.address = 800 * MB; }),
             ContainsSubstring("the driver refused 700 MiB although 800 MiB were free"));
  CHECK_THAT(change(TraceAction::oom, [](auto&, TraceEvent& e) { e.size = 3 * MB; }), ContainsSubstring("differs"));
}

TEST_CASE("other settings than the run's own do not give its trace", "[replay]") {
  SnapshotFile file = failed_run({.max_split = 20 * MB}).snapshot();
  CHECK(replayed(file).unavailable.empty());
  file.settings.reset();  // as before 2.3: the default is a guess, which the replay refutes
  CHECK_THAT(replayed(file).unavailable, ContainsSubstring("own settings"));
  file = failed_run().snapshot();
  file.settings.reset();
  CHECK(replayed(file).unavailable.empty());
  file = failed_run({.expandable = true}).snapshot();
  file.settings.reset();  // mapped segments show this one
  CHECK(replayed(file).unavailable.empty());
}

TEST_CASE("the final blocks must be those of the file", "[replay]") {
  SnapshotFile file = failed_run().snapshot();
  std::vector<DeviceBlock>& blocks = file.devices[0].blocks;
  const auto free =
      std::find_if(blocks.begin(), blocks.end(), [](const DeviceBlock& b) { return b.state == BlockState::inactive; });
  REQUIRE(free != blocks.end());
  free->state = BlockState::active_allocated;
  CHECK_THAT(replayed(file).unavailable, ContainsSubstring("blocks of the file"));
}

TEST_CASE("a trace that began late has no answer", "[replay]") {
  SnapshotFile file = failed_run().snapshot();
  std::vector<TraceEvent>& events = file.devices[0].events;
  events.erase(events.begin(), events.begin() + 10);
  CHECK_THAT(replayed(file).unavailable, ContainsSubstring("does not show where"));
}

TEST_CASE("a trace without one kind of frees is replayed all the same", "[replay]") {
  for (const TraceAction skipped : {TraceAction::free_requested, TraceAction::free_completed, TraceAction::snapshot}) {
    SnapshotFile file = failed_run().snapshot();
    const WhatIfs whole = replayed(file);
    std::vector<TraceEvent>& events = file.devices[0].events;
    std::erase_if(events, [&](const TraceEvent& e) { return e.action == skipped; });
    const WhatIfs rest = replayed(file);
    CHECK(rest.unavailable.empty());
    REQUIRE(rest.settings.size() == whole.settings.size());
    for (std::size_t i = 0; i < rest.settings.size(); ++i) {
      CHECK(rest.settings[i].fits == whole.settings[i].fits);
      CHECK(rest.settings[i].peak_reserved == whole.settings[i].peak_reserved);
    }
  }
}

TEST_CASE("a failure that the program survived is replayed on the way to the last one", "[replay]") {
  SimulatedAllocator allocator({}, 900 * MB);
  REQUIRE(allocator.allocate(0, 500 * MB));
  REQUIRE_FALSE(allocator.allocate(1, 600 * MB));
  REQUIRE(allocator.allocate(2, 300 * MB));
  REQUIRE_FALSE(allocator.allocate(3, 200 * MB));
  const SnapshotFile file = allocator.snapshot();
  const WhatIfs last = replay_other_settings(file, file.devices[0], file.devices[0].events.size() - 1);
  REQUIRE(last.settings.size() == 4);
  CHECK(last.settings[0].fits == false);
  CHECK(last.settings[0].peak_reserved == 800 * MB);
  CHECK(last.settings[1].fits == false);
  CHECK(last.settings[1].peak_reserved == 800 * MB);
  const WhatIfs none = replay_other_settings(file, file.devices[0], std::nullopt);
  REQUIRE(none.settings.size() == 4);
  CHECK_FALSE(none.settings[0].fits);
  CHECK(none.settings[0].peak_reserved == 800 * MB);
}

TEST_CASE("a request fits in an expandable range that does not fit between pinned blocks", "[replay]") {
  SimulatedAllocator allocator({}, 1000 * MB);
  for (std::size_t id = 0; id < 9; ++id) {
    REQUIRE(allocator.allocate(2 * id, 98 * MB));
    allocator.free(2 * id);
    REQUIRE(allocator.allocate(2 * id, 90 * MB));
    REQUIRE(allocator.allocate(2 * id + 1, 5 * MB));
  }
  for (std::size_t id = 0; id < 9; ++id) allocator.free(2 * id);
  REQUIRE_FALSE(allocator.allocate(99, 500 * MB));
  const WhatIfs result = replayed(allocator.snapshot());
  REQUIRE(result.settings.size() == 4);
  CHECK(result.settings[0].fits == false);
  CHECK(result.settings[1].fits == true);
}

TEST_CASE("made-up traces end the replay, not the program", "[replay]") {
  // Sizes, addresses and pools at random; and one with addresses at the end of the address space.
  for (unsigned seed = 1; seed <= 200; ++seed) {
    std::mt19937_64 random(seed);
    SnapshotFile file = failed_run(own_settings[seed % own_settings.size()]).snapshot(seed % 2 == 0);
    std::vector<TraceEvent>& events = file.devices[0].events;
    for (int i = 0; i < 3; ++i) {
      TraceEvent& e = events[random() % events.size()];
      switch (random() % 5) {
        case 0:
          e.size = random() >> random() % 64;
          break;
        case 1:
          e.address = random() % 2 == 0 ? ~random() % 4096 : events[random() % events.size()].address;
          break;
        case 2:
          e.action = static_cast<TraceAction>(random() % 10);
          break;
        case 3:
          e.stream = random();
          break;
        default:
          std::swap(e, events[random() % events.size()]);
      }
    }
    const WhatIfs found = replayed(file);
    CHECK(found.settings.empty() != found.unavailable.empty());
  }
}
