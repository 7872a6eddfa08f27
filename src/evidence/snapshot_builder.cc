#include "evidence/snapshot_builder.h"

#include <algorithm>
#include <array>
#include <bit>
#include <tuple>
#include <utility>

#include "base/ascii.h"

namespace oomdoctor {
namespace {

using enum SnapshotProblemKind;
using Tag = SnapshotValue::Tag;

// The texts that the builder knows. They are the first ones of its table, so a text is compared once.
struct Known {
  enum : u32 {
  // the file
  segments, device_traces, allocator_settings, external_annotations, host_segments, host_traces,
  // segments, blocks
  device, address, total_size, allocated_size, active_size, requested_size, stream, segment_type, segment_pool_id,
  is_expandable, blocks, frames, size, state, history, addr, real_size,
  // events
  action, device_free, time_us, compile_context, user_metadata, pool_id,
  // frames, annotations
  filename, name, line, stage,
  // settings
  alloc_conf, max_split_size, garbage_collection_threshold, expandable_segments, roundup_power2_divisions,
  graph_capture_record_stream_reuse, trace_alloc_max_entries, trace_alloc_overflowed,
  // values
  small, start, first_state, first_action = first_state + 3,
  known_texts = first_action + static_cast<u32>(TraceAction::other)
  };
};
constexpr auto known_names = std::to_array<std::string_view>(
    {"segments", "device_traces", "allocator_settings", "external_annotations", "host_segments", "host_traces",
     "device", "address", "total_size", "allocated_size", "active_size", "requested_size", "stream", "segment_type",
     "segment_pool_id", "is_expandable", "blocks", "frames", "size", "state", "history", "addr", "real_size",
     "action", "device_free", "time_us", "compile_context", "user_metadata", "pool_id",
     "filename", "name", "line", "stage",
     "PYTORCH_CUDA_ALLOC_CONF", "max_split_size", "garbage_collection_threshold", "expandable_segments",
     "roundup_power2_divisions", "graph_capture_record_stream_reuse", "trace_alloc_max_entries",
     "trace_alloc_overflowed", "small", "START"});
static_assert(known_names.size() == Known::first_state);

constexpr u64 most_signed = std::numeric_limits<i64>::max();

[[noreturn]] void malformed(std::string text) { throw SnapshotProblem{snapshot_malformed, std::move(text)}; }
[[noreturn]] void beyond_limit(std::string text) { throw SnapshotProblem{snapshot_limit, std::move(text)}; }

[[noreturn]] void wrong_type(u32 key, std::string_view wanted) {
  malformed("the value of \"" + std::string(known_names[key]) + "\" has another type than " + std::string(wanted));
}

bool is_container(SnapshotValue value) { return value.tag == Tag::dict || value.tag == Tag::list; }

std::string plain(std::string_view text) {
  constexpr std::size_t longest = 60;
  std::string out(text.substr(0, longest));
  std::replace_if(out.begin(), out.end(), [](unsigned char c) { return c < 0x20 || c > 0x7e; }, '?');
  return out;
}

}  // namespace

SnapshotValue SnapshotValue::of_real(double value) { return {std::bit_cast<u64>(value), Tag::real}; }

SnapshotBuilder::SnapshotBuilder() : seen_(Known::known_texts) {
  for (const std::string_view known : known_names) stacks_.add_text(known);
  for (const BlockState known : {BlockState::inactive, BlockState::active_allocated, BlockState::active_pending_free})
    stacks_.add_text(to_string(known));
  for (u32 known = 0; known < static_cast<u32>(TraceAction::other); ++known)
    stacks_.add_text(to_string(static_cast<TraceAction>(known)));
  add_pool({});
}

SnapshotValue SnapshotBuilder::text(std::string_view text) {
  const TextId id = stacks_.add_text(text);
  saw_snapshot_ |= id == Known::segments || id == Known::device_traces || id == Known::total_size;
  return {id, Tag::text};
}

std::string_view SnapshotBuilder::text_of(Value value) const {
  return value.tag == Tag::text ? stacks_.text(static_cast<TextId>(value.bits)) : std::string_view();
}

SnapshotValue SnapshotBuilder::new_container(Tag tag) {
  if (containers_.size() >= SnapshotLimits::containers) beyond_limit("it has more dicts and lists than any snapshot: length");
  containers_.emplace_back();
  return {containers_.size() - 1, tag};
}

SnapshotValue SnapshotBuilder::empty_dict() { return new_container(Tag::dict); }
SnapshotValue SnapshotBuilder::empty_list() { return new_container(Tag::list); }

SnapshotValue SnapshotBuilder::tuple(std::span<const Value> items) {
  const auto is_part = [](Value item) { return item.tag == Tag::integer || item.tag == Tag::wide; };
  if (items.size() == 2 && is_part(items[0]) && is_part(items[1]))
    return {add_pool({items[0].bits, items[1].bits}), Tag::pair};
  const Value list = empty_list();
  append(list, items);
  return list;
}

u32 SnapshotBuilder::add_pool(PoolName name) {
  const auto [at, is_new] = pool_ids_.try_emplace(name, static_cast<u32>(pools_.size()));
  if (is_new) pools_.push_back(name);
  return at->second;
}

void SnapshotBuilder::deepen(Container& outer, Value inner) const {
  if (!is_container(inner)) return;
  const unsigned depth = container(inner).depth + 1U;
  if (depth > SnapshotLimits::depth) beyond_limit("its dicts and lists are nested deeper than in any snapshot");
  outer.depth = std::max(outer.depth, static_cast<unsigned char>(depth));
}

// --- dicts ------------------------------------------------------------------------------------------------------------

SnapshotBuilder::Kind SnapshotBuilder::kind_of(std::span<const Value> pairs) const {
  bool has_address = false;
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    if (pairs[i].tag != Tag::text) continue;
    switch (pairs[i].bits) {
      case Known::filename: return Kind::frame;
      case Known::action: return Kind::event;
      case Known::real_size: return Kind::history;
      case Known::blocks: case Known::total_size: return Kind::segment;
      case Known::state: return Kind::block;
      case Known::stage: return Kind::annotation;
      case Known::segments: case Known::device_traces: return Kind::top;
      case Known::alloc_conf: case Known::max_split_size: case Known::expandable_segments: case Known::roundup_power2_divisions:
      case Known::trace_alloc_overflowed: return Kind::settings;
      case Known::addr: has_address = true; break;
      default: break;
    }
  }
  if (has_address) return Kind::event;  // of which the action was left out
  const std::string_view first = text_of(pairs[0]);
  return !first.empty() && std::all_of(first.begin(), first.end(), is_digit) ? Kind::divisions : Kind::other;
}

