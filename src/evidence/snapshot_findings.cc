#include "evidence/snapshot_findings.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "evidence/allocator_sizes.h"
#include "evidence/code_lines.h"
#include "evidence/moment.h"
#include "evidence/replay.h"
#include "evidence/snapshot_pictures.h"
#include "evidence/step_growth.h"
#include "evidence/tensor_kinds.h"

namespace oomdoctor {
namespace {

/// Sums of a made-up file may be beyond 64 bits.
void add_to(u64& sum, u64 more) { sum = more > ~sum ? ~u64{0} : sum + more; }

i64 signed_bytes(u64 bytes) { return static_cast<i64>(std::min<u64>(bytes, std::numeric_limits<i64>::max())); }

/// Describes one device. Holds references only while run() runs.
class DeviceAnalysis {
 public:
  DeviceAnalysis(const SnapshotFile& file, const DeviceSnapshot& device, const CodeLines& lines)
      : file_(file), device_(device), lines_(lines), moment_(find_memory_moment(device, file)), kinds_(moment_, lines) {
    if (moment_.failed()) request_ = &device.events[*moment_.oom];
  }

  MemorySnapshot run() {
    describe_file();
    sum_up();
    out_.report.failure = find_failure();
    add_holders();
    add_pinners();
    add_growth();
    add_refused();
    add_what_if();
    add_pictures();
    return std::move(out_);
  }

 private:
  /// The list of free blocks that the request may take. Releases before 2.12 do not record its pool.
  BlockListName list_of_request() const {
    return {request_->stream, request_->pool == TraceEvent::no_pool ? PoolName{} : file_.pools[request_->pool],
            request_->size <= allocator_sizes::small_size};
  }

  bool is_traced() const { return moment_.history == TraceHistory::cut || moment_.history == TraceHistory::full; }

  void describe_file() {
    ReportSnapshot& r = out_.report;
    r.path = file_.path;
    r.form = to_string(file_.form);
    r.protocol = file_.protocol;
    r.torch = file_.torch;
    r.device = device_.device;
    r.events = static_cast<i64>(device_.events.size());
    r.history = to_string(moment_.history);
    r.at = to_string(moment_.kind);
    if (!device_.events.empty() && device_.events.back().time_us != TraceEvent::no_time)
      out_.time = static_cast<double>(device_.events.back().time_us) / 1e6;
  }

  void sum_up() {
    ReportSnapshot& r = out_.report;
    r.reserved_bytes = signed_bytes(moment_.reserved);
    u64 live = 0, pending = 0, unrecorded = 0;
    for (const LiveBlock& block : moment_.live) {
      add_to(block.pending ? pending : live, block.requested);
      if (!block.has_requested) r.live_basis = "rounded";
      if (!block.pending && is_unrecorded(block)) add_to(unrecorded, block.requested);
    }
    r.live_bytes = signed_bytes(live);
    r.pending_bytes = signed_bytes(pending);
    if (is_traced()) r.unrecorded_bytes = signed_bytes(unrecorded);
    if (request_ != nullptr) {
      r.request_bytes = signed_bytes(request_->size);
      if (const auto free = request_->device_free()) r.device_free_bytes = signed_bytes(*free);
    }
    if (!moment_.has_layout) return;
    u64 free = 0, largest = 0, of_private_pools = 0;
    for (const UnusedBlock& block : moment_.free) {
      free += block.size;
      if (block.list.pool != PoolName{}) of_private_pools += block.size;
      const bool right = request_ == nullptr || block.list == list_of_request();
      if (right) largest = std::max(largest, block.size), free_in_list_ += block.size;
    }
    r.free_cached_bytes = signed_bytes(free);
    r.largest_free_bytes = signed_bytes(largest);
    out_.usable_bytes = signed_bytes(free_in_list_);
    out_.private_bytes = signed_bytes(of_private_pools);
  }

  SnapshotFailure find_failure() const {
    if (!moment_.failed()) return is_traced() ? SnapshotFailure::none : SnapshotFailure::unknown;
    if (!request_->device_free()) return SnapshotFailure::unknown;
    if (!moment_.has_layout) return exceeds_all_free() ? SnapshotFailure::capacity : SnapshotFailure::unknown;
    const BlockListName list = list_of_request();
    u64 waiting = 0, elsewhere = 0;  // pending or of other streams, and in other pools
    const auto add = [&](PoolName pool, u64 size) { (pool == list.pool ? waiting : elsewhere) += size; };
    for (const UnusedBlock& block : moment_.free)
      if (block.list.small == list.small && block.list != list) add(block.list.pool, block.size);
    auto segment = moment_.segments.begin();
    for (const LiveBlock& block : moment_.live) {
      if (!block.pending) continue;
      while (segment != moment_.segments.end() && segment->address + segment->size <= block.address) ++segment;
      if (segment != moment_.segments.end() && segment->list.small == list.small) add(segment->list.pool, block.size);
    }
    const u64 own = free_in_list_ + *request_->device_free();
    if (request_->size <= own) return SnapshotFailure::fragmentation;
    if (request_->size <= own + waiting) return SnapshotFailure::stream_pending;
    return request_->size <= own + waiting + elsewhere ? SnapshotFailure::private_pool : SnapshotFailure::capacity;
  }

