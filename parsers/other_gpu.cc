// GPU memory refused to programs other than PyTorch, TensorFlow and XLA, and to libraries in the same process.
//
// The wording differs, the content is the same: a request, sometimes also the free memory. Some tools first print the
// driver's bare "out of memory" and then their own line with the size. Then the line with the size is the report. Sizes
// are binary.
#include <algorithm>
#include <array>

#include "read/context.h"
#include "read/parser.h"
#include "read/sizes.h"

namespace oomdoctor::parsers::other_gpu {
namespace {

/// Where the session's memory is, by what the lines around say of its execution providers. A list of the providers that
/// exist shows nothing; a list without a GPU's does, and so does the refusal of a GPU's.
enum class ArenaMemory { unknown, device, host };
ArenaMemory find_arena_memory(const Cursor& cursor) {
  static constexpr auto of_gpus = std::to_array<std::string_view>(
      {"CUDAExecutionProvider", "TensorrtExecutionProvider", "ROCMExecutionProvider", "MIGraphXExecutionProvider",
       "DmlExecutionProvider", "CUDA failure", "cudaMalloc", "cuda_allocator"});
  ArenaMemory memory = ArenaMemory::unknown;
  const auto read = [&](const Line& line) {
    const auto has = [&](std::string_view word) { return line.text.find(word) != line.text.npos; };
    const bool of_gpu = std::any_of(of_gpus.begin(), of_gpus.end(), has);
    const std::string_view offered = line.text.substr(std::min(line.text.find("vailable providers"), line.text.size()));
    const bool offers_gpu = std::any_of(of_gpus.begin(), of_gpus.end(),
                                        [&](std::string_view word) { return offered.find(word) != offered.npos; });
    const bool refused = has("not in available provider names") || has("Failed to create CUDAExecutionProvider");
    if ((refused && !offers_gpu) || (has("CPUExecutionProvider") && !of_gpu))
      memory = ArenaMemory::host;
    else if (of_gpu && !has("vailable providers") && !has("get_available_providers"))
      memory = ArenaMemory::device;
    return memory == ArenaMemory::unknown;
  };
  constexpr int most_back = 200, most_ahead = 30;  // lines: a session is made at the start, its failure ends the log
  if (read(cursor.line())) cursor.backward(most_back, read);
  if (memory == ArenaMemory::unknown) cursor.forward(most_ahead, read);
  return memory;
}

}  // namespace

/// Reads "Memory info: free:15M, used:11160M, total:11175M" after the message, and the pool's usage in bytes from a log
/// line above.
void kaldi(const Match& m, EventSink& sink) {
  Oom oom = device_oom("kaldi");
  read_request(m[1], oom);
  const std::string_view rest = m.after().substr(0, 500);
  oom.free = size_after(rest, "free:");
  oom.capacity = size_after(rest, ",total:");
  static constexpr std::string_view usage = "Memory usage: ";
  if (const auto line = find_before(m.cursor, 4, usage)) {
    const std::string_view text = std::string_view(line->text).substr(line->text.find(usage) + usage.size());
    oom.allocated = read_size(text);
    if (const std::size_t slash = text.find('/'); slash != text.npos) oom.reserved = read_size(text.substr(slash + 1));
  }
  sink.oom(std::move(oom));
}

void mindspore(const Match& m, EventSink& sink) {
  Oom oom = device_oom("mindspore");
  oom.free = read_size(m[1]);
  read_request(m[2], oom);
  if (const auto line = find_after(m.cursor, 3, "Device(id:"))
    if (const auto id = between(line->text, "Device(id:", ")"); !id.empty())
      sink.at({.device = static_cast<int>(leading_integer(id))});
  sink.oom(std::move(oom));
}

/// The pool adds the request to its tensors, also those that wait for an event, and compares the sum with the memory
/// that it may take.
void mindspore_pool(const Match& m, EventSink& sink) {
  Oom oom = device_oom("mindspore");
  oom.allocated = Bytes{leading_integer(m[1]) + leading_integer(m[2]), 0};
  read_request(m[3], oom);
  oom.capacity = read_size(number_on_line(m.cursor.line().text, "total mem size : ", m[4]));
  sink.oom(std::move(oom));
}

void mindspore_device(const Match& m, EventSink& sink) {
  if (is_near(m.cursor, 3, 0, {"Memory not enough: current free"})) return;
  Oom oom = device_oom("mindspore");
  if (m.has(2)) read_request(m[2], oom);
  sink.at({.device = static_cast<int>(leading_integer(m[1]))});
  sink.oom(std::move(oom));
}

void warp(const Match& m, EventSink& sink) {
  Oom oom = device_oom("warp");
  static constexpr std::string_view label = "Failed to allocate ";
  if (const auto line = find_after(m.cursor, 20, "bytes on device 'cuda");
      line && line->text.find(label) != line->text.npos)
    read_request(std::string_view(line->text).substr(line->text.find(label) + label.size()), oom);
  sink.oom(std::move(oom));
}

/// RELION's pool has most of the GPU. Where its rest holds the request, only its pieces are too small: no free memory.
void emit_relion(const Match& m, EventSink& sink) {
  Oom oom = device_oom("relion", Agent::library);
  read_request(std::string(m[1]) + " bytes", oom);
  oom.largest_free = read_size(std::string(m[2]) + " bytes");
  const auto rest = read_size(std::string(m[3]) + " bytes");
  if (rest && oom.request && rest->count < oom.request->count) oom.free = rest;
  sink.oom(std::move(oom));
}

/// The numbers of a bank, times the banks: a buffer has a part of equal size in each. L1 is the memory of the cores on
/// the chip.
void tenstorrent(const Match& m, EventSink& sink) {
  Oom oom = device_oom("tenstorrent", Agent::library);
  const i64 banks = std::max<i64>(leading_integer(m[3]), 1);
  const auto of_all = [&](std::size_t group) {
    return m.has(group) ? std::optional(Bytes{leading_integer(m[group]) * banks, 0}) : std::nullopt;
  };
  oom.request = Bytes{leading_integer(m[1]), 0};
  oom.capacity = of_all(5);
  oom.allocated = of_all(6);
  oom.unallocated = of_all(7);
  oom.largest_free = of_all(8);
  if (oom.allocated) oom.reserved = oom.capacity;
  sink.oom(std::move(oom));
}

/// "Single stream of length 134217728": the buffer on the host side of a stream, in bytes.
void graphcore(const Match& m, EventSink& sink) {
  Oom oom = device_oom("graphcore", Agent::library);
  static constexpr std::string_view label = "stream of length ";
  const std::string_view text = m.after();
  if (const std::size_t at = text.find(label); at != text.npos)
    oom.request = Bytes{leading_integer(text.substr(at + label.size())), 0};
  sink.oom(std::move(oom));
}

void emit_faiss(const Match& m, EventSink& sink) {
  Oom oom = device_oom("faiss", Agent::library);
  read_request(m.has(1) ? m[1] : m[3], oom);
  if (m.has(2)) {
    Origin where;
    where.device = static_cast<int>(leading_integer(m[2]));
    sink.at(where);
  }
  sink.oom(std::move(oom));
}
/// Any provider uses this arena. Only the CPU provider has nodes in blocks of channels (nchwc), so their arena is host
/// memory. The CUDA provider's own refusal precedes the arena's.
void emit_onnxruntime(const Match& m, EventSink& sink) {
  Oom oom = device_oom("onnxruntime", Agent::library);
  read_request(number_on_line(m.cursor.line().text, "requested buffer of size ", m[1]), oom);
  const bool in_channel_blocks = m.before().find("_nchwc'StatusMessage:") != std::string_view::npos;
  const ArenaMemory memory = in_channel_blocks ? ArenaMemory::host : find_arena_memory(m.cursor);
  if (memory == ArenaMemory::host) {
    oom.kind = OomKind::host;
    oom.agent = Agent::cpu_allocator;
  } else if (memory == ArenaMemory::unknown) {
    oom.message_format = "onnxruntime-any-provider";
    oom.traits = {OomTrait::either_memory};
  }
  sink.oom(std::move(oom));
}
/// CuPy's total is the size of the pool including the request.
void emit_cupy_old(const Match& m, EventSink& sink) {
  Oom oom = device_oom("cupy", Agent::library);
  read_request(m[1], oom);
  if (const auto total = read_size(m[2]); total && oom.request && total->count >= oom.request->count)
    oom.allocated = *total - *oom.request;
  sink.oom(std::move(oom));
}

/// A renderer without its denoiser goes on, if it says that it switches the denoiser off.
void denoiser(const Match& m, EventSink& sink) {
  Oom oom;
  oom.agent = Agent::driver;
  oom.framework = "vulkan";
  oom.message_format = "oidn";
  oom.caught = is_near(m.cursor, 0, 3, {"denoiser disabled", "denoising disabled", "without denois"});
  sink.oom(std::move(oom));
}

/// "[Rank:0] FATAL ERROR :: MODULE:PT_DEVMEM …": Gaudi's bridge names the rank itself.
void habana(const Match& m, EventSink& sink) {
  Oom oom = device_oom("habana");
  oom.request = Bytes{leading_integer(m[2]), 0};
  if (m.has(1)) {
    Origin where;
    where.rank = static_cast<int>(leading_integer(m[1]));
    sink.at(where);
  }
  sink.oom(std::move(oom));
}

}  // namespace oomdoctor::parsers::other_gpu
