#include "evidence/snapshot_builder.h"

#include <algorithm>
#include <bit>

#include "base/ascii.h"
#include "evidence/snapshot_keys.h"

namespace oomdoctor {
namespace {

[[noreturn]] void beyond_limit(std::string text) {
  throw SnapshotProblem{SnapshotProblemKind::snapshot_limit, std::move(text)};
}

bool is_container(SnapshotValue value) { return value.tag == ValueTag::dict || value.tag == ValueTag::list; }

}  // namespace

SnapshotValue SnapshotValue::of_real(double value) { return {std::bit_cast<u64>(value), ValueTag::real}; }

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
  return {id, ValueTag::text};
}

std::string_view SnapshotBuilder::text_of(SnapshotValue value) const {
  return value.tag == ValueTag::text ? stacks_.text(static_cast<TextId>(value.bits)) : std::string_view();
}

SnapshotValue SnapshotBuilder::new_container(ValueTag tag) {
  if (containers_.size() >= SnapshotLimits::containers)
    beyond_limit("it has more dicts and lists than any snapshot: length");
  containers_.emplace_back();
  return {containers_.size() - 1, tag};
}

SnapshotValue SnapshotBuilder::empty_dict() { return new_container(ValueTag::dict); }
SnapshotValue SnapshotBuilder::empty_list() { return new_container(ValueTag::list); }

SnapshotValue SnapshotBuilder::tuple(std::span<const SnapshotValue> items) {
  const auto is_part = [](SnapshotValue item) { return item.tag == ValueTag::integer || item.tag == ValueTag::wide; };
  if (items.size() == 2 && is_part(items[0]) && is_part(items[1]))
    return {add_pool({items[0].bits, items[1].bits}), ValueTag::pair};
  const SnapshotValue list = empty_list();
  append(list, items);
  return list;
}

u32 SnapshotBuilder::add_pool(PoolName name) {
  const auto [at, is_new] = pool_ids_.try_emplace(name, static_cast<u32>(pools_.size()));
  if (is_new) pools_.push_back(name);
  return at->second;
}

void SnapshotBuilder::deepen(Container& outer, SnapshotValue inner) const {
  if (!is_container(inner)) return;
  const unsigned depth = container(inner).depth + 1U;
  if (depth > SnapshotLimits::depth) beyond_limit("its dicts and lists are nested deeper than in any snapshot");
  outer.depth = std::max(outer.depth, static_cast<unsigned char>(depth));
}

SnapshotBuilder::ContainerKind SnapshotBuilder::kind_of(std::span<const SnapshotValue> pairs) const {
  bool has_address = false;
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    if (pairs[i].tag != ValueTag::text) continue;
    switch (pairs[i].bits) {
      case Known::filename:
        return ContainerKind::frame;
      case Known::action:
        return ContainerKind::event;
      case Known::real_size:
        return ContainerKind::history;
      case Known::blocks:
      case Known::total_size:
        return ContainerKind::segment;
      case Known::state:
        return ContainerKind::block;
      case Known::stage:
        return ContainerKind::annotation;
      case Known::segments:
      case Known::device_traces:
        return ContainerKind::top;
      case Known::alloc_conf:
      case Known::max_split_size:
      case Known::expandable_segments:
      case Known::roundup_power2_divisions:
      case Known::trace_alloc_overflowed:
        return ContainerKind::settings;
      case Known::addr:
        has_address = true;
        break;
      default:
        break;
    }
  }
  if (has_address) return ContainerKind::event;  // of which the action was left out
  const std::string_view first = text_of(pairs[0]);
  return !first.empty() && std::all_of(first.begin(), first.end(), is_digit) ? ContainerKind::divisions
                                                                             : ContainerKind::other;
}