  /// Without the layout: true if all that live blocks leave, at their smallest sizes, is less than the request.
  bool exceeds_all_free() const {
    const AllocatorSettings settings = file_.settings.value_or(AllocatorSettings{});
    u64 used = 0;
    for (const LiveBlock& block : moment_.live)
      if (!block.pending) add_to(used, allocator_sizes::rounded_request(block.requested, settings));
    const u64 left = moment_.reserved > used ? moment_.reserved - used : 0;
    return request_->size > left && request_->size - left > *request_->device_free();
  }

  void add_holders() {
    struct HolderRow {
      u64 bytes = 0;
      i64 blocks = 0;
      std::map<std::string_view, u64> categories;
    };
    // Without a line of the user's code, each category is a row of its own.
    std::map<MemoryOwner, HolderRow> rows;
    SnapshotShares& shares = out_.shares;
    u64 live = 0;
    std::vector<std::pair<const LiveBlock*, MemoryOwner>> keys;
    for (const LiveBlock& block : moment_.live) {
      if (block.pending) continue;
      const unsigned traits = lines_.traits(block.stack);
      const std::string_view category = kinds_.kind(block);
      const MemoryOwner key = kinds_.owner(block);
      HolderRow& row = rows[key];
      add_to(row.bytes, block.requested);
      ++row.blocks;
      row.categories[category] += block.requested;
      keys.emplace_back(&block, key);
      const auto bytes = static_cast<double>(block.requested);
      add_to(live, block.requested);
      if (category == "parameter" || category == "gradient" || category == "optimizer_state") shares.states += bytes;
      if (category == "kv_cache") shares.cache += bytes;
      if ((traits & in_evaluation_loop) != 0) shares.evaluation += bytes;
      if ((traits & in_loss) != 0) shares.logits += bytes;
    }
    if (request_ != nullptr) {
      const auto bytes = static_cast<double>(request_->size);
      const unsigned traits = lines_.traits(request_->stack);
      if ((traits & in_evaluation_loop) != 0) shares.evaluation += bytes;
      if ((traits & in_loss) != 0) shares.logits += bytes;
      shares.request = bytes;
    }
    const double all = static_cast<double>(live) + shares.request;
    for (double* share : {&shares.cache, &shares.evaluation, &shares.logits, &shares.request})
      if (all > 0) *share /= all;
    if (live > 0) shares.states /= static_cast<double>(live);
    std::vector<std::pair<MemoryOwner, const HolderRow*>> order;
    for (const auto& [key, row] : rows) order.emplace_back(key, &row);
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.second->bytes > b.second->bytes; });
    std::map<MemoryOwner, std::size_t> places;
    for (const auto& [key, row] : order) {
      places[key] = out_.report.holders.size();
      const auto most = std::max_element(row->categories.begin(), row->categories.end(),
                                         [](const auto& a, const auto& b) { return a.second < b.second; });
      out_.report.holders.push_back(
          {lines_.code_line(key.frame), std::string(most->first), signed_bytes(row->bytes), row->blocks});
    }
    if (moment_.history != TraceHistory::state || moment_.failed()) return;
    for (const auto& [block, key] : keys) out_.blocks.push_back({block->address, block->requested, places[key]});
    std::sort(out_.blocks.begin(), out_.blocks.end());
  }

