// CUDA.jl: the pool of Julia on a device. Sizes are binary.
//
// "Effective GPU memory usage" is of the whole card; where the pool and a context explain it, it is this process. What
// the allocator below the pool holds may be capped. A refusal makes it collect garbage and ask again; only where it
// says what it tried to allocate was that the end.
#include <algorithm>

#include "parse/context.h"
#include "parse/parser.h"
#include "parse/sizes.h"

namespace oomdoctor::parsers {
namespace {

constexpr i64 max_context = 3 * GiB / 2;  ///< a process holds this much at most beside its pool

/// "Memory pool usage: 6.902 GiB (7.406 GiB reserved)"; up to CUDA.jl 3.2 the usage counts what is cached, too.
void pool(std::string_view text, Oom& oom) {
  const auto usage = size_after(text, "Memorypoolusage:");
  const auto allocated = size_before(text, "allocated,");
  oom.allocated = allocated ? allocated : usage;
  oom.reserved = allocated ? usage : size_before(text, "reserved)");
}

void refused(const Match& m, EventSink& sink) {
  Oom oom = refusal("julia");
  read_request(m[1], oom);
  std::optional<Bytes> used, held;
  m.cursor.forward(6, [&](const Line& line) {
    const std::string text = dense(line.text);
    if (text.starts_with("EffectiveGPUmemoryusage:")) {
      used = size_after(text, "%(");
      oom.capacity = size_before(text, ")");
      return true;
    }
    if (text.starts_with("CUDAallocatorusage:")) {
      held = size_after(text, "CUDAallocatorusage:");
      oom.limit = size_after(text, "(cappedat");
      return true;
    }
    if (text.starts_with("Memorypoolusage:")) pool(text, oom);
    return false;
  });
  if (used && oom.capacity) oom.free = *oom.capacity - *used;
  if (!held) held = oom.reserved;
  if (used && held) {
    const i64 more = used->count - held->count;
    if (more > -64 * MiB && more <= max_context) oom.process = used;
  }
  sink.oom(std::move(oom));
}

void retried(const Match&, EventSink& sink) {
  Oom oom = refusal("julia");
  oom.message_format = "julia-retry";
  oom.caught = true;
  sink.oom(std::move(oom));
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

/// Below a message the status is part of it.
bool is_told(const Cursor& cursor) { return find_behind(cursor, 3, "Out of GPU memory").has_value(); }

void status(const Match& m, EventSink& sink) {
  if (is_told(m.cursor)) return;
  emit(m[1], Metric::used, sink);
  sink.setting("capacity", m[2]);
}

void pool_status(const Match& m, EventSink& sink) {
  if (is_told(m.cursor)) return;
  emit(m[1], Metric::allocated, sink);
  emit(m[2], Metric::reserved, sink);
}

constexpr Pattern patterns[] = {
    checked(
        {.name = "julia/status",
         .anchor = "Effective GPU memory",
         .regex =
             R"(Effective GPU memory usage: [\d.]{1,8}% \(([\d.]{1,12} (?:bytes|[KMGT]iB))/([\d.]{1,12} [KMGT]iB)\))",
         .captures = 2,
         .example = "Effective GPU memory usage: 25.68% (3.018 GiB/11.751 GiB)",
         .emit = status}),
    checked({.name = "julia/pool",
             .anchor = "Memory pool usage: ",
             .regex =
                 R"(Memory pool usage: ([\d.]{1,12} (?:bytes|[KMGT]iB)) \(([\d.]{1,12} (?:bytes|[KMGT]iB)) reserved\))",
             .captures = 2,
             .example = "Memory pool usage: 6.911 GiB (9.812 GiB reserved)",
             .emit = pool_status}),
    checked({.name = "julia/refused",
             .anchor = "Out of GPU memory",
             .regex = R"(OutofGPUmemorytryingtoallocate([\d.]{1,10}(?:bytes|[KMGT]iB)))",
             .captures = 1,
             .reach = Reach::message,
             .example = "ERROR: LoadError: Out of GPU memory trying to allocate 11.921 GiB",
             .emit = refused}),
    checked({.name = "julia/retried",
             .anchor = "memory allocation failed; attempting",
             .regex = R"(WARNING: CUDA memory allocation failed; attempting to free up memory)",
             .example = "WARNING: CUDA memory allocation failed; attempting to free up memory...",
             .emit = retried}),
};

}  // namespace

extern const Parser julia;
const Parser julia{.name = "julia", .title = "CUDA.jl", .source = "CUDA.jl: src/pool.jl", .patterns = patterns};

}  // namespace oomdoctor::parsers
