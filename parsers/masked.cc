// Lack of GPU memory that another error code masks, and GPU failures that are not about memory.
//
// cuBLAS, cuDNN, NCCL and similar libraries allocate outside the framework's pool. On a full GPU they report their own
// status. NOT_INITIALIZED also follows a failed kernel assertion, which poisons the CUDA context. If an assertion is
// above, the status is not evidence. The event keeps the status as printed. NCCL reports the refusal itself; its
// multicast buffers (NVLS) are another resource. Xid numbers: https://docs.nvidia.com/deploy/xid-errors.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/ascii.h"
#include "read/context.h"
#include "read/parser.h"
#include "read/sizes.h"

namespace oomdoctor::parsers::masked {
namespace {

Oom masked_failure(std::string_view status) {
  Oom oom;
  oom.kind = OomKind::masked;
  oom.agent = Agent::library;
  oom.message_format = std::string(status);
  return oom;
}

/// The memory of the GPU around the failure of a library, and the line that prints it.
struct GpuRoom {
  i64 free = 0, total = 0;
  Line line;
};

std::optional<GpuRoom> valid_room(i64 free, i64 total, const Line& line) {
  return total > 0 && free <= total ? std::optional(GpuRoom{free, total, line}) : std::nullopt;
}

/// TensorFlow and XLA print it below the status: "Memory usage: 15364980736 bytes free, 15655829504 bytes total."
std::optional<GpuRoom> find_room_below(const Cursor& cursor) {
  static constexpr std::string_view words = "Memory usage: ";
  const auto line = find_after(cursor, 3, words);
  if (!line) return std::nullopt;
  const std::string_view sizes = line->text.substr(line->text.find(words) + words.size());
  return valid_room(leading_integer(sizes), leading_integer(between(sizes, "free, ", " bytes")), *line);
}

/// "GPU 0: 21.10 GiB free of 21.96 GiB", "GPU memory: 21.10 GiB free, 21.96 GiB total".
std::optional<GpuRoom> read_room(const Line& printed) {
  const std::string_view line = printed.body();
  bool of_device = false;
  for (const std::string_view word : {"GPU", "gpu", "cuda", "CUDA", "VRAM", "device", "Device"})
    of_device |= line.find(word) != line.npos;
  if (!of_device) return std::nullopt;
  for (const std::string_view label : {" free of ", " free, ", " free / "}) {
    const std::size_t at = line.find(label);
    if (at == line.npos || (label == " free, " && line.find(" total", at) == line.npos)) continue;
    const std::size_t number = line.substr(0, at).rfind(' ', at - std::min<std::size_t>(at, 5));
    const auto free = read_size(dense(line.substr(number == line.npos ? 0 : number + 1, at - number - 1)));
    const auto total = read_size(dense(line.substr(at + label.size(), 16)));
    if (free && total) return valid_room(free->count, total->count, printed);
  }
  return std::nullopt;
}

/// The program printed it shortly before: only lines of the traceback and a few others are in between. What it did
/// since an earlier print may have filled the GPU.
std::optional<GpuRoom> find_room_above(const Cursor& cursor) {
  constexpr int max_traceback = 120, max_others = 3;
  std::optional<GpuRoom> room;
  int others = 0;
  cursor.backward(max_traceback, [&](const Line& line) {
    const std::string_view body = line.body();
    if (body.starts_with(' ') || body.starts_with("Traceback") || trimmed(body).empty()) return true;
    room = read_room(line);
    static constexpr std::array<std::string_view, 7> work{"alloc", "reserv", "step", "epoch", "it/s", "load", "memory"};
    const bool worked = std::any_of(work.begin(), work.end(), [&](auto word) { return body.find(word) != body.npos; });
    return !room && !worked && ++others < max_others;
  });
  return room;
}

std::optional<GpuRoom> find_room(const Cursor& cursor) {
  const auto below = find_room_below(cursor);
  return below ? below : find_room_above(cursor);
}

/// A refused allocation and the line that prints it.
struct Refusal {
  Bytes size;
  i64 line = 0;
};

/// The allocation that failed in the same thread. "Failed to CUDA calloc 6291456 bytes" is on one of the next four
/// lines.
std::optional<Refusal> find_refusal(const Match& m) {
  static constexpr std::string_view words = "Failed to CUDA ";
  const auto line = find_after(m.cursor, 4, words);
  const std::string_view thread = m.text.substr(0, static_cast<std::size_t>(m[1].end() - m.text.begin()));
  if (!line || !line->text.starts_with(thread)) return std::nullopt;
  const std::size_t number = line->text.find_first_of("0123456789", line->text.find(words));
  if (number == line->text.npos) return std::nullopt;
  return Refusal{{leading_integer(line->text.substr(number)), 0}, line->number};
}

}  // namespace

void status(const Match& m, EventSink& sink) {
  if (is_program_text(m.cursor.line().body()) || follows_device_fault(m.cursor)) return;
  constexpr i64 min_free_divisor = 10;  // a library's handle and workspace fit into a tenth of any GPU
  const auto room = find_room(m.cursor);
  if (room && room->free > room->total / min_free_divisor) {
    sink.cite(room->line);
    sink.setting("free_at_status", fmt::format("{:.2f} of {:.2f} GiB", static_cast<double>(room->free) / GiB,
                                               static_cast<double>(room->total) / GiB));
    return sink.remark("device/room", static_cast<double>(room->free) / static_cast<double>(room->total));
  }
  Oom oom = masked_failure(m[1]);
  if (room) oom.free = Bytes{room->free, 0}, oom.capacity = Bytes{room->total, 0};
  // PyTorch's checks print the failed call.
  if (m.cursor.line().body().find(" when calling `") != std::string_view::npos) oom.framework = "pytorch";
  sink.oom(std::move(oom));
}

/// JAX prints this message; the statuses may precede it.
void jax_dnn(const Match& m, EventSink& sink) {
  if (!is_near(m.cursor, 40, 0, {"CUDNN_STATUS_", "cudnn handle"})) status(m, sink);
}

/// "gpu-04:5120:5188 [3] NCCL WARN …": the device is in brackets.
void nccl(const Match& m, EventSink& sink) {
  for (const std::string_view other : {"nvls", "NVLS", "ulticast"})
    if (m.text.find(other) != m.text.npos) return;
  if (is_program_text(m.cursor.line().body()) || follows_device_fault(m.cursor)) return;
  Oom oom;
  oom.agent = Agent::library;
  oom.message_format = "nccl";
  if (m.has(1)) {
    Origin where;
    where.device = static_cast<int>(leading_integer(m[1]));
    sink.at(where);
    if (const auto refused = find_refusal(m)) {
      oom.request = refused->size;
      sink.claim_through(refused->line);
    }
  }
  sink.oom(std::move(oom));
}

/// Sometimes only the end of the exception's text is printed. It does not contain the reason, so the failure is masked.
void nccl_calloc(const Match& m, EventSink& sink) {
  if (is_program_text(m.cursor.line().body()) || follows_device_fault(m.cursor)) return;
  if (is_near(m.cursor, 200, 0, {"Cuda failure"})) return;
  Oom oom = masked_failure(m[1]);
  oom.request = Bytes{leading_integer(m[2]), 0};
  sink.oom(std::move(oom));
}

void kernel_shared_memory(const Match& m, EventSink& sink) {
  sink.setting("kernel_memory",
               m.has(2) ? fmt::format("{} bytes required, {} available", m[1], m[2]) : std::string(m[1]));
}

void autotuning_shared_memory(const Match& m, EventSink& sink) {
  if (!is_near(m.cursor, 0, 2, {"Ignoring this choice"})) kernel_shared_memory(m, sink);
}

/// Splits the Xid numbers into errors of the program, defects of the hardware, and memory taken out of use. Others are
/// ignored, and so are 43 and 45 after another one: the driver stops and cleans up what that one broke.
void xid(const Match& m, EventSink& sink) {
  static constexpr std::array<i64, 4> program{13, 31, 43, 45};
  static constexpr std::array<i64, 8> broken{48, 62, 74, 79, 94, 95, 119, 120};
  static constexpr std::array<i64, 2> remapped{63, 64};
  const i64 number = leading_integer(m[2]);
  const bool cleans_up = number == 43 || number == 45;
  if (cleans_up &&
      is_near(m.cursor, 20, 0, {"): 13,", "): 31,", "): 48,", "): 62,", "): 74,", "): 79,", "): 94,", "): 95,"}))
    return;
  for (const i64 x : program)
    if (x == number) return sink.remark("device/fault", static_cast<double>(number));
  for (const i64 x : broken)
    if (x == number) return sink.remark("device/hardware", static_cast<double>(number));
  if (std::find(remapped.begin(), remapped.end(), number) == remapped.end()) return;
  sink.remark("device/remapped", static_cast<double>(number));
  sink.setting("remapped_gpu", m[1]);
}

}  // namespace oomdoctor::parsers::masked