void SnapshotBuilder::set_items(Value dict, std::span<const Value> pairs) {
  if (pairs.empty()) return;
  Container of = container(dict);
  for (std::size_t i = 1; i < pairs.size(); i += 2) deepen(of, pairs[i]);
  if (of.kind == Kind::empty) {
    of.kind = kind_of(pairs);
    const auto add = [&](auto& all) {
      of.index = static_cast<u32>(all.size());
      all.emplace_back();
    };
    switch (of.kind) {
      case Kind::frame: add(frames_); break;
      case Kind::event: add(events_); break;
      case Kind::block: add(blocks_); break;
      case Kind::segment: add(segments_); break;
      case Kind::history: add(histories_); break;
      case Kind::annotation: add(annotations_); break;
      case Kind::top: add(tops_); break;
      default: break;
    }
    if (of.kind == Kind::frame) frames_.back() = stacks_.add_frame({});
  }
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    const bool is_text = pairs[i].tag == Tag::text;
    if (of.kind == Kind::other) {
      if (is_true(pairs[i + 1])) of.index = 1;
    } else if (!is_text) {
      malformed("a key of a dict is no text");
    } else if (of.kind == Kind::divisions) {
      const std::string_view name_of = text_of(pairs[i]);
      u64 megabytes = 0;
      for (const char c : name_of.substr(0, 9)) megabytes = megabytes * 10 + static_cast<u64>(c - '0');
      if (const auto n = integer_of(pairs[i + 1], Known::roundup_power2_divisions); n && *n >= 0)
        settings_.roundup_power2_divisions[megabytes] = static_cast<u64>(*n);
    } else {
      set(of, static_cast<u32>(pairs[i].bits), pairs[i + 1]);
    }
  }
  container(dict) = of;
}

