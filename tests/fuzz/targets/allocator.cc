// Bytes as a program that allocates and frees. The simulator runs it, and the replay must find every address in its
// trace again. Then the rest of the bytes damages the trace: the replay ends, whatever the trace says.
#include "evidence/replay.h"

#include <algorithm>
#include <vector>

#include "../../unit/simulated_allocator.h"
#include "../target.h"

namespace oomdoctor::testing {
namespace {

constexpr std::size_t longest = 600;

/// Numbers from the bytes; 0 after their end.
class ByteNumbers {
 public:
  explicit ByteNumbers(std::string_view bytes) : bytes_(bytes) {}
  bool more() const { return !bytes_.empty(); }
  u64 next() {
    if (bytes_.empty()) return 0;
    const auto byte = static_cast<unsigned char>(bytes_.front());
    bytes_.remove_prefix(1);
    return byte;
  }

 private:
  std::string_view bytes_;
};

void run_program(ByteNumbers numbers, SimulatedAllocator& allocator, bool streams) {
  std::vector<std::size_t> live;
  for (std::size_t id = 0; numbers.more(); ++id) {
    const u64 action = numbers.next();
    if (action < 160 || live.empty()) {
      const u64 bytes = (1 + numbers.next()) << (action % 22);
      const PoolName pool = action % 16 == 15 ? PoolName{0, 1} : PoolName{};
      if (!allocator.allocate(id, bytes, streams ? action % 3 : 0, pool, static_cast<StackId>(1 + action % 5))) return;
      live.push_back(id);
    } else if (action < 250) {
      const auto at = live.begin() + static_cast<std::ptrdiff_t>(numbers.next() % live.size());
      if (streams && action % 8 == 0)
        allocator.start_free(*at);
      else
        allocator.free(*at);
      live.erase(at);
    } else {
      allocator.empty_cache();
    }
  }
}

std::optional<std::size_t> oom_of(const std::vector<TraceEvent>& events) {
  if (events.empty() || events.back().action != TraceAction::oom) return std::nullopt;
  return events.size() - 1;
}

void damage(ByteNumbers numbers, std::vector<TraceEvent>& events) {
  const auto any = [&]() -> TraceEvent& {
    return events[static_cast<std::size_t>(numbers.next() * events.size() / 256)];
  };
  while (numbers.more()) {
    const u64 what = numbers.next();
    TraceEvent& e = any();
    TraceEvent& other = any();
    if (what % 4 == 0) e.size = ~u64{0} >> what % 64;
    if (what % 4 == 1) e.address = what % 8 == 1 ? ~u64{0} >> what % 32 : other.address;
    if (what % 4 == 2) e.action = static_cast<TraceAction>(what % 10);
    if (what % 4 == 3) std::swap(e, other);
  }
}

void run(std::string_view bytes) {
  if (bytes.size() < 4) return;
  const auto setting = static_cast<unsigned char>(bytes[0]);
  const std::size_t cut = bytes.size() - std::min<std::size_t>(bytes.size() - 4, 3 * (setting / 16));
  SimulatedSettings settings;
  settings.expandable = setting % 2 == 1;
  settings.max_split = setting % 8 >= 6 ? 64 << 20 : 0;
  settings.roundup = setting % 8 >= 4 ? 4 : 0;
  const bool streams = settings.max_split == 0 && setting / 8 % 2 == 1;
  const u64 capacity = u64{1} << (24 + static_cast<unsigned char>(bytes[1]) % 10);
  SimulatedAllocator allocator(settings, capacity);
  run_program(ByteNumbers(bytes.substr(2, cut - 2)), allocator, streams);
  SnapshotFile file = allocator.snapshot(true);
  DeviceSnapshot& device = file.devices[0];
  const WhatIfs exact = replay_other_settings(file, device, oom_of(device.events));
  // The trace does not always show how long memory waited for another stream (see trace_steps.h), or that pages were
  // released for a request: if it then needs no new ones, because max_split_size had kept it from a larger block, the
  // release looks like empty_cache().
  const bool ambiguous = streams || (settings.expandable && settings.max_split != 0);
  if (ambiguous && !exact.unavailable.empty()) return;
  demand(exact.unavailable.empty() && exact.settings.size() == 4);
  for (const WhatIf& one : exact.settings) {
    demand(one.fits.has_value() == oom_of(device.events).has_value());
    demand(!one.fits || one.peak_reserved <= capacity);
  }
  if (device.events.empty()) return;
  damage(ByteNumbers(bytes.substr(cut)), device.events);
  const WhatIfs rest = replay_other_settings(file, device, oom_of(device.events));
  demand(rest.settings.empty() != rest.unavailable.empty());
}

std::vector<std::string> seeds() {
  std::vector<std::string> all;
  for (unsigned i = 0; i < 24; ++i) {
    std::string bytes;
    unsigned state = 2654435761U * (i + 1);
    while (bytes.size() < 60 + 20 * i) {
      state = state * 1664525U + 1013904223U;
      bytes += static_cast<char>(state >> 24);
    }
    all.push_back(bytes);
  }
  return all;
}

const Added target({.name = "allocator", .longest = longest, .run = run, .seeds = seeds});

}  // namespace
}  // namespace oomdoctor::testing
