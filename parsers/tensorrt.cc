// TensorRT's builder and runtime: the memory around each phase, and refused requests.
//
// "now: CPU …" is the host memory of the process and "GPU …" the memory in use on the whole GPU. In TensorRT's report
// of its own managed allocation both are its own. The signed differences repeat the same values, so they are not read.
// A tactic that is skipped for lack of memory is not a failure, although the allocator logs an error: the builder uses
// another tactic.
#include "read/context.h"
#include "read/line_format.h"
#include "read/parser.h"
#include "read/sizes.h"

namespace oomdoctor::parsers::tensorrt {
namespace {

void emit(std::string_view number, Metric metric, SeriesKind kind, std::string_view label, EventSink& sink) {
  std::size_t at = 0;
  const auto value = read_number(number, at);
  if (!value) return;
  Reading r;
  r.metric = metric;
  r.kind = kind;
  r.value = value->value * static_cast<double>(MiB);
  r.quantum = static_cast<double>(MiB);
  r.unit = "MiB";
  r.label = std::string(label);
  sink.reading(r);
}

constexpr std::string_view requested = "Requested amount of GPU memory";

}  // namespace

void emit_phase(const Match& m, EventSink& sink) {
  if (m.has(1)) return emit(m[3], Metric::allocated, SeriesKind::gauge, "TensorRT-managed", sink);
  emit(m[2], Metric::host_rss, SeriesKind::sampled_gauge, "", sink);
  emit(m[3], Metric::used, SeriesKind::sampled_gauge, "", sink);
}

void snapshot(const Match& m, EventSink& sink) {
  emit(m[1], Metric::host_rss, SeriesKind::sampled_gauge, "", sink);
  emit(m[2], Metric::used, SeriesKind::sampled_gauge, "", sink);
}

void peak(const Match& m, EventSink& sink) {
  emit(m[1], Metric::max_allocated, SeriesKind::reset_maximum, "peak of TensorRT's allocators", sink);
}

void host_peak(const Match& m, EventSink& sink) {
  emit(m[1], Metric::host_rss, SeriesKind::reset_maximum, "peak of the build", sink);
}

/// TensorRT-LLM's pool for the KV cache. It is allocated once.
void cache(const Match& m, EventSink& sink) {
  std::size_t at = 0;
  const auto value = read_number(m[1], at);
  if (!value) return;
  constexpr double gibibyte = static_cast<double>(GiB);
  Reading r;
  r.metric = Metric::allocated;
  r.value = value->value * gibibyte;
  r.quantum = gibibyte / 100;
  r.unit = "GiB";
  r.label = "paged KV cache";
  sink.reading(r);
}

/// Reports the error code of a call, which may repeat. If the builder made the request, a line with the size follows
/// within 8 lines and is the report.
void code(const Match& m, EventSink& sink) {
  Oom oom = device_oom("tensorrt");
  if (m.has(1))
    read_request(m[1], oom);
  else if (is_program_text(m.cursor.line().body()) || is_near(m.cursor, 0, 8, {requested}))
    return;
  if (m.cursor.line().text.find("executionContext.cpp::") != std::string_view::npos)
    sink.setting("engine_context", "true");
  sink.oom(std::move(oom));
}

/// The builder continues as long as it has another tactic for the node.
void skipped(const Match& m, EventSink& sink) {
  static constexpr int rest_of_node = 40;
  if (!find_after(m.cursor, rest_of_node, "Could not find any implementation for node"))
    sink.remark("handled/fallback");
}

}  // namespace oomdoctor::parsers::tensorrt
