#include "evidence/snapshot_pictures.h"

#include <algorithm>
#include <array>
#include <map>

#include "model/memory_snapshot.h"

namespace oomdoctor {
namespace {

i64 drawn_bytes(u64 bytes) { return static_cast<i64>(std::min<u64>(bytes, std::numeric_limits<i64>::max())); }

// Live memory over the trace: each event changes that of one owner.
//
//   1. the memory from before the trace, the owner of each event, and the most that each owner ever has
//   2. the owners with the most get a curve of their own; of equally many events, the fullest moment is a point

class LiveWalk {
 public:
  LiveWalk(const DeviceSnapshot& device, const MemoryMoment& moment, const CodeLines& lines, const TensorKinds& kinds)
      : device_(device), moment_(moment), lines_(lines), kinds_(kinds), stacks_(stacks_of_lives(device, moment)) {}

  std::optional<ReportLiveMemory> run() {
    if (moment_.events < 2 || moment_.lives.empty()) return std::nullopt;
    find_changes();
    find_peaks();
    if (most_ == 0) return std::nullopt;
    choose_curves();
    draw();
    return std::move(out_);
  }

 private:
  /// Of one event.
  struct OwnerChange {
    u32 owner = 0;
    bool frees = false;
    u64 size = 0;
  };

  u32 owner_of(const MemoryOwner& owner) {
    const auto [at, added] = ids_.try_emplace(owner, static_cast<u32>(owners_.size()));
    if (added) owners_.push_back(owner), first_.push_back(0);
    return at->second;
  }

  u32 owner_of_stack(StackId stack) {
    if (stack == no_stack) return owner_of(kinds_.owner_of_stack(stack));
    if (stack >= by_stack_.size()) by_stack_.resize(stack + 1, unset);
    if (by_stack_[stack] == unset) by_stack_[stack] = owner_of(kinds_.owner_of_stack(stack));
    return by_stack_[stack];
  }

  void find_changes() {
    changes_.resize(moment_.events);
    const auto events = std::span(device_.events).first(moment_.events);
    for (std::size_t i = 0; i < moment_.lives.size(); ++i) {
      const BlockLife& life = moment_.lives[i];
      const OwnerChange change{owner_of_stack(stacks_[i]), false, events[life.alloc].size};
      changes_[life.alloc] = change;
      if (life.free != BlockLife::open) changes_[life.free] = {change.owner, true, change.size};
    }
    // Frees of what the trace does not allocate. The end of a requested free is none.
    const bool has_requests = std::any_of(events.begin(), events.end(),
                                          [](const TraceEvent& e) { return e.action == TraceAction::free_requested; });
    const TraceAction freeing = has_requests ? TraceAction::free_requested : TraceAction::free_completed;
    const MemoryOwner earlier{CodeLines::no_frame,
                              moment_.history == TraceHistory::cut ? "earlier" : TensorKinds::unrecorded};
    for (u32 i = 0; i < events.size(); ++i) {
      if (events[i].action != freeing || changes_[i].frees) continue;
      changes_[i] = {owner_of(earlier), true, events[i].size};
      first_[changes_[i].owner] += events[i].size;
    }
    for (const LiveBlock& block : moment_.live) {
      if (block.alloc || block.pending) continue;
      const u32 owner = owner_of(kinds_.owner(block));
      first_[owner] += block.requested;
    }
  }

  void apply(const OwnerChange& change, std::vector<u64>& live, u64& sum) const {
    if (change.size == 0) return;
    if (change.frees)
      live[change.owner] -= change.size, sum -= change.size;
    else
      live[change.owner] += change.size, sum += change.size;
  }

  u64 first_sum() const {
    u64 sum = 0;
    for (const u64 bytes : first_) sum += bytes;
    return sum;
  }

  void find_peaks() {
    std::vector<u64> live = first_;
    u64 sum = most_ = first_sum();
    peaks_ = first_;
    for (u32 i = 0; i < moment_.events; ++i) {
      apply(changes_[i], live, sum);
      peaks_[changes_[i].owner] = std::max(peaks_[changes_[i].owner], live[changes_[i].owner]);
      if (sum > most_) most_ = sum, out_.peak_event = i;
    }
    out_.peak_bytes = drawn_bytes(most_);
    out_.events = moment_.events;
  }