void SnapshotBuilder::set(const Container& dict, u32 key, Value value) {
  switch (dict.kind) {
    case Kind::frame: return set_frame(dict.index, key, value);
    case Kind::event: return set_event(events_[dict.index], key, value);
    case Kind::block: return set_block(blocks_[dict.index], key, value);
    case Kind::segment: return set_segment(segments_[dict.index], key, value);
    case Kind::history: {
      HistoryEntry& entry = histories_[dict.index];
      if (key == Known::addr) entry.address = address_of(value, key);
      if (key == Known::real_size) entry.size = size_of(value, key);
      if (key == Known::frames) entry.frames = frames_list(value, key);
      return;
    }
    case Kind::annotation: {
      AnnotationDraft& draft = annotations_[dict.index];
      if (key == Known::stage) draft.annotation.start = value.tag == Tag::text && value.bits == Known::start;
      if (key == Known::name) draft.annotation.name = text_of(value);
      if (key == Known::time_us) draft.annotation.time_us = integer_of(value, key).value_or(0);
      if (key == Known::device) draft.device = static_cast<int>(integer_of(value, key).value_or(0));
      return;
    }
    case Kind::top: return set_top(tops_[dict.index], key, value);
    case Kind::settings: return set_settings(key, value);
    default: return;
  }
}

void SnapshotBuilder::set_frame(u32 index, u32 key, Value value) {
  StackFrame frame = stacks_.frame(frames_[index]);
  if ((key == Known::filename || key == Known::name) && value.tag == Tag::text)
    (key == Known::filename ? frame.file : frame.function) = static_cast<TextId>(value.bits);
  if (key == Known::line && value.tag == Tag::integer && value.bits <= most_signed >> 32) frame.line = static_cast<int>(value.bits);
  frames_[index] = stacks_.add_frame(frame);
}

void SnapshotBuilder::set_event(TraceEvent& event, u32 key, Value value) {
  switch (key) {
    case Known::action:
      if (value.tag != Tag::text) wrong_type(key, "a text");
      if (value.bits >= Known::first_action && value.bits < Known::known_texts)
        event.action = static_cast<TraceAction>(value.bits - Known::first_action);
      else if (unknown_.size() < SnapshotLimits::scalars)
        unknown_.insert("the action " + plain(text_of(value)));
      break;
    case Known::addr: case Known::device_free:
      if (const auto place = address_of(value, key)) event.address = *place;
      break;
    case Known::size: event.size = size_of(value, key).value_or(0); break;
    case Known::stream: event.stream = address_of(value, key).value_or(0); break;
    case Known::time_us: event.time_us = integer_of(value, key).value_or(TraceEvent::no_time); break;
    case Known::frames: event.stack = frames_list(value, key); break;
    case Known::pool_id: event.pool = pool(value); break;
    case Known::compile_context: case Known::user_metadata: break;
    default: return;
  }
  seen_[key] = true;
}

void SnapshotBuilder::set_block(BlockDraft& block, u32 key, Value value) {
  switch (key) {
    case Known::address: block.address = address_of(value, key); break;
    case Known::size: block.size = size_of(value, key); break;
    case Known::requested_size: block.requested = size_of(value, key); break;
    case Known::state: {
      // The documentation calls the last one active_awaiting_free.
      if (value.tag != Tag::text) wrong_type(key, "a text");
      const bool known_state = value.bits >= Known::first_state && value.bits < Known::first_action;
      block.state = known_state ? static_cast<BlockState>(value.bits - Known::first_state)
                    : text_of(value) == "active_awaiting_free" ? BlockState::active_pending_free
                                                               : BlockState::inactive;
      break;
    }
    case Known::frames: block.frames = value; break;
    case Known::history: block.history = value; break;
    default: return;
  }
  seen_[key] = true;
}

