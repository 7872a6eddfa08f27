// CUDA.jl: Julia's GPU memory pool. All sizes are binary.
//
// "Effective GPU memory usage" covers the whole GPU. If the pool plus a CUDA context explains it, all of it belongs to
// this process. The allocator below the pool may have a cap. After a refusal CUDA.jl collects garbage and retries. Only
// the message with the size of the request is the final failure.
#include <algorithm>
#include <array>

#include "base/ascii.h"
#include "read/context.h"
#include "read/parser.h"
#include "read/sizes.h"

namespace oomdoctor::parsers::julia {
namespace {

constexpr i64 max_context = 3 * GiB / 2;  ///< upper bound of what a process uses on the GPU besides its pool

/// Parses "Memory pool usage: 6.902 GiB (7.406 GiB reserved)". Up to CUDA.jl 3.2 the usage includes the cache.
void parse_pool(std::string_view text, Oom& oom) {
  const auto usage = size_after(text, "Memorypoolusage:");
  const auto allocated = size_before(text, "allocated,");
  oom.allocated = allocated ? allocated : usage;
  oom.reserved = allocated ? usage : size_before(text, "reserved)");
}

void emit(std::string_view size, Metric metric, EventSink& sink) {
  const auto bytes = read_size(dense(size));
  if (!bytes) return;
  Reading r;
  r.metric = metric;
  r.kind = SeriesKind::sampled_gauge;
  r.value = static_cast<double>(bytes->count);
  r.quantum = static_cast<double>(std::max<i64>(2 * bytes->slack, 1));
  r.unit = size.substr(size.rfind(' ') + 1);
  sink.reading(r);
}

/// Reads the status below a refusal. CUDA.jl prints it in several lines, after those of its attempts to free memory.
void read_status(const Cursor& cursor, Oom& oom) {
  constexpr int max_lines = 12;
  std::optional<Bytes> used, pool_size;
  cursor.forward(max_lines, [&](const Line& line) {
    const std::string text = dense(line.text);
    if (text.starts_with("EffectiveGPUmemoryusage:")) {
      used = size_after(text, "%(");
      oom.capacity = size_before(text, ")");
      return true;
    }
    if (text.starts_with("CUDAallocatorusage:")) {
      pool_size = size_after(text, "CUDAallocatorusage:");
      oom.limit = size_after(text, "(cappedat");
      return true;
    }
    if (const auto limit = size_after(text, "hard="); limit && text.find("Memorylimit:") != text.npos)
      oom.limit = limit;
    if (text.starts_with("Memorypoolusage:")) parse_pool(text, oom);
    static constexpr std::array<std::string_view, 5> parts{"...", "Memorypoolusage:", "Nomemorypool",
                                                           "Libraryhandles:", "Memorylimit:"};
    return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) { return text.starts_with(part); });
  });
  if (used && oom.capacity) oom.free = *oom.capacity - *used;
  if (!pool_size) pool_size = oom.reserved;
  if (used && pool_size) {
    // The usage may be below the pool by rounding, hence the tolerance of 64 MiB.
    const i64 rest = used->count - pool_size->count;
    if (rest > -64 * MiB && rest <= max_context) oom.process = used;
  }
}

/// True below an out-of-memory message: the status is then a part of that message.
bool is_part_of_failure(const Cursor& cursor) { return find_before(cursor, 3, "Out of GPU memory").has_value(); }

}  // namespace

void emit_refusal(const Match& m, EventSink& sink) {
  Oom oom = device_oom("julia");
  read_request(m[1], oom);
  read_status(m.cursor, oom);
  sink.oom(std::move(oom));
}

/// What CUDA.jl tries, in turn, is on the lines below, with what each attempt freed: "... running a quick GC
/// (freed 8.304 GiB)".
void emit_retry(const Match& m, EventSink& sink) {
  constexpr int max_attempts = 8;
  Oom oom = device_oom("julia");
  oom.message_format = "julia-retry";
  oom.caught = true;
  oom.traits = {OomTrait::answered};
  i64 last = 0;
  m.cursor.forward(max_attempts, [&](const Line& line) {
    const std::string_view text = trimmed(line.text);
    if (!text.starts_with("... ")) return false;
    last = line.number;
    const std::string_view freed = between(text, "(freed ", ")");
    if (text.find("GC") != text.npos && !freed.empty() && freed != "0 bytes") sink.setting("freed_by_gc", freed);
    return true;
  });
  if (last > 0) sink.claim_through(last);
  sink.oom(std::move(oom));
}

void status(const Match& m, EventSink& sink) {
  if (is_part_of_failure(m.cursor)) return;
  emit(m[1], Metric::used, sink);
  sink.setting("capacity", m[2]);
}

void pool_status(const Match& m, EventSink& sink) {
  if (is_part_of_failure(m.cursor)) return;
  emit(m[1], Metric::allocated, sink);
  emit(m[2], Metric::reserved, sink);
}

}  // namespace oomdoctor::parsers::julia
