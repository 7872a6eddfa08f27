// TensorRT's builder and runtime: the memory around each phase.
//
// "now: CPU …" is what the process holds on the host, "GPU …" what is in use on the whole card; only where TensorRT
// speaks of its own managed allocation are both its own. The differences with a sign say the same twice. That a tactic
// is skipped for want of memory is no failure: the builder takes another.
#include "parse/gauge.h"
#include "parse/parser.h"

namespace oomdoctor::parsers {
namespace {

void tell(std::string_view number, Metric metric, SeriesKind kind, std::string_view label, Sink& sink) {
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

void around(const Match& m, Sink& sink) {
  if (m.has(1)) return tell(m[3], Metric::allocated, SeriesKind::gauge, "TensorRT-managed", sink);
  tell(m[2], Metric::host_rss, SeriesKind::sampled_gauge, "", sink);
  tell(m[3], Metric::used, SeriesKind::sampled_gauge, "", sink);
}

void snapshot(const Match& m, Sink& sink) {
  tell(m[1], Metric::host_rss, SeriesKind::sampled_gauge, "", sink);
  tell(m[2], Metric::used, SeriesKind::sampled_gauge, "", sink);
}

void peak(const Match& m, Sink& sink) {
  tell(m[1], Metric::max_allocated, SeriesKind::reset_maximum, "peak of TensorRT's allocators", sink);
}

void host_peak(const Match& m, Sink& sink) {
  tell(m[1], Metric::host_rss, SeriesKind::reset_maximum, "peak of the build", sink);
}

/// TensorRT-LLM's pool for the keys and values, allocated once.
void cache(const Match& m, Sink& sink) {
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

constexpr Pattern patterns[] = {
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
         .emit = around}),
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
const Parser tensorrt{
    .name = "tensorrt", .title = "TensorRT's memory around each phase", .source = "real logs", .patterns = patterns};

}  // namespace oomdoctor::parsers
