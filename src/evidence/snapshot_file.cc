#include "evidence/snapshot_builder.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "evidence/snapshot_keys.h"

namespace oomdoctor {
std::string SnapshotBuilder::torch_release() const {
  const auto any = [&](std::initializer_list<u32> keys) {
    return std::any_of(keys.begin(), keys.end(), [&](u32 key) { return seen_[key]; });
  };
  if (any({Known::pool_id, Known::trace_alloc_max_entries, Known::trace_alloc_overflowed, Known::host_segments,
           Known::host_traces}))
    return "2.12";
  if (any({Known::user_metadata, Known::graph_capture_record_stream_reuse})) return "2.10";
  if (any({Known::compile_context})) return "2.8";
  if (any({Known::external_annotations})) return "2.5";
  if (any({Known::allocator_settings, Known::time_us})) return "2.3";
  if (any({Known::segment_pool_id})) return "2.1";
  if (any({Known::requested_size})) return "2.0";
  return any({Known::history}) ? "1.13" : "1.12";
}

SnapshotFile SnapshotBuilder::take(SnapshotValue top) {
  SnapshotFile file;
  TopDraft parts;
  const bool is_dict = top.tag == ValueTag::dict && container(top).kind == ContainerKind::top;
  if (is_dict) {
    parts = tops_[container(top).index];
  } else if (top.tag == ValueTag::list) {
    const Container& of = container(top);
    const auto is_segment = [&](SnapshotValue item) {
      return item.tag == ValueTag::dict && container(item).kind == ContainerKind::segment;
    };
    if (of.kind == ContainerKind::members && is_segment(members_[of.index].front())) parts.segments = top;
  }
  if (!is_dict && parts.segments.tag == ValueTag::none)
    throw SnapshotProblem{SnapshotProblemKind::not_a_snapshot, "it has neither segments nor device_traces"};
  take_segments(parts.segments, file);
  take_traces(parts.traces, file);
  take_annotations(parts.annotations, file);
  std::erase_if(file.devices, [](const DeviceSnapshot& one) { return one.segments.empty() && one.events.empty(); });
  std::sort(file.devices.begin(), file.devices.end(), [](const auto& a, const auto& b) { return a.device < b.device; });
  if (parts.settings.tag == ValueTag::dict) file.settings = settings_;
  if (overflow_value_.tag != ValueTag::none)
    for (DeviceSnapshot& one : file.devices) one.overflowed = is_true(overflow_value_);
  file.torch = torch_release();
  file.pools = std::move(pools_);
  file.stacks = std::move(stacks_);
  return file;
}

namespace {

DeviceSnapshot& device_of(SnapshotFile& file, int number) {
  const auto found = std::find_if(file.devices.begin(), file.devices.end(),
                                  [&](const DeviceSnapshot& one) { return one.device == number; });
  if (found != file.devices.end()) return *found;
  file.devices.emplace_back().device = number;
  return file.devices.back();
}

}  // namespace

void SnapshotBuilder::take_segments(SnapshotValue list, SnapshotFile& file) {
  std::vector<const SegmentDraft*> drafts;
  for (const SnapshotValue item : members(list, ContainerKind::segment, "segments"))
    drafts.push_back(&segments_[container(item).index]);
  std::stable_sort(drafts.begin(), drafts.end(), [](const SegmentDraft* a, const SegmentDraft* b) {
    return std::tuple(a->device, a->address.value_or(0)) < std::tuple(b->device, b->address.value_or(0));
  });
  for (const SegmentDraft* draft : drafts) {
    if (!draft->size || !draft->address) refuse_malformed("a segment has no \"address\" or no \"total_size\"");
    DeviceSnapshot& device = device_of(file, draft->device);
    DeviceSegment segment = draft->segment;
    segment.address = *draft->address;
    segment.size = *draft->size;
    segment.stack = stack_of(frames_list(draft->frames, Known::frames));
    take_blocks(*draft, segment, device);
    device.segments.push_back(segment);
  }
}

void SnapshotBuilder::take_blocks(const SegmentDraft& draft, DeviceSegment& segment, DeviceSnapshot& device) {
  segment.first_block = static_cast<u32>(device.blocks.size());
  u64 used = 0;
  for (const SnapshotValue item : members(draft.blocks, ContainerKind::block, "blocks")) {
    const BlockDraft& block = blocks_[container(item).index];
    if (!block.size) refuse_malformed("a block has no \"size\"");
    if (*block.size > segment.size - used) refuse_malformed("the sizes of the blocks exceed that of their segment");
    device.blocks.push_back(take_block(block, segment.address + used));
    used += *block.size;
  }
  segment.blocks = static_cast<u32>(device.blocks.size()) - segment.first_block;
}

DeviceBlock SnapshotBuilder::take_block(const BlockDraft& draft, u64 place) const {
  DeviceBlock block;
  block.address = draft.address.value_or(place);
  block.size = *draft.size;
  block.state = draft.state;
  if (block.state == BlockState::inactive) return block;
  if (draft.requested && *draft.requested > block.size)
    refuse_malformed("the \"requested_size\" of a block exceeds its size");
  block.requested = draft.requested;
  block.stack = stack_of(frames_list(draft.frames, Known::frames));
  // Merged blocks keep the entries of all that was in them: only the first one may be that of the block.
  const auto entries = members(draft.history, ContainerKind::history, "history");
  if (entries.empty()) return block;
  const HistoryEntry& current = histories_[container(entries.front()).index];
  if (current.address != block.address) return block;
  if (!block.requested) block.requested = current.size;
  if (block.stack == no_stack) block.stack = stack_of(current.frames);
  return block;
}

void SnapshotBuilder::take_traces(SnapshotValue list, SnapshotFile& file) {
  if (list.tag == ValueTag::none) return;
  if (list.tag != ValueTag::list) refuse_malformed("\"device_traces\" has another type than a list");
  const Container& of = container(list);
  if (of.kind == ContainerKind::empty) return;
  if (of.kind != ContainerKind::members) refuse_malformed("\"device_traces\" is a list of another type");
  for (TraceEvent& event : events_) event.stack = stack_of(event.stack);
  const std::vector<SnapshotValue>& traces = members_[of.index];
  for (std::size_t i = 0; i < traces.size(); ++i) {
    const auto items = members(traces[i], ContainerKind::event, "device_traces");
    if (items.empty()) continue;
    DeviceSnapshot& device = device_of(file, static_cast<int>(i));
    const auto index = [&](std::size_t k) { return container(items[k]).index; };
    bool all = items.size() == events_.size();
    for (std::size_t k = 0; k < items.size() && all; ++k) all = index(k) == k;
    if (all) {  // the usual file has one device, and a large one should not be in memory twice
      device.events = std::move(events_);
      events_.clear();
      return;
    }
    device.events.reserve(items.size());
    for (std::size_t k = 0; k < items.size(); ++k)
      if (index(k) < events_.size()) device.events.push_back(events_[index(k)]);
  }
}

void SnapshotBuilder::take_annotations(SnapshotValue list, SnapshotFile& file) {
  for (const SnapshotValue item : members(list, ContainerKind::annotation, "external_annotations")) {
    const AnnotationDraft& draft = annotations_[container(item).index];
    for (DeviceSnapshot& one : file.devices)
      if (!draft.device || one.device == *draft.device) one.annotations.push_back(draft.annotation);
  }
}

}  // namespace oomdoctor
