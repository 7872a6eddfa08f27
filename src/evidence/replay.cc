#include "evidence/replay.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "evidence/allocator_model.h"
#include "evidence/trace_steps.h"

namespace oomdoctor {
namespace {

/// The driver that the trace shows: it grants what the trace has next, at the same address, and refuses where the trace
/// releases memory or fails.
class RecordedDriver final : public MemoryDriver {
 public:
  explicit RecordedDriver(const DeviceSnapshot& device) : events_(device.events) {}

  std::optional<u64> allocate(u64 size) override {
    const TraceEvent* e = granted(TraceAction::segment_alloc, size);
    if (e == nullptr) return std::nullopt;
    if (overlaps(e->address, size)) {
      differ("an address that is in use");
      return std::nullopt;
    }
    segments_[e->address] = size;
    reserved_ += size;
    return e->address;
  }

  void free(u64 address, u64 size) override {
    if (!is_next(TraceAction::segment_free, address, size)) return;
    segments_.erase(address);
    reserved_ -= size;
  }

  std::optional<u64> reserve_range() override {
    // The range begins where the trace first maps memory into it, perhaps after a release. Without one the driver
    // refuses the first page, wherever the range begins.
    for (std::size_t i = next_; i < until_; ++i) {
      if (events_[i].action == TraceAction::segment_map) return events_[i].address;
    }
    return 0;
  }

  bool map(u64 address, u64 size) override {
    const TraceEvent* e = granted(TraceAction::segment_map, size);
    if (e == nullptr) return false;
    if (e->address != address) {
      differ(fmt::format("segment_map at {:#x}", address));
      return false;
    }
    reserved_ += size;
    return true;
  }

  void unmap(u64 address, u64 size) override {
    if (is_next(TraceAction::segment_unmap, address, size)) reserved_ -= size;
  }

  /// From now on the model may do what the trace has up to here.
  void open(std::size_t event) { until_ = std::max(until_, event); }
  /// The model has done all that the trace has up to here.
  void expect_end() {
    if (peek() != nullptr) differ("nothing");
  }
  /// Notes the first difference: what the model does at the next event of the trace.
  void differ(std::string_view model) {
    if (!difference_.empty()) return;
    const TraceEvent* e = peek();
    const std::size_t event = e != nullptr ? next_ : until_;
    difference_ = fmt::format(
        "the replay under the run's own settings differs from the trace at event {}: {} in the trace, {} in the "
        "replay",
        event, event < events_.size() ? text_of(events_[event]) : "its end", model);
  }

  const std::string& difference() const { return difference_; }
  u64 reserved() const { return reserved_; }
  /// What the driver last refused, and what was reserved then.
  u64 refused() const { return refused_; }
  u64 reserved_at_refusal() const { return reserved_at_refusal_; }

 private:
  static std::string text_of(TraceAction action, u64 size) {
    return fmt::format("{} of {} bytes", to_string(action), size);
  }
  static std::string text_of(const TraceEvent& e) {
    return text_of(e.action, e.size) + (e.action == TraceAction::oom ? "" : fmt::format(" at {:#x}", e.address));
  }

  /// The next segment event that is open.
  const TraceEvent* peek() {
    while (next_ < until_ && !is_segment_event(events_[next_].action)) ++next_;
    return next_ < until_ ? &events_[next_] : nullptr;
  }

  /// The next event, if it is this one; null if the driver refuses.
  const TraceEvent* granted(TraceAction action, u64 size) {
    const TraceEvent* e = difference_.empty() ? peek() : nullptr;
    if (e == nullptr || is_release(e->action)) {
      refused_ = size;
      reserved_at_refusal_ = reserved_;
      return nullptr;
    }
    if (e->action != action || e->size != size) {
      differ(text_of(action, size));
      return nullptr;
    }
    ++next_;
    return e;
  }

  bool is_next(TraceAction action, u64 address, u64 size) {
    const TraceEvent* e = difference_.empty() ? peek() : nullptr;
    if (e != nullptr && e->action == action && e->address == address && e->size == size) {
      ++next_;
      return true;
    }
    differ(fmt::format("{} at {:#x}", text_of(action, size), address));
    return false;
  }

