// From the values of a snapshot in any form to its plain data. A reader passes each dict, list and scalar as soon as it
// is complete, and the builder takes the fields that it knows: there is no tree of values. What a dict is follows from
// its keys, because their order means nothing and a release adds keys.
//
// A value is a handle. Dicts and lists may be referred to again: a pickle shares the list of frames of a stack between
// all events that have it.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "evidence/snapshot.h"
#include "evidence/snapshot_problem.h"

namespace oomdoctor {

enum class ValueTag : unsigned char { none, truth, integer, wide, too_wide, real, text, dict, list, pair };

/// One value. 16 bytes, because a pickle of torch's C++ code has all events on its stack at once.
struct SnapshotValue {
  u64 bits = 0;  ///< of an integer its value, of a real its bits, else a number within the builder
  ValueTag tag = ValueTag::none;

  static SnapshotValue of_integer(i64 value) { return {static_cast<u64>(value), ValueTag::integer}; }
  /// 2^63 and more.
  static SnapshotValue of_wide(u64 value) { return {value, ValueTag::wide}; }
  static SnapshotValue of_truth(bool value) { return {value ? u64{1} : u64{0}, ValueTag::truth}; }
  static SnapshotValue of_real(double value);
};

/// The bounds of a file, many times what any snapshot has.
struct SnapshotLimits {
  static constexpr std::size_t depth = 32;             ///< dicts and lists inside each other
  static constexpr std::size_t containers = 1 << 24;   ///< two for each event
  static constexpr std::size_t text_bytes = 16 << 20;  ///< of one text
  static constexpr std::size_t scalars = 64;           ///< kept of a list of numbers; a pool has two
};

/// Throws SnapshotProblem for values that contradict the form. Not thread-safe.
class SnapshotBuilder {
 public:
  SnapshotBuilder();

  SnapshotValue text(std::string_view text);
  SnapshotValue empty_dict();
  SnapshotValue empty_list();
  SnapshotValue tuple(std::span<const SnapshotValue> items);
  /// Key, value, key, value, …
  void set_items(SnapshotValue dict, std::span<const SnapshotValue> pairs);
  void append(SnapshotValue list, std::span<const SnapshotValue> items);

  /// The text of a value; "" for any other.
  std::string_view text_of(SnapshotValue value) const;
  /// True once a key occurred that only a snapshot has.
  bool saw_snapshot() const { return saw_snapshot_; }

  /// The data of the file with this outermost value; leaves the builder empty.
  SnapshotFile take(SnapshotValue top);
  /// Keys of the file and actions of events that this program does not know; for a note.
  const std::set<std::string>& unknown() const { return unknown_; }

 private:
  enum class ContainerKind : unsigned char {
    empty,
    frame,
    event,
    block,
    segment,
    history,
    annotation,
    top,
    settings,
    divisions,
    stack,
    members,
    other
  };
  struct Container {
    ContainerKind kind = ContainerKind::empty;
    unsigned char depth = 1;
    u32 index = 0;  ///< in the vector of its kind
  };
  struct HistoryEntry {
    std::optional<u64> address, size;
    u32 frames = no_stack;
  };
  /// A block with the list that holds its frames, which may still grow.
  struct BlockDraft {
    std::optional<u64> address, size, requested;
    BlockState state = BlockState::inactive;
    SnapshotValue frames, history;
  };
  struct SegmentDraft {
    DeviceSegment segment;
    std::optional<u64> address, size;
    int device = 0;
    SnapshotValue frames, blocks;
  };
  struct AnnotationDraft {
    TraceAnnotation annotation;
    std::optional<int> device;
  };
  struct TopDraft {
    SnapshotValue segments, traces, settings, annotations;
  };

  Container& container(SnapshotValue value) { return containers_[static_cast<std::size_t>(value.bits)]; }
  const Container& container(SnapshotValue value) const { return containers_[static_cast<std::size_t>(value.bits)]; }
  SnapshotValue new_container(ValueTag tag);
  [[noreturn]] static void refuse_type(u32 key, std::string_view wanted);
  void deepen(Container& outer, SnapshotValue inner) const;
  ContainerKind kind_of(std::span<const SnapshotValue> pairs) const;
  void set(const Container& dict, u32 key, SnapshotValue value);
  void set_frame(u32 index, u32 key, SnapshotValue value);
  void set_event(TraceEvent& event, u32 key, SnapshotValue value);
  void set_block(BlockDraft& block, u32 key, SnapshotValue value);
  void set_segment(SegmentDraft& segment, u32 key, SnapshotValue value);
  void set_top(TopDraft& top, u32 key, SnapshotValue value);
  void set_settings(u32 key, SnapshotValue value);
  u32 pool(SnapshotValue value);
  u32 add_pool(PoolName name);
  std::optional<u64> size_of(SnapshotValue value, u32 key) const;
  std::optional<u64> address_of(SnapshotValue value, u32 key) const;
  std::optional<i64> integer_of(SnapshotValue value, u32 key) const;
  bool is_true(SnapshotValue value) const;
  u32 frames_list(SnapshotValue value, u32 key) const;
  std::span<const SnapshotValue> members(SnapshotValue list, ContainerKind of, std::string_view what) const;
  StackId stack_of(u32 list) const;
  std::string torch_release() const;
  void take_segments(SnapshotValue list, SnapshotFile& file);
  void take_blocks(const SegmentDraft& draft, DeviceSegment& segment, DeviceSnapshot& device);
  DeviceBlock take_block(const BlockDraft& draft, u64 address) const;
  void take_traces(SnapshotValue list, SnapshotFile& file);
  void take_annotations(SnapshotValue list, SnapshotFile& file);

  StackTable stacks_;
  std::vector<Container> containers_;
  std::vector<u32> frames_;  ///< of frame dicts: their ids
  std::vector<TraceEvent> events_;
  std::vector<BlockDraft> blocks_;
  std::vector<SegmentDraft> segments_;
  std::vector<HistoryEntry> histories_;
  std::vector<AnnotationDraft> annotations_;
  std::vector<TopDraft> tops_;
  std::vector<std::vector<SnapshotValue>> members_;
  std::vector<u32> scratch_;
  AllocatorSettings settings_;
  SnapshotValue overflow_value_;
  std::vector<PoolName> pools_;
  std::map<PoolName, u32> pool_ids_;
  std::set<std::string> unknown_;
  std::vector<bool> seen_;  ///< the keys of snapshots that occurred where they belong
  bool saw_snapshot_ = false;
};

}  // namespace oomdoctor
