#include "evidence/snapshot_builder.h"

#include <algorithm>
#include <bit>

#include "evidence/snapshot_keys.h"

namespace oomdoctor {
namespace {

std::string plain(std::string_view text) {
  constexpr std::size_t longest = 60;
  std::string out(text.substr(0, longest));
  std::replace_if(
      out.begin(), out.end(), [](unsigned char c) { return c < 0x20 || c > 0x7e; }, '?');
  return out;
}

}  // namespace

void SnapshotBuilder::set_frame(u32 index, u32 key, SnapshotValue value) {
  StackFrame frame = stacks_.frame(frames_[index]);
  if ((key == Known::filename || key == Known::name) && value.tag == ValueTag::text)
    (key == Known::filename ? frame.file : frame.function) = static_cast<TextId>(value.bits);
  if (key == Known::line && value.tag == ValueTag::integer && value.bits <= most_signed >> 32)
    frame.line = static_cast<int>(value.bits);
  frames_[index] = stacks_.add_frame(frame);
}

void SnapshotBuilder::set_event(TraceEvent& event, u32 key, SnapshotValue value) {
  switch (key) {
    case Known::action:
      if (value.tag != ValueTag::text) refuse_type(key, "a text");
      if (value.bits >= Known::first_action && value.bits < Known::known_texts)
        event.action = static_cast<TraceAction>(value.bits - Known::first_action);
      else if (unknown_.size() < SnapshotLimits::scalars)
        unknown_.insert("the action " + plain(text_of(value)));
      break;
    case Known::addr:
    case Known::device_free:
      if (const auto place = address_of(value, key)) event.address = *place;
      break;
    case Known::size:
      event.size = size_of(value, key).value_or(0);
      break;
    case Known::stream:
      event.stream = address_of(value, key).value_or(0);
      break;
    case Known::time_us:
      event.time_us = integer_of(value, key).value_or(TraceEvent::no_time);
      break;
    case Known::frames:
      event.stack = frames_list(value, key);
      break;
    case Known::pool_id:
      event.pool = pool(value);
      break;
    case Known::compile_context:
    case Known::user_metadata:
      break;
    default:
      return;
  }
  seen_[key] = true;
}

void SnapshotBuilder::set_block(BlockDraft& block, u32 key, SnapshotValue value) {
  switch (key) {
    case Known::address:
      block.address = address_of(value, key);
      break;
    case Known::size:
      block.size = size_of(value, key);
      break;
    case Known::requested_size:
      block.requested = size_of(value, key);
      break;
    case Known::state: {
      // The documentation calls the last one active_awaiting_free.
      if (value.tag != ValueTag::text) refuse_type(key, "a text");
      const bool known_state = value.bits >= Known::first_state && value.bits < Known::first_action;
      block.state = known_state ? static_cast<BlockState>(value.bits - Known::first_state)
                    : text_of(value) == "active_awaiting_free" ? BlockState::active_pending_free
                                                               : BlockState::inactive;
      break;
    }
    case Known::frames:
      block.frames = value;
      break;
    case Known::history:
      block.history = value;
      break;
    default:
      return;
  }
  seen_[key] = true;
}

void SnapshotBuilder::set_segment(SegmentDraft& draft, u32 key, SnapshotValue value) {
  switch (key) {
    case Known::device:
      draft.device = static_cast<int>(std::clamp<i64>(integer_of(value, key).value_or(0), -1, 1 << 16));
      break;
    case Known::address:
      draft.address = address_of(value, key);
      break;
    case Known::total_size:
      draft.size = size_of(value, key);
      break;
    case Known::stream:
      draft.segment.stream = address_of(value, key).value_or(0);
      break;
    case Known::segment_type:
      draft.segment.small = value.tag == ValueTag::text && value.bits == Known::small;
      break;
    case Known::segment_pool_id:
      draft.segment.pool = pools_[pool(value)];
      break;
    case Known::is_expandable:
      draft.segment.expandable = is_true(value);
      break;
    case Known::blocks:
      draft.blocks = value;
      break;
    case Known::frames:
      draft.frames = value;
      break;
    case Known::requested_size:
      break;
    default:
      return;
  }
  seen_[key] = true;
}

void SnapshotBuilder::set_top(TopDraft& top, u32 key, SnapshotValue value) {
  switch (key) {
    case Known::segments:
      top.segments = value;
      break;
    case Known::device_traces:
      top.traces = value;
      break;
    case Known::allocator_settings:
      top.settings = value;
      break;
    case Known::external_annotations:
      top.annotations = value;
      break;
    case Known::host_segments:
    case Known::host_traces:
      break;
    case Known::trace_alloc_overflowed:
      overflow_value_ = value;
      break;
    case Known::trace_alloc_max_entries:
      break;
    default:
      if (unknown_.size() < SnapshotLimits::scalars) unknown_.insert("the key " + plain(stacks_.text(key)));
      return;
  }
  seen_[key] = true;
}

void SnapshotBuilder::set_settings(u32 key, SnapshotValue value) {
  switch (key) {
    case Known::alloc_conf:
      settings_.text = text_of(value);
      break;
    case Known::max_split_size:
      if (const auto most = integer_of(value, key); most && *most > 0)
        settings_.max_split_size = static_cast<u64>(*most);
      break;
    case Known::garbage_collection_threshold:
      if (value.tag == ValueTag::real) settings_.garbage_collection_threshold = std::bit_cast<double>(value.bits);
      break;
    case Known::expandable_segments:
      settings_.expandable_segments = is_true(value);
      break;
    case Known::roundup_power2_divisions:
    case Known::graph_capture_record_stream_reuse:
    case Known::trace_alloc_max_entries:
      break;
    case Known::trace_alloc_overflowed:
      overflow_value_ = value;
      break;
    default:
      return;
  }
  seen_[key] = true;
}

}  // namespace oomdoctor