void SnapshotBuilder::set_segment(SegmentDraft& draft, u32 key, Value value) {
  switch (key) {
    case Known::device: draft.device = static_cast<int>(std::clamp<i64>(integer_of(value, key).value_or(0), -1, 1 << 16)); break;
    case Known::address: draft.address = address_of(value, key); break;
    case Known::total_size: draft.size = size_of(value, key); break;
    case Known::stream: draft.segment.stream = address_of(value, key).value_or(0); break;
    case Known::segment_type: draft.segment.small = value.tag == Tag::text && value.bits == Known::small; break;
    case Known::segment_pool_id: draft.segment.pool = pools_[pool(value)]; break;
    case Known::is_expandable: draft.segment.expandable = is_true(value); break;
    case Known::blocks: draft.blocks = value; break;
    case Known::frames: draft.frames = value; break;
    case Known::requested_size: break;
    default: return;
  }
  seen_[key] = true;
}

void SnapshotBuilder::set_top(TopDraft& top, u32 key, Value value) {
  switch (key) {
    case Known::segments: top.segments = value; break;
    case Known::device_traces: top.traces = value; break;
    case Known::allocator_settings: top.settings = value; break;
    case Known::external_annotations: top.annotations = value; break;
    case Known::host_segments: case Known::host_traces: break;
    case Known::trace_alloc_overflowed: overflow_value_ = value; break;
    case Known::trace_alloc_max_entries: break;
    default:
      if (unknown_.size() < SnapshotLimits::scalars) unknown_.insert("the key " + plain(stacks_.text(key)));
      return;
  }
  seen_[key] = true;
}

void SnapshotBuilder::set_settings(u32 key, Value value) {
  switch (key) {
    case Known::alloc_conf: settings_.text = text_of(value); break;
    case Known::max_split_size:
      if (const auto most = integer_of(value, key); most && *most > 0) settings_.max_split_size = static_cast<u64>(*most);
      break;
    case Known::garbage_collection_threshold:
      if (value.tag == Tag::real) settings_.garbage_collection_threshold = std::bit_cast<double>(value.bits);
      break;
    case Known::expandable_segments: settings_.expandable_segments = is_true(value); break;
    case Known::roundup_power2_divisions: case Known::graph_capture_record_stream_reuse: case Known::trace_alloc_max_entries: break;
    case Known::trace_alloc_overflowed: overflow_value_ = value; break;
    default: return;
  }
  seen_[key] = true;
}

// --- lists ------------------------------------------------------------------------------------------------------------

void SnapshotBuilder::append(Value list, std::span<const Value> items) {
  if (items.empty()) return;
  Container of = container(list);
  for (const Value item : items) deepen(of, item);
  const auto is_frame = [&](Value item) { return item.tag == Tag::dict && container(item).kind == Kind::frame; };
  if (of.kind == Kind::empty) {
    of.kind = is_frame(items[0]) ? Kind::stack : Kind::members;
    of.index = of.kind == Kind::stack ? empty_stack : static_cast<u32>(members_.size());
    if (of.kind == Kind::members) members_.emplace_back();
  }
  if (of.kind == Kind::stack) {
    const auto before = stacks_.stack(of.index);
    scratch_.assign(before.begin(), before.end());
    for (const Value item : items) {
      if (!is_frame(item)) malformed("an item of a list of frames has another type");
      scratch_.push_back(frames_[container(item).index]);
    }
    of.index = stacks_.add_stack(scratch_);
  } else {
    std::vector<Value>& members = members_[of.index];
    for (const Value item : items)
      if (is_container(item) || members.size() < SnapshotLimits::scalars) members.push_back(item);
  }
  container(list) = of;
}

