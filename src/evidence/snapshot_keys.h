// The texts that the builder of snapshots knows. They are the first ones of its table, so a text is compared once.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "evidence/snapshot.h"
#include "evidence/snapshot_problem.h"

namespace oomdoctor {

struct Known {
  enum : u32 {
    // the file
    segments,
    device_traces,
    allocator_settings,
    external_annotations,
    host_segments,
    host_traces,
    // segments, blocks
    device,
    address,
    total_size,
    allocated_size,
    active_size,
    requested_size,
    stream,
    segment_type,
    segment_pool_id,
    is_expandable,
    blocks,
    frames,
    size,
    state,
    history,
    addr,
    real_size,
    // events
    action,
    device_free,
    time_us,
    compile_context,
    user_metadata,
    pool_id,
    // frames, annotations
    filename,
    name,
    line,
    stage,
    // settings
    alloc_conf,
    max_split_size,
    garbage_collection_threshold,
    expandable_segments,
    roundup_power2_divisions,
    graph_capture_record_stream_reuse,
    trace_alloc_max_entries,
    trace_alloc_overflowed,
    // values
    small,
    start,
    first_state,
    first_action = first_state + 3,
    known_texts = first_action + static_cast<u32>(TraceAction::other)
  };
};
inline constexpr auto known_names = std::to_array<std::string_view>({"segments",
                                                                     "device_traces",
                                                                     "allocator_settings",
                                                                     "external_annotations",
                                                                     "host_segments",
                                                                     "host_traces",
                                                                     "device",
                                                                     "address",
                                                                     "total_size",
                                                                     "allocated_size",
                                                                     "active_size",
                                                                     "requested_size",
                                                                     "stream",
                                                                     "segment_type",
                                                                     "segment_pool_id",
                                                                     "is_expandable",
                                                                     "blocks",
                                                                     "frames",
                                                                     "size",
                                                                     "state",
                                                                     "history",
                                                                     "addr",
                                                                     "real_size",
                                                                     "action",
                                                                     "device_free",
                                                                     "time_us",
                                                                     "compile_context",
                                                                     "user_metadata",
                                                                     "pool_id",
                                                                     "filename",
                                                                     "name",
                                                                     "line",
                                                                     "stage",
                                                                     "PYTORCH_CUDA_ALLOC_CONF",
                                                                     "max_split_size",
                                                                     "garbage_collection_threshold",
                                                                     "expandable_segments",
                                                                     "roundup_power2_divisions",
                                                                     "graph_capture_record_stream_reuse",
                                                                     "trace_alloc_max_entries",
                                                                     "trace_alloc_overflowed",
                                                                     "small",
                                                                     "START"});
static_assert(known_names.size() == Known::first_state);

/// Values above are negative ones in two's complement.
inline constexpr u64 most_signed = std::numeric_limits<i64>::max();

[[noreturn]] inline void refuse_malformed(std::string text) {
  throw SnapshotProblem{SnapshotProblemKind::snapshot_malformed, std::move(text)};
}

}  // namespace oomdoctor