  void choose_curves() {
    std::vector<u32> order;
    for (u32 owner = 0; owner < owners_.size(); ++owner)
      if (peaks_[owner] > 0) order.push_back(owner);
    std::stable_sort(order.begin(), order.end(), [&](u32 a, u32 b) { return peaks_[a] > peaks_[b]; });
    const std::size_t own = order.size() > SnapshotPictures::curves ? SnapshotPictures::curves - 1 : order.size();
    curve_of_.assign(owners_.size(), own);
    for (std::size_t i = 0; i < own; ++i) {
      curve_of_[order[i]] = i;
      const MemoryOwner& owner = owners_[order[i]];
      out_.curves.push_back({lines_.code_line(owner.frame), std::string(owner.kind), {}});
    }
    if (own < order.size()) out_.curves.push_back({{}, "others", {}});
  }

  void draw() {
    const u64 events = moment_.events, points = std::min<u64>(events, SnapshotPictures::points);
    std::vector<u64> live(out_.curves.size() + 1);  // the last one is of owners that never have any
    u64 sum = first_sum();
    for (std::size_t owner = 0; owner < first_.size(); ++owner) live[curve_of_[owner]] += first_[owner];
    std::vector<u64> fullest;
    u64 at = 0;
    for (u64 point = 1; point <= points; ++point) {
      u64 most = sum;
      fullest = live;
      for (; at < point * events / points; ++at) {
        OwnerChange change = changes_[static_cast<std::size_t>(at)];
        change.owner = static_cast<u32>(curve_of_[change.owner]);
        apply(change, live, sum);
        if (sum > most) most = sum, fullest = live;
      }
      add_point(fullest);
    }
    add_point(live);  // the moment itself
  }

  void add_point(const std::vector<u64>& live) {
    for (std::size_t i = 0; i < out_.curves.size(); ++i) out_.curves[i].bytes.push_back(drawn_bytes(live[i]));
  }

  static constexpr u32 unset = std::numeric_limits<u32>::max();

  const DeviceSnapshot& device_;
  const MemoryMoment& moment_;
  const CodeLines& lines_;
  const TensorKinds& kinds_;
  const std::vector<StackId> stacks_;
  std::map<MemoryOwner, u32> ids_;
  std::vector<MemoryOwner> owners_;
  std::vector<u32> by_stack_;
  std::vector<u64> first_, peaks_;  ///< of each owner: before the trace, and the most
  std::vector<OwnerChange> changes_;
  std::vector<std::size_t> curve_of_;
  u64 most_ = 0;
  ReportLiveMemory out_;
};

/// Blocks of a list as pieces, each at least a dot long unless its neighbours are long.
class MapPieces {
 public:
  MapPieces(u64 dot, ReportMapList& list, i64& joined) : dot_(dot), list_(list), joined_(joined) {}

  void begin_segment(u64 size) {
    if (size >= dot_) flush();
    begins_ = true;
  }

  void add(DrawnBlock kind, u64 size) {
    if (size >= dot_) {
      flush();
      list_.pieces.push_back({kind, drawn_bytes(size), begins_});
      begins_ = joins_ = false;
      return;
    }
    if (blocks_ == 0) group_begins_ = begins_;
    begins_ = false;
    sums_[static_cast<std::size_t>(kind)] += size;
    sum_ += size;
    ++blocks_;
    if (sum_ >= dot_) flush();
  }

  void flush() {
    if (blocks_ == 0) return;
    const auto most = std::max_element(sums_.begin(), sums_.end());
    const bool pins = sums_[static_cast<std::size_t>(DrawnBlock::pinner)] > 0;
    const DrawnBlock kind = pins ? DrawnBlock::pinner : static_cast<DrawnBlock>(most - sums_.begin());
    if (joins_ && !group_begins_ && list_.pieces.back().kind == kind)
      list_.pieces.back().bytes += drawn_bytes(sum_);
    else
      list_.pieces.push_back({kind, drawn_bytes(sum_), group_begins_});
    joins_ = true;
    if (blocks_ > 1) joined_ += blocks_;
    sums_ = {};
    sum_ = 0, blocks_ = 0;
  }

 private:
  u64 dot_;
  ReportMapList& list_;
  i64& joined_;
  bool begins_ = false, group_begins_ = false;  ///< a segment begins here
  bool joins_ = false;                          ///< the last piece is of several small blocks
  std::array<u64, enum_names<DrawnBlock>.size()> sums_{};
  u64 sum_ = 0;
  i64 blocks_ = 0;
};

class MapDrawing {
 public:
  MapDrawing(const MemoryMoment& moment, const CodeLines& lines, const MapMarks& marks)
      : moment_(moment), lines_(lines), marks_(marks) {}