std::span<const SnapshotValue> SnapshotBuilder::members(Value list, Kind of, std::string_view what) const {
  if (list.tag == Tag::none) return {};
  if (list.tag != Tag::list) malformed("\"" + std::string(what) + "\" has another type than a list");
  const Container& from = container(list);
  if (from.kind == Kind::empty) return {};
  if (from.kind != Kind::members) malformed("\"" + std::string(what) + "\" is a list of another type");
  for (const Value item : members_[from.index])
    if (item.tag != Tag::dict || container(item).kind != of)
      malformed("\"" + std::string(what) + "\" has an item of another type than its dict");
  return members_[from.index];
}

// --- scalars ----------------------------------------------------------------------------------------------------------

std::optional<u64> SnapshotBuilder::address_of(Value value, u32 key) const {
  if (value.tag == Tag::none) return std::nullopt;
  if (value.tag == Tag::integer || value.tag == Tag::wide) return value.bits;  // a negative one in two's complement
  if (value.tag == Tag::too_wide) beyond_limit("a number of \"" + std::string(known_names[key]) + "\" has more than 64 bits");
  wrong_type(key, "a number");
}

std::optional<u64> SnapshotBuilder::size_of(Value value, u32 key) const {
  const auto size = address_of(value, key);
  if (size && *size > most_signed) malformed("\"" + std::string(known_names[key]) + "\" is a negative size");
  return size;
}

std::optional<i64> SnapshotBuilder::integer_of(Value value, u32 key) const {
  if (value.tag == Tag::truth) return static_cast<i64>(value.bits);
  const auto bits = address_of(value, key);
  return bits ? std::optional(static_cast<i64>(*bits)) : std::nullopt;
}

bool SnapshotBuilder::is_true(Value value) const {
  if (value.tag == Tag::truth || value.tag == Tag::integer) return value.bits != 0 && value.bits <= most_signed;
  if (!is_container(value)) return false;
  const Container& of = container(value);
  if (of.kind == Kind::other) return of.index != 0;
  return of.kind == Kind::members && std::any_of(members_[of.index].begin(), members_[of.index].end(), [](Value item) {
           return (item.tag == Tag::truth || item.tag == Tag::integer) && item.bits != 0 && item.bits <= most_signed;
         });
}

u32 SnapshotBuilder::pool(Value value) {
  if (value.tag == Tag::pair) return static_cast<u32>(value.bits);
  if (value.tag == Tag::none) return 0;
  if (value.tag != Tag::list) wrong_type(Known::segment_pool_id, "a pair");
  const Container& of = container(value);
  if (of.kind != Kind::members || members_[of.index].size() != 2) wrong_type(Known::segment_pool_id, "a pair");
  const auto& pair = members_[of.index];
  return add_pool({address_of(pair[0], Known::segment_pool_id).value_or(0), address_of(pair[1], Known::segment_pool_id).value_or(0)});
}

u32 SnapshotBuilder::frames_list(Value value, u32 key) const {
  if (value.tag == Tag::none) return no_stack;
  if (value.tag != Tag::list) wrong_type(key, "a list");
  return static_cast<u32>(value.bits);
}

StackId SnapshotBuilder::stack_of(u32 list) const {
  if (list == no_stack) return no_stack;
  const Container& of = containers_[list];
  if (of.kind == Kind::empty) return empty_stack;
  if (of.kind != Kind::stack) malformed("\"frames\" is a list of another type");
  return of.index;
}

// --- the whole file ---------------------------------------------------------------------------------------------------

std::string SnapshotBuilder::torch_release() const {
  const auto any = [&](std::initializer_list<u32> keys) {
    return std::any_of(keys.begin(), keys.end(), [&](u32 key) { return seen_[key]; });
  };
  if (any({Known::pool_id, Known::trace_alloc_max_entries, Known::trace_alloc_overflowed, Known::host_segments, Known::host_traces})) return "2.12";
  if (any({Known::user_metadata, Known::graph_capture_record_stream_reuse})) return "2.10";
  if (any({Known::compile_context})) return "2.8";
  if (any({Known::external_annotations})) return "2.5";
  if (any({Known::allocator_settings, Known::time_us})) return "2.3";
  if (any({Known::segment_pool_id})) return "2.1";
  if (any({Known::requested_size})) return "2.0";
  return any({Known::history}) ? "1.13" : "1.12";
}

