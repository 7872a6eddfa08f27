// TensorRT's builder and runtime: the memory around each phase, and refused requests.
//
// "now: CPU …" is the host memory of the process and "GPU …" the memory in use on the whole GPU. In TensorRT's report
// of its own managed allocation both are its own. The signed differences repeat the same values, so they are not read.
// A tactic that is skipped for lack of memory is not a failure, although the allocator logs an error: the builder uses
// another tactic.
#include "parse/context.h"
#include "parse/line_format.h"
#include "parse/parser.h"
#include "parse/sizes.h"

namespace oomdoctor::parsers {
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

constexpr std::string_view requested = "Requested amount of GPU memory";

void emit_refusal(const Match& m, EventSink& sink) {
  Oom oom = device_oom("tensorrt");
  read_request(m[1], oom);
  sink.oom(std::move(oom));
}

/// Reports the error code of a call, which may repeat. If the builder made the request, a line with the size follows
/// within 8 lines and is the report.
void code(const Match& m, EventSink& sink) {
  Oom oom = device_oom("tensorrt");
  if (m.has(1))
    read_request(m[1], oom);
  else if (is_program_text(m.cursor.line().body()) || is_near(m.cursor, 0, 8, {requested}))
    return;
  sink.oom(std::move(oom));
}

/// The builder continues as long as it has another tactic for the node.
void skipped(const Match& m, EventSink& sink) {
  static constexpr int rest_of_node = 40;
  if (!find_after(m.cursor, rest_of_node, "Could not find any implementation for node"))
    sink.remark("handled/fallback");
}

constexpr Pattern patterns[] = {
    checked({.name = "tensorrt/refused",
             .anchor = "amount of GPU memory",
             .second_anchor = "could not be allocated",
             .regex = R"(RequestedamountofGPUmemory\((\d{1,20})bytes\)couldnotbeallocated)",
             .captures = 1,
             .reach = Reach::message,
             .example = "Requested amount of GPU memory (811032832 bytes) could not be allocated",
             .emit = emit_refusal}),
    checked(
        {.name = "tensorrt/code",
         .anchor = "Error Code ",
         .regex =
             R"(Error Code \d{1,3}: (?:Cuda (?:Runtime|Driver) \(out of memory\)|OutOfMemory \((?:Requested size was (\d{1,20}) bytes)?))",
         .captures = 1,
         .example = "[TRT] [E] 2: [executionContext.cpp::initialize::330] Error Code 2: OutOfMemory (Requested size "
                    "was 1073741824 bytes.)",
         .emit = code}),
    checked({.name = "tensorrt/skipped",
             .anchor = "Skipping tactic",
             .regex = R"(Skipping tactic \w{1,20} due to insuf{1,2}icient memory)",
             .example = "[TRT] [W] Skipping tactic 3 due to insufficient memory on requested size of 41472 detected "
                        "for tactic 0x0000000000000004.",
             .emit = skipped}),
    checked({.name = "tensorrt/cache",
             .anchor = "in paged KV cache",
             .regex = R"(\[MemUsageChange\] Allocated (\d{1,5}\.\d{1,2}) GiB for max tokens in paged KV cache)",
             .captures = 1,
             .example = "[TensorRT-LLM][INFO] [MemUsageChange] Allocated 16.05 GiB for max tokens in paged KV cache "
                        "(263008).",
             .emit = cache}),
    checked(
        {.name = "tensorrt/change",
         .anchor = "[MemUsageChange] ",
         .regex =
             R"(\[MemUsageChange\] (TensorRT-managed allocation in )?[^:\r\n]{1,80}: CPU [+-]?\d{1,8}, GPU [+-]?\d{1,8}, now: CPU (\d{1,8}), GPU (\d{1,8}) \(MiB\))",
         .captures = 3,
         .example =
             "[02/11/2024-10:11:12] [TRT] [I] [MemUsageChange] Init cuDNN: CPU +110, GPU +52, now: CPU 2311, GPU 1645 "
             "(MiB)",
         .emit = emit_phase}),
    checked({.name = "tensorrt/snapshot",
             .anchor = "[MemUsageSnapshot] ",
             .regex = R"(\[MemUsageSnapshot\] [^:\r\n]{1,80}: CPU (\d{1,8}) MiB, GPU (\d{1,8}) MiB)",
             .captures = 2,
             .example = "[02/11/2022-10:11:12] [I] [TRT] [MemUsageSnapshot] Begin constructing builder kernel library: "
                        "CPU 410 MiB, GPU 1020 MiB",
             .emit = snapshot}),
    checked({.name = "tensorrt/peak",
             .anchor = "[MemUsageStats] ",
             .regex = R"(Peak memory usage of TRT CPU/GPU memory allocators: CPU \d{1,8} MiB, GPU (\d{1,8}) MiB)",
             .captures = 1,
             .example = "[02/11/2024-10:11:12] [TRT] [I] [MemUsageStats] Peak memory usage of TRT CPU/GPU memory "
                        "allocators: CPU 16 MiB, GPU 1184 MiB",
             .emit = peak}),
    checked({.name = "tensorrt/host_peak",
             .anchor = "[MemUsageStats] ",
             .regex = R"(Peak memory usage during Engine building and serialization: CPU: (\d{1,8}) MiB)",
             .captures = 1,
             .example = "[02/11/2024-10:11:12] [TRT] [I] [MemUsageStats] Peak memory usage during Engine building and "
                        "serialization: CPU: 9120 MiB",
             .emit = host_peak}),
};

}  // namespace

extern const Parser tensorrt;
const Parser tensorrt{.name = "tensorrt", .title = "TensorRT", .source = "real logs", .patterns = patterns};

}  // namespace oomdoctor::parsers