  /// A trace of overlapping segments is not an allocator's.
  bool overlaps(u64 address, u64 size) const {
    if (address + size < address) return true;
    const auto next = segments_.lower_bound(address);
    if (next != segments_.end() && next->first < address + size) return true;
    return next != segments_.begin() && std::prev(next)->first + std::prev(next)->second > address;
  }

  std::span<const TraceEvent> events_;
  std::size_t next_ = 0, until_ = 0;
  std::map<u64, u64> segments_;  ///< address → size
  u64 reserved_ = 0, refused_ = 0, reserved_at_refusal_ = 0;
  std::string difference_;
};

/// A driver with so much memory.
class LimitedDriver final : public MemoryDriver {
 public:
  explicit LimitedDriver(u64 limit) : limit_(limit) {}

  std::optional<u64> allocate(u64 size) override {
    if (!take(size)) return std::nullopt;
    return std::exchange(next_, next_ + size);
  }
  void free(u64, u64 size) override { reserved_ -= size; }
  std::optional<u64> reserve_range() override {
    if (next_ > max_address - AllocatorModel::range_size) return std::nullopt;
    return std::exchange(next_, next_ + AllocatorModel::range_size);
  }
  bool map(u64, u64 size) override { return take(size); }
  void unmap(u64, u64 size) override { reserved_ -= size; }

  u64 peak() const { return peak_; }

 private:
  static constexpr u64 max_address = u64{1} << 63;

  bool take(u64 size) {
    if (size > limit_ || reserved_ > limit_ - size || next_ > max_address - size) return false;
    reserved_ += size;
    peak_ = std::max(peak_, reserved_);
    return true;
  }