void SnapshotBuilder::set_items(SnapshotValue dict, std::span<const SnapshotValue> pairs) {
  if (pairs.empty()) return;
  Container of = container(dict);
  for (std::size_t i = 1; i < pairs.size(); i += 2) deepen(of, pairs[i]);
  if (of.kind == ContainerKind::empty) {
    of.kind = kind_of(pairs);
    const auto add = [&](auto& all) {
      of.index = static_cast<u32>(all.size());
      all.emplace_back();
    };
    switch (of.kind) {
      case ContainerKind::frame:
        add(frames_);
        break;
      case ContainerKind::event:
        add(events_);
        break;
      case ContainerKind::block:
        add(blocks_);
        break;
      case ContainerKind::segment:
        add(segments_);
        break;
      case ContainerKind::history:
        add(histories_);
        break;
      case ContainerKind::annotation:
        add(annotations_);
        break;
      case ContainerKind::top:
        add(tops_);
        break;
      default:
        break;
    }
    if (of.kind == ContainerKind::frame) frames_.back() = stacks_.add_frame({});
  }
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    const bool is_text = pairs[i].tag == ValueTag::text;
    if (of.kind == ContainerKind::other) {
      if (is_true(pairs[i + 1])) of.index = 1;
    } else if (!is_text) {
      refuse_malformed("a key of a dict is not text");
    } else if (of.kind == ContainerKind::divisions) {
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

void SnapshotBuilder::set(const Container& dict, u32 key, SnapshotValue value) {
  switch (dict.kind) {
    case ContainerKind::frame:
      return set_frame(dict.index, key, value);
    case ContainerKind::event:
      return set_event(events_[dict.index], key, value);
    case ContainerKind::block:
      return set_block(blocks_[dict.index], key, value);
    case ContainerKind::segment:
      return set_segment(segments_[dict.index], key, value);
    case ContainerKind::history: {
      HistoryEntry& entry = histories_[dict.index];
      if (key == Known::addr) entry.address = address_of(value, key);
      if (key == Known::real_size) entry.size = size_of(value, key);
      if (key == Known::frames) entry.frames = frames_list(value, key);
      return;
    }
    case ContainerKind::annotation: {
      AnnotationDraft& draft = annotations_[dict.index];
      if (key == Known::stage) draft.annotation.start = value.tag == ValueTag::text && value.bits == Known::start;
      if (key == Known::name) draft.annotation.name = text_of(value);
      if (key == Known::time_us) draft.annotation.time_us = integer_of(value, key).value_or(0);
      if (key == Known::device) draft.device = static_cast<int>(integer_of(value, key).value_or(0));
      return;
    }
    case ContainerKind::top:
      return set_top(tops_[dict.index], key, value);
    case ContainerKind::settings:
      return set_settings(key, value);
    default:
      return;
  }
}

void SnapshotBuilder::append(SnapshotValue list, std::span<const SnapshotValue> items) {
  if (items.empty()) return;
  Container of = container(list);
  for (const SnapshotValue item : items) deepen(of, item);
  const auto is_frame = [&](SnapshotValue item) {
    return item.tag == ValueTag::dict && container(item).kind == ContainerKind::frame;
  };
  if (of.kind == ContainerKind::empty) {
    of.kind = is_frame(items[0]) ? ContainerKind::stack : ContainerKind::members;
    of.index = of.kind == ContainerKind::stack ? empty_stack : static_cast<u32>(members_.size());
    if (of.kind == ContainerKind::members) members_.emplace_back();
  }
  if (of.kind == ContainerKind::stack) {
    const auto before = stacks_.stack(of.index);
    scratch_.assign(before.begin(), before.end());
    for (const SnapshotValue item : items) {
      if (!is_frame(item)) refuse_malformed("an item of a list of frames has another type");
      scratch_.push_back(frames_[container(item).index]);
    }
    of.index = stacks_.add_stack(scratch_);
  } else {
    std::vector<SnapshotValue>& members = members_[of.index];
    for (const SnapshotValue item : items)
      if (is_container(item) || members.size() < SnapshotLimits::scalars) members.push_back(item);
  }
  container(list) = of;
}

std::span<const SnapshotValue> SnapshotBuilder::members(SnapshotValue list, ContainerKind of,
                                                        std::string_view what) const {
  if (list.tag == ValueTag::none) return {};
  if (list.tag != ValueTag::list) refuse_malformed("\"" + std::string(what) + "\" has another type than a list");
  const Container& from = container(list);
  if (from.kind == ContainerKind::empty) return {};
  if (from.kind != ContainerKind::members) refuse_malformed("\"" + std::string(what) + "\" is a list of another type");
  for (const SnapshotValue item : members_[from.index])
    if (item.tag != ValueTag::dict || container(item).kind != of)
      refuse_malformed("\"" + std::string(what) + "\" has an item of another type than its dict");
  return members_[from.index];
}

void SnapshotBuilder::refuse_type(u32 key, std::string_view wanted) {
  refuse_malformed("the value of \"" + std::string(known_names[key]) + "\" has another type than " +
                   std::string(wanted));
}

std::optional<u64> SnapshotBuilder::address_of(SnapshotValue value, u32 key) const {
  if (value.tag == ValueTag::none) return std::nullopt;
  if (value.tag == ValueTag::integer || value.tag == ValueTag::wide)
    return value.bits;  // a negative one in two's complement
  if (value.tag == ValueTag::too_wide)
    beyond_limit("a number of \"" + std::string(known_names[key]) + "\" has more than 64 bits");
  refuse_type(key, "a number");
}

std::optional<u64> SnapshotBuilder::size_of(SnapshotValue value, u32 key) const {
  const auto size = address_of(value, key);
  if (size && *size > most_signed) refuse_malformed("\"" + std::string(known_names[key]) + "\" is a negative size");
  return size;
}

std::optional<i64> SnapshotBuilder::integer_of(SnapshotValue value, u32 key) const {
  if (value.tag == ValueTag::truth) return static_cast<i64>(value.bits);
  const auto bits = address_of(value, key);
  return bits ? std::optional(static_cast<i64>(*bits)) : std::nullopt;
}

bool SnapshotBuilder::is_true(SnapshotValue value) const {
  if (value.tag == ValueTag::truth || value.tag == ValueTag::integer)
    return value.bits != 0 && value.bits <= most_signed;
  if (!is_container(value)) return false;
  const Container& of = container(value);
  if (of.kind == ContainerKind::other) return of.index != 0;
  return of.kind == ContainerKind::members &&
         std::any_of(members_[of.index].begin(), members_[of.index].end(), [](SnapshotValue item) {
           return (item.tag == ValueTag::truth || item.tag == ValueTag::integer) && item.bits != 0 &&
                  item.bits <= most_signed;
         });
}

u32 SnapshotBuilder::pool(SnapshotValue value) {
  if (value.tag == ValueTag::pair) return static_cast<u32>(value.bits);
  if (value.tag == ValueTag::none) return 0;
  if (value.tag != ValueTag::list) refuse_type(Known::segment_pool_id, "a pair");
  const Container& of = container(value);
  if (of.kind != ContainerKind::members || members_[of.index].size() != 2)
    refuse_type(Known::segment_pool_id, "a pair");
  const auto& pair = members_[of.index];
  return add_pool({address_of(pair[0], Known::segment_pool_id).value_or(0),
                   address_of(pair[1], Known::segment_pool_id).value_or(0)});
}

u32 SnapshotBuilder::frames_list(SnapshotValue value, u32 key) const {
  if (value.tag == ValueTag::none) return no_stack;
  if (value.tag != ValueTag::list) refuse_type(key, "a list");
  return static_cast<u32>(value.bits);
}

StackId SnapshotBuilder::stack_of(u32 list) const {
  if (list == no_stack) return no_stack;
  const Container& of = containers_[list];
  if (of.kind == ContainerKind::empty) return empty_stack;
  if (of.kind != ContainerKind::stack) refuse_malformed("\"frames\" is a list of another type");
  return of.index;
}

}  // namespace oomdoctor