  void add_pinners() {
    struct PinnerRow {
      u64 stranded = 0, live = 0;
      i64 blocks = 0;
    };
    std::map<u32, PinnerRow> rows;
    auto free = moment_.free.begin();
    auto live = moment_.live.begin();
    for (const MomentSegment& segment : moment_.segments) {
      const u64 end = segment.address + segment.size;
      u64 stranded = 0;
      for (; free != moment_.free.end() && free->address < end; ++free)
        if (free->address >= segment.address) stranded += free->size;
      const bool right = request_ == nullptr || segment.list == list_of_request();
      std::set<u32> seen;
      for (; live != moment_.live.end() && live->address < end; ++live) {
        const u32 frame =
            live->pending || live->address < segment.address ? CodeLines::no_frame : lines_.user_frame(live->stack);
        if (frame == CodeLines::no_frame || stranded == 0 || !right) continue;
        PinnerRow& row = rows[frame];
        if (seen.insert(frame).second) row.stranded += stranded;
        row.live += live->requested;
        ++row.blocks;
      }
    }
    std::vector<std::pair<u32, PinnerRow>> order(rows.begin(), rows.end());
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
      return a.second.stranded != b.second.stranded ? a.second.stranded > b.second.stranded
                                                    : a.second.live < b.second.live;
    });
    for (const auto& [frame, row] : order)
      out_.report.pinners.push_back(
          {lines_.code_line(frame), row.blocks, signed_bytes(row.live), signed_bytes(row.stranded)});
    if (!order.empty()) pinning_frame_ = order.front().first;
  }

  void add_growth() {
    if (!is_traced() || file_.cut) return;
    const ProgramSteps steps = find_steps(device_, moment_);
    std::vector<ReportGrowth>& growth = out_.report.growth.emplace();
    std::set<u32> growing;
    for (const GrowingLine& line : find_growing_lines(device_, moment_, steps, lines_)) {
      ReportGrowth row{lines_.code_line(line.frame), line.bytes_per_step, line.blocks_per_step, std::nullopt, "step"};
      if (moment_.history == TraceHistory::full) row.first_step = static_cast<i64>(line.first_step) + 1;
      growth.push_back(std::move(row));
      growing.insert(line.frame);
    }
    u64 grown = 0, in_evaluation = 0;
    for (const LiveBlock& block : moment_.live) {
      if (block.pending || !growing.contains(lines_.user_frame(block.stack))) continue;
      grown += block.requested;
      if ((lines_.traits(block.stack) & in_evaluation_loop) != 0) in_evaluation += block.requested;
    }
    out_.grown_bytes = signed_bytes(grown);
    out_.grows_in_evaluation = grown > 0 && in_evaluation * 2 > grown;
    if (moment_.failed()) out_.step_ratio = last_step_ratio(device_, moment_, steps);
  }

  /// The last refused request, also one that the program survived.
  void add_refused() {
    if (!moment_.oom) return;
    const TraceEvent& event = device_.events[*moment_.oom];
    RefusedRequest& refused = out_.refused.emplace();
    refused.event = *moment_.oom;
    if (event.time_us != TraceEvent::no_time) refused.time = static_cast<double>(event.time_us) / 1e6;
    refused.size = signed_bytes(event.size);
    refused.segment = signed_bytes(allocator_sizes::segment_size(event.size));
    if (const auto free = event.device_free()) refused.device_free = signed_bytes(*free);
    refused.frames = lines_.python_frames(event.stack);
    const unsigned traits = lines_.traits(event.stack);
    refused.in_backward = (traits & in_backward_engine) != 0 && (traits & in_python) == 0;
    refused.in_load = (traits & moves_parameters) != 0 && (traits & in_forward_pass) == 0;
    refused.in_optimizer_init = (traits & makes_optimizer_states) != 0;
    refused.loads_checkpoint = (traits & ::oomdoctor::loads_checkpoint) != 0 && (traits & in_forward_pass) == 0;
    refused.handled = !moment_.failed();
  }

  void add_what_if() {
    ReportSnapshot& r = out_.report;
    if (moment_.history != TraceHistory::full)
      r.what_if_unavailable =
          moment_.history == TraceHistory::cut ? "the trace has lost its beginning" : "the file has no trace";
    else if (r.unrecorded_bytes.value_or(0) > 0)
      r.what_if_unavailable = "some live memory was allocated before the recording began";
    if (!r.what_if_unavailable.empty()) return;
    const std::optional<std::size_t> oom = moment_.failed() ? std::optional<std::size_t>(*moment_.oom) : std::nullopt;
    const WhatIfs replayed = replay_other_settings(file_, device_, oom);
    r.what_if_unavailable = replayed.unavailable;
    for (const WhatIf& one : replayed.settings)
      r.what_if.push_back({std::string(one.setting), one.fits, signed_bytes(one.peak_reserved)});
  }

  void add_pictures() {
    if (is_traced() && !file_.cut) out_.report.live_memory = draw_live_memory(device_, moment_, lines_, kinds_);
    MapMarks marks;
    if (request_ != nullptr) marks.list = list_of_request(), marks.request = request_->size;
    if (out_.report.failure == SnapshotFailure::fragmentation) marks.pinning_frame = pinning_frame_;
    out_.report.map = draw_memory_map(moment_, lines_, marks);
  }

  const SnapshotFile& file_;
  const DeviceSnapshot& device_;
  const CodeLines& lines_;
  MemoryMoment moment_;
  TensorKinds kinds_;
  const TraceEvent* request_ = nullptr;  ///< the refused one that ended the work
  u64 free_in_list_ = 0;
  u32 pinning_frame_ = CodeLines::no_frame;  ///< of the first pinner
  MemorySnapshot out_;
};

}  // namespace

std::vector<MemorySnapshot> analyse_snapshot(const SnapshotFile& file) {
  const CodeLines lines(file.stacks);
  std::vector<MemorySnapshot> all;
  for (const DeviceSnapshot& device : file.devices) all.push_back(DeviceAnalysis(file, device, lines).run());
  return all;
}

}  // namespace oomdoctor