  std::optional<ReportMemoryMap> run() {
    if (!moment_.has_layout || moment_.segments.empty()) return std::nullopt;
    const std::vector<DrawnList> lists = choose_lists();
    u64 all = 0, longest = 0;
    for (const DrawnList& list : lists) all += list.bytes, longest = std::max(longest, list.largest_free);
    const u64 row = std::max({all / SnapshotPictures::rows + 1, longest, std::min(marks_.request, all)});
    out_.row_bytes = drawn_bytes(row);
    for (const DrawnList& list : lists) draw(list, row / SnapshotPictures::dots + 1);
    return std::move(out_);
  }

 private:
  struct DrawnList {
    BlockListName name;
    std::vector<const MomentSegment*> segments;
    u64 bytes = 0, free = 0, largest_free = 0;
  };

  bool is_of_request(const BlockListName& name) const { return marks_.list == name; }

  std::vector<DrawnList> choose_lists() {
    std::map<BlockListName, DrawnList> all;
    for (const MomentSegment& segment : moment_.segments) {
      DrawnList& list = all[segment.list];
      list.name = segment.list;
      list.segments.push_back(&segment);
      list.bytes += segment.size;
    }
    for (const UnusedBlock& block : moment_.free) {
      DrawnList& list = all[block.list];
      list.free += block.size;
      list.largest_free = std::max(list.largest_free, block.size);
    }
    std::vector<DrawnList> chosen;
    for (auto& [name, list] : all)
      if (list.bytes > 0) chosen.push_back(std::move(list));
    std::stable_sort(chosen.begin(), chosen.end(), [&](const DrawnList& a, const DrawnList& b) {
      const bool first = is_of_request(a.name), second = is_of_request(b.name);
      return first != second ? first : a.bytes > b.bytes;
    });
    if (chosen.size() > SnapshotPictures::lists) {
      out_.more_lists = static_cast<i64>(chosen.size() - SnapshotPictures::lists);
      chosen.resize(SnapshotPictures::lists);
    }
    return chosen;
  }

  void draw(const DrawnList& from, u64 dot) {
    ReportMapList& list = out_.lists.emplace_back();
    list.stream = drawn_bytes(from.name.stream);
    list.small = from.name.small;
    list.private_pool = from.name.pool != PoolName{};
    list.of_request = is_of_request(from.name);
    list.segments = static_cast<i64>(from.segments.size());
    list.bytes = drawn_bytes(from.bytes);
    list.free_bytes = drawn_bytes(from.free);
    MapPieces pieces(dot, list, out_.joined_blocks);
    for (const MomentSegment* segment : from.segments) {
      pieces.begin_segment(segment->size);
      draw(*segment, list.of_request, pieces);
    }
    pieces.flush();
  }

  void draw(const MomentSegment& segment, bool of_request, MapPieces& pieces) const {
    const auto before = [](const auto& block, u64 address) { return block.address < address; };
    const u64 end = segment.address + segment.size;
    auto live = std::lower_bound(moment_.live.begin(), moment_.live.end(), segment.address, before);
    auto free = std::lower_bound(moment_.free.begin(), moment_.free.end(), segment.address, before);
    const bool strands = of_request && free != moment_.free.end() && free->address < end;
    while (true) {
      const bool has_live = live != moment_.live.end() && live->address < end;
      const bool has_free = free != moment_.free.end() && free->address < end;
      if (!has_live && !has_free) return;
      if (has_free && (!has_live || free->address < live->address)) {
        pieces.add(DrawnBlock::free, free++->size);
        continue;
      }
      const bool pins = strands && marks_.pinning_frame != CodeLines::no_frame &&
                        lines_.user_frame(live->stack) == marks_.pinning_frame;
      pieces.add(live->pending ? DrawnBlock::pending : pins ? DrawnBlock::pinner : DrawnBlock::live, live->size);
      ++live;
    }
  }

  const MemoryMoment& moment_;
  const CodeLines& lines_;
  const MapMarks& marks_;
  ReportMemoryMap out_;
};

}  // namespace

std::optional<ReportLiveMemory> draw_live_memory(const DeviceSnapshot& device, const MemoryMoment& moment,
                                                 const CodeLines& lines, const TensorKinds& kinds) {
  return LiveWalk(device, moment, lines, kinds).run();
}

std::optional<ReportMemoryMap> draw_memory_map(const MemoryMoment& moment, const CodeLines& lines,
                                               const MapMarks& marks) {
  return MapDrawing(moment, lines, marks).run();
}

}  // namespace oomdoctor