SnapshotFile SnapshotBuilder::take(Value top) {
  SnapshotFile file;
  TopDraft parts;
  const bool is_dict = top.tag == Tag::dict && container(top).kind == Kind::top;
  if (is_dict) {
    parts = tops_[container(top).index];
  } else if (top.tag == Tag::list) {
    const Container& of = container(top);
    const auto is_segment = [&](Value item) { return item.tag == Tag::dict && container(item).kind == Kind::segment; };
    if (of.kind == Kind::members && is_segment(members_[of.index].front())) parts.segments = top;
  }
  if (!is_dict && parts.segments.tag == Tag::none)
    throw SnapshotProblem{not_a_snapshot, "it holds neither segments nor device_traces"};
  take_segments(parts.segments, file);
  take_traces(parts.traces, file);
  take_annotations(parts.annotations, file);
  std::erase_if(file.devices, [](const DeviceSnapshot& one) { return one.segments.empty() && one.events.empty(); });
  std::sort(file.devices.begin(), file.devices.end(), [](const auto& a, const auto& b) { return a.device < b.device; });
  if (parts.settings.tag == Tag::dict) file.settings = settings_;
  if (overflow_value_.tag != Tag::none)
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

void SnapshotBuilder::take_segments(Value list, SnapshotFile& file) {
  std::vector<const SegmentDraft*> drafts;
  for (const Value item : members(list, Kind::segment, "segments")) drafts.push_back(&segments_[container(item).index]);
  std::stable_sort(drafts.begin(), drafts.end(), [](const SegmentDraft* a, const SegmentDraft* b) {
    return std::tuple(a->device, a->address.value_or(0)) < std::tuple(b->device, b->address.value_or(0));
  });
  for (const SegmentDraft* draft : drafts) {
    if (!draft->size || !draft->address) malformed("a segment has no \"address\" or no \"total_size\"");
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
  for (const Value item : members(draft.blocks, Kind::block, "blocks")) {
    const BlockDraft& block = blocks_[container(item).index];
    if (!block.size) malformed("a block has no \"size\"");
    if (*block.size > segment.size - used) malformed("the sizes of the blocks exceed that of their segment");
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
  block.requested = draft.requested;
  block.stack = stack_of(frames_list(draft.frames, Known::frames));
  // Merged blocks keep the entries of all that was in them: only the first one may be that of the block.
  const auto entries = members(draft.history, Kind::history, "history");
  if (entries.empty()) return block;
  const HistoryEntry& current = histories_[container(entries.front()).index];
  if (current.address != block.address) return block;
  if (!block.requested) block.requested = current.size;
  if (block.stack == no_stack) block.stack = stack_of(current.frames);
  return block;
}

void SnapshotBuilder::take_traces(Value list, SnapshotFile& file) {
  if (list.tag == Tag::none) return;
  if (list.tag != Tag::list) malformed("\"device_traces\" has another type than a list");
  const Container& of = container(list);
  if (of.kind == Kind::empty) return;
  if (of.kind != Kind::members) malformed("\"device_traces\" is a list of another type");
  for (TraceEvent& event : events_) event.stack = stack_of(event.stack);
  const std::vector<Value>& traces = members_[of.index];
  for (std::size_t i = 0; i < traces.size(); ++i) {
    const auto items = members(traces[i], Kind::event, "device_traces");
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

void SnapshotBuilder::take_annotations(Value list, SnapshotFile& file) {
  for (const Value item : members(list, Kind::annotation, "external_annotations")) {
    const AnnotationDraft& draft = annotations_[container(item).index];
    for (DeviceSnapshot& one : file.devices)
      if (!draft.device || one.device == *draft.device) one.annotations.push_back(draft.annotation);
  }
}

}  // namespace oomdoctor