  u64 limit_, reserved_ = 0, peak_ = 0, next_ = 0;
};

PlacementRules own_rules(const SnapshotFile& file, const DeviceSnapshot& device) {
  PlacementRules rules;
  if (file.settings) {
    rules.expandable = file.settings->expandable_segments;
    rules.max_split_size = file.settings->max_split_size.value_or(PlacementRules::unlimited);
    for (const auto& [megabytes, divisions] : file.settings->roundup_power2_divisions) {
      const auto index = static_cast<std::size_t>(std::bit_width(megabytes)) - 1;
      if (index < rules.roundup_divisions.size()) rules.roundup_divisions[index] = divisions;
    }
  } else {
    rules.expandable =
        std::ranges::any_of(device.events, [](const TraceEvent& e) { return e.action == TraceAction::segment_map; });
  }
  rules.expandable_private_pools = std::ranges::none_of(device.segments, [&](const DeviceSegment& s) {
    return rules.expandable && !s.expandable && s.pool && *s.pool != PoolName{};
  });
  return rules;
}

/// What the record's own settings say about the failure.
struct OwnReplay {
  std::string problem;  ///< "" if the trace gives itself
  u64 limit = 0;        ///< the memory that the allocator had at the failure
};

bool has_final_blocks(const DeviceSnapshot& device, const AllocatorModel& model, u32 allocations) {
  std::vector<std::pair<u64, u64>> in_model, in_file;
  for (u32 id = 0; id < allocations; ++id) {
    if (const auto place = model.place_of(id)) in_model.push_back(*place);
  }
  for (const DeviceBlock& b : device.blocks) {
    if (b.state != BlockState::inactive) in_file.emplace_back(b.address, b.size);
  }
  std::ranges::sort(in_model);
  std::ranges::sort(in_file);
  return in_model == in_file;
}

void free_or_release(const TraceStep& step, AllocatorModel& model) {
  switch (step.kind) {
    case StepKind::free:
    case StepKind::complete_free:
      model.complete_free(step.id);
      break;
    case StepKind::request_free:
      model.request_free(step.id);
      break;
    case StepKind::release_cached:
      model.release_cached();
      break;
    case StepKind::allow_release:
      model.allow_release(step.pool);
      break;
    default:
      break;
  }
}

OwnReplay replay_own(const DeviceSnapshot& device, const std::vector<TraceStep>& steps, const PlacementRules& rules,
                     std::optional<std::size_t> oom) {
  RecordedDriver driver(device);
  AllocatorModel model(rules, driver);
  OwnReplay own;
  u32 allocations = 0;
  for (const TraceStep& step : steps) {
    const TraceEvent& e = device.events[step.event];
    if (step.kind == StepKind::allocate || step.kind == StepKind::fail) {
      driver.open(step.event);
      allocations = step.id + 1;
      const bool done = model.allocate(step.id, e.size, e.stream, step.pool);
      driver.expect_end();
      const auto place = model.place_of(step.id);
      if (step.kind == StepKind::allocate && (!place || place->first != e.address))
        driver.differ(place ? fmt::format("the address {:#x}", place->first) : "a failure");
      if (step.kind == StepKind::fail && done) driver.differ(fmt::format("the address {:#x}", place->first));
    } else {
      if (step.kind == StepKind::release_cached) driver.open(step.event + std::size_t{1});
      free_or_release(step, model);
      if (step.kind == StepKind::release_cached) driver.expect_end();
    }
    if (!driver.difference().empty()) return {driver.difference()};
    if (step.kind == StepKind::fail && step.event == oom) {
      own.limit = driver.reserved() + e.device_free().value_or(0);
      const u64 free = own.limit - driver.reserved_at_refusal();
      // Another limit than the device's memory (a fraction that the program set, another process that took and returned
      // memory) is not in the file.
      if (driver.refused() <= free)
        own.problem = fmt::format("the driver refused {} although {} were free",
                                  bytes_text(static_cast<i64>(driver.refused())), bytes_text(static_cast<i64>(free)));
    }
  }
  driver.open(device.events.size());
  driver.expect_end();
  if (!driver.difference().empty()) return {driver.difference()};
  if (!has_final_blocks(device, model, allocations))
    own.problem = "the replay under the run's own settings does not end in the blocks of the file";
  return own;
}

/// nullopt if the trace is not an allocator's, so that the model stopped.
std::optional<WhatIf> replay_setting(const DeviceSnapshot& device, const std::vector<TraceStep>& steps,
                                     std::string_view name, const PlacementRules& rules, std::optional<std::size_t> oom,
                                     u64 limit) {
  LimitedDriver driver(limit);
  AllocatorModel model(rules, driver);
  WhatIf result{name, std::nullopt, 0};
  for (const TraceStep& step : steps) {
    const TraceEvent& e = device.events[step.event];
    bool done = true;
    if (step.kind == StepKind::allocate) {
      done = model.allocate(step.id, e.size, e.stream, step.pool);
    } else if (step.kind == StepKind::fail && oom) {
      done = model.allocate(step.id, e.size, e.stream, step.pool);
      if (step.event != oom) {
        model.complete_free(step.id);
        done = true;
      }
    } else {
      free_or_release(step, model);
    }
    if (done && step.event != oom) continue;
    if (model.gave_up() || !oom) return std::nullopt;
    result.fits = done;
    break;
  }
  result.peak_reserved = driver.peak();
  return result;
}

/// The settings of the report's contract, each alone.
std::array<std::pair<std::string_view, PlacementRules>, 4> other_settings() {
  PlacementRules expandable, split, roundup;
  expandable.expandable = true;
  split.max_split_size = 128 * MiB;
  roundup.roundup_divisions.fill(4);
  return {
      {{"default", {}}, {what_if::expandable, expandable}, {what_if::max_split, split}, {what_if::roundup, roundup}}};
}

}  // namespace

WhatIfs replay_other_settings(const SnapshotFile& file, const DeviceSnapshot& device, std::optional<std::size_t> oom) {
  if (oom && !device.events[*oom].device_free()) return {{}, "the oom event does not give the free memory"};
  const TraceSteps trace = trace_steps_of(file, device);
  if (!trace.gap.empty()) return {{}, trace.gap};
  const PlacementRules rules = own_rules(file, device);
  const OwnReplay own = replay_own(device, trace.steps, rules, oom);
  if (!own.problem.empty()) return {{}, own.problem};

  WhatIfs result;
  for (auto [name, other] : other_settings()) {
    other.expandable_private_pools = rules.expandable_private_pools;
    const auto tried =
        replay_setting(device, trace.steps, name, other, oom, oom ? own.limit : std::numeric_limits<u64>::max());
    if (!tried) return {{}, "the trace is too large for the model"};
    result.settings.push_back(*tried);
  }
  return result;
}

}  // namespace oomdoctor
