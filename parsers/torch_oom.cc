// The out-of-memory messages of PyTorch's device allocators, in every generation.
//
// They come from c10/cuda/CUDACachingAllocator.cpp (and its HIP, XPU and NPU counterparts),
// c10/cuda/CUDAMallocAsyncAllocator.cpp and aten/src/ATen/mps/MPSAllocator.mm. The wording identifies the version:
// - "cached)": 1.0 – 1.3. The number is reserved minus allocated.
// - "reserved in total by PyTorch)": 1.4 – 2.0. The number is all reserved memory.
// - "a total capacty of": 2.1. Only this version has the misspelling.
// - "a total capacity of": 2.2 and later, with private pools since 2.4 and PYTORCH_ALLOC_CONF since 2.9.
// All sizes are binary, also the "MB" of old builds.
#include <algorithm>
#include <array>

#include "base/ascii.h"
#include "read/context.h"
#include "read/parser.h"
#include "read/sizes.h"

namespace oomdoctor::parsers::torch_oom {
namespace {

/// NVML's value for "unknown" (2^64 - 1 bytes). It exceeds the range of a size and is read as absent.
constexpr std::string_view not_available = "17179869184.00GiB";

constexpr std::size_t max_message = 3000;  ///< blank-free bytes that one message may span (13 named processes: 900)

/// The text of this message: up to the next message, at most max_message bytes.
std::string_view find_message(const Match& m) {
  std::string_view rest = m.after().substr(0, max_message);
  for (const std::string_view next : {"ofmemory.Triedtoallocate", "Traceback(mostrecentcalllast)"})
    rest = rest.substr(0, rest.find(next));
  return rest;
}

std::string find_advice(std::string_view text) {
  if (text.find("expandable_segments:True") != text.npos) return "expandable_segments";
  if (text.find("max_split_size_mb") != text.npos) return "max_split_size_mb";
  if (text.find("empty_cache") != text.npos) return "empty_cache";
  return "";
}

Agent find_agent(std::string_view word) {
  if (word == "HIP") return Agent::hip_allocator;
  if (word == "XPU") return Agent::xpu_allocator;
  if (word == "NPU" || word == "MLU") return Agent::npu_allocator;
  return Agent::cuda_allocator;
}

/// PyTorch prints each size with its unit. Without one, the message is cut off within the number.
std::optional<Bytes> read_whole_size(std::string_view text) {
  std::size_t length = 0;
  const auto size = read_size(text, &length);
  const std::string_view read = text.substr(0, length);
  return size && (read.ends_with('B') || read.ends_with("bytes")) ? size : std::nullopt;
}

std::optional<Bytes> whole_size_after(std::string_view text, std::string_view label) {
  const std::size_t at = text.find(label);
  return at == text.npos ? std::nullopt : read_whole_size(text.substr(at + label.size()));
}

/// Reads "Process1117159has127.15GiBmemoryinuse." for every other process.
void read_processes(std::string_view text, Oom& oom) {
  static constexpr std::string_view word = "Process";
  for (std::size_t at = text.find(word); at != text.npos && oom.others.size() < 256; at = text.find(word, at + 1)) {
    std::size_t i = at + word.size();
    const i64 pid = leading_integer(text.substr(i));
    while (i < text.size() && is_digit(text[i])) ++i;
    if (text.substr(i, 3) != "has") continue;
    const auto used = read_whole_size(text.substr(i + 3));
    if (!used) continue;
    if (text.substr(i + 3).starts_with(not_available)) continue;
    oom.others.push_back({pid, *used});
  }
}

constexpr i64 max_context = 3 * GiB / 2;  ///< CUDA context, kernels and communication of one process: 0.1 to 1.5 GiB

/// Whether one process holds what all hold together.
bool fills_device(const OtherProcess& process, const Oom& oom) {
  return oom.capacity && oom.free && process.used.count >= (oom.capacity->count - oom.free->count) / 100 * 97;
}

/// True if the listed processes and PyTorch's memory do not fit on the device together, so this process is in the list.
bool counts_twice(const Oom& oom) {
  if (!oom.capacity || !oom.free || !oom.allocated) return false;
  Bytes sum = *oom.allocated + oom.unallocated.value_or(Bytes{});
  for (const OtherProcess& process : oom.others) sum = sum + process.used;
  const Bytes beyond = sum - (*oom.capacity - *oom.free);
  return beyond.count > beyond.slack + max_context;
}

/// Whether the process can be the one whose PyTorch reported: it holds PyTorch's memory plus a CUDA context.
bool can_be_self(const OtherProcess& process, const Oom& oom) {
  const bool alone = oom.others.size() == 1 && fills_device(process, oom);
  if (!oom.allocated) return alone;  // the message is cut off
  // If one process fills the GPU, another could hold no more than the rest. An engine that sleeps in this process
  // counts more than the driver does.
  if (alone && oom.allocated->count > oom.capacity->count / 100 * 6) return true;
  const i64 rest = process.used.count - oom.allocated->count - oom.unallocated.value_or(Bytes{}).count;
  return rest >= -64 * MiB && (rest <= max_context || alone || counts_twice(oom));
}

/// In a container the driver lists this process under its pid on the host, and the message has no sentence about "this
/// process". So one of the listed processes is this one: the smallest of those that can be. Its pid is taken over only
/// if no other can be.
void identify_self(Oom& oom, EventSink& sink) {
  if (oom.process) return;
  const auto fits_better = [&](const OtherProcess& a, const OtherProcess& b) {
    const bool first = can_be_self(a, oom);
    return first != can_be_self(b, oom) ? first : a.used.count < b.used.count;
  };
  const auto self = std::min_element(oom.others.begin(), oom.others.end(), fits_better);
  if (self == oom.others.end() || !can_be_self(*self, oom)) return;
  oom.process = self->used;
  Origin where;
  where.pid = self->pid;
  const auto candidates = std::count_if(oom.others.begin(), oom.others.end(),
                                        [&](const OtherProcess& process) { return can_be_self(process, oom); });
  if (candidates == 1) sink.at(where);
  oom.others.erase(self);
}

/// "of which 1.10 GiB is free": only directly after the total, because a line of another program may follow.
std::optional<Bytes> read_free(std::string_view text) {
  constexpr std::string_view before = "ofwhich";
  const std::size_t at = text.find(before);
  if (at == text.npos) return std::nullopt;
  const std::string_view rest = text.substr(at + before.size());
  std::size_t length = 0;
  const auto size = read_size(rest, &length);
  return size && rest.substr(length).starts_with("isfree") ? size : std::nullopt;
}

void read_new_form(std::string_view text, Oom& oom, EventSink& sink) {
  oom.capacity = whole_size_after(text, "totalcapacityof");
  const bool misspelt = !oom.capacity;
  if (misspelt) oom.capacity = whole_size_after(text, "totalcapactyof");
  oom.free = read_free(text);
  oom.process = whole_size_after(text, "thisprocesshas");
  oom.limit = size_before(text, "allowed;");
  oom.allocated = size_before(text, "isallocatedbyPyTorch");
  oom.private_pools = size_before(text, "allocatedinprivatepools");
  oom.unallocated = size_before(text, "isreservedbyPyTorchbutunallocated");
  if (oom.allocated && oom.unallocated) oom.reserved = *oom.allocated + *oom.unallocated;
  read_processes(text, oom);
  oom.sizes_not_available = text.find(not_available) != text.npos;
  identify_self(oom, sink);
  if (misspelt && oom.capacity)
    oom.message_format = "torch-2.1";
  else if (text.find("PYTORCH_ALLOC_CONF") != text.npos)
    oom.message_format = "torch-2.9";
  else if (oom.private_pools)
    oom.message_format = "torch-2.4";
  else
    oom.message_format = "torch-2.2";
}

/// True if the message lacks its end: the sentence about the allocated memory, or the bracket of the old list.
bool is_cut_off(std::string_view text, const Oom& oom) {
  if (text.starts_with("(")) return text.find(')') == text.npos;
  return (oom.capacity || text.find("totalcapac") != text.npos) && !oom.allocated && !oom.sizes_not_available;
}

/// Where a list without its closing bracket was cut: what follows is of other lines. Its items are "GPU 0" and sizes,
/// each with its label.
std::size_t find_cut(std::string_view list) {
  static constexpr auto labels = std::to_array<std::string_view>(
      {"totalcapacity", "alreadyallocated", "currentactive", "free", "allowed", "cached"});
  for (std::size_t at = 0, end = list.find(';');; at = end + 1, end = list.find(';', at)) {
    const std::string_view item = list.substr(at, end == list.npos ? end : end - at);
    if (end != list.npos &&
        std::all_of(item.begin(), item.end(), [](char c) { return is_word_char(c) || c == '.' || c == '('; }))
      continue;
    std::size_t length = 0;
    if (!read_size(item, &length)) return at;
    for (const std::string_view label : labels)
      if (item.substr(length).starts_with(label)) return at + length + label.size();
    return at;
  }
}

void read_old_form(std::string_view text, Oom& oom) {
  constexpr std::string_view last = "intotalbyPyTorch";
  const std::size_t end = text.starts_with("(") ? text.find(')') : text.find(last);  // copied without its brackets
  std::string_view list = text.substr(0, end == text.npos || text.starts_with("(") ? end : end + last.size());
  if (end == text.npos) list = list.substr(0, find_cut(list));
  oom.capacity = size_before(list, "totalcapacity");
  if (!oom.capacity) oom.capacity = size_before(list, "total;");
  oom.allocated = size_before(list, "alreadyallocated");
  oom.free = size_before(list, "free");
  oom.limit = size_before(list, "allowed");
  if (const auto cached = size_before(text, "cached)")) {  // the free part of the cache, not the whole cache
    oom.unallocated = cached;
    if (oom.allocated) oom.reserved = *oom.allocated + *cached;
    oom.message_format = "torch-1.0";
    return;
  }
  oom.reserved = size_before(list, "reservedintotalbyPyTorch");
  if (oom.reserved && oom.allocated) {
    oom.unallocated = *oom.reserved - *oom.allocated;
    if (oom.unallocated->count < 0) oom.unallocated->count = 0;
  }
  oom.message_format = text.find("max_split_size_mb") != text.npos ? "torch-1.11" : "torch-1.4";
}

/// The device that the line names before the message: "GPU 1 is bad: ", "cuda:1 ".
std::optional<int> find_device(std::string_view before) {
  std::optional<int> device;
  for (const std::string_view word : {"GPU", "gpu", "cuda", "device"})
    for (std::size_t at = before.find(word); at != before.npos; at = before.find(word, at + 1)) {
      std::size_t i = at + word.size();
      if (i < before.size() && (before[i] == ' ' || before[i] == ':' || before[i] == '#')) ++i;
      const std::size_t digits = i;
      while (i < before.size() && is_digit(before[i])) ++i;
      const bool whole = i == before.size() || std::string_view(" :,;)]").find(before[i]) != std::string_view::npos;
      if (i > digits && i - digits <= 2 && whole) device = static_cast<int>(leading_integer(before.substr(digits)));
    }
  return device;
}

/// "WARNING: OOM on batch 5, skipping: CUDA out of memory. …": the line says that the program goes on.
bool says_it_goes_on(std::string_view line) {
  const std::size_t message = line.find("out of memory");
  const std::string_view before = line.substr(0, message);
  const bool skips = before.find("skipping") != before.npos || before.find("Skipping") != before.npos;
  return skips && before.find("not skipping") == before.npos;
}

void set_named_device(const Match& m, EventSink& sink) {
  Origin where;
  where.device = find_device(m.before());
  if (where.device) sink.at(where);
}

}  // namespace

void request(const Match& m, EventSink& sink) {
  Oom oom;
  oom.agent = find_agent(m[1]);
  oom.framework = "pytorch";
  oom.request = read_size(m[2]);
  const std::string_view text = find_message(m);
  if (text.starts_with("(") || text.substr(0, 120).find("alreadyallocated;") != text.npos) {
    read_old_form(text, oom);
  } else {
    read_new_form(text, oom, sink);
  }
  if (is_cut_off(text, oom)) oom.traits.push_back(OomTrait::cut_off);
  Origin where;
  // The device index follows the word "GPU", or its counterpart, near the start of the text.
  std::size_t gpu = text.npos;
  for (const std::string_view name : {"GPU", "NPU", "XPU", "MLU"}) gpu = std::min(gpu, text.find(name));
  if (gpu < 4 && m[1].empty()) oom.agent = find_agent(text.substr(gpu, 3));  // the head of the message is cut off
  if (gpu < 4 && gpu + 3 < text.size()) {
    const char c = text[gpu + 3];
    if (is_digit(c))
      where.device = static_cast<int>(leading_integer(text.substr(gpu + 3)));
    else if (static_cast<unsigned char>(c) < 0x20)
      where.device = c;  // 2.2 printed the index as a character
  }
  sink.at(where);
  oom.printed_advice = find_advice(text.substr(0, 1200));
  if (says_it_goes_on(m.cursor.line().text)) {
    oom.caught = true;
    sink.remark("handled/skipped");
  }
  sink.oom(std::move(oom));
}

/// The list without the words in front of it. A console that wraps lines puts them on the lines above.
void headless(const Match& m, EventSink& sink) {
  constexpr int most_wraps = 3;
  if (is_near(m.cursor, most_wraps, 0, {"of memory", "Tried to", "to allocate"})) return;
  Oom oom;
  oom.agent = Agent::cuda_allocator;
  oom.framework = "pytorch";
  Origin where;
  where.device = static_cast<int>(leading_integer(m[1]));
  sink.at(where);
  std::string text = dense(m.cursor.line().body());
  if (text.find("alreadyallocated;") != text.npos)
    read_old_form(text.substr(std::min(text.find('('), text.size())), oom);
  else
    read_new_form(text, oom, sink);
  oom.printed_advice = find_advice(text);
  sink.oom(std::move(oom));
}

/// The message ends with its line. What another program prints below it is not a part of it.
void request_only(const Match& m, EventSink& sink) {
  bool goes_on = false;
  m.cursor.forward(1, [&](const Line& next) {
    const std::string_view text = trimmed(next.body());
    goes_on = text.starts_with("GPU") || text.starts_with("(") || text.starts_with("NPU") || text.starts_with("XPU");
    return false;
  });
  if (goes_on) return;
  Oom oom;
  oom.agent = find_agent(m[1]);
  oom.framework = "pytorch";
  oom.message_format = "request-only";
  oom.request = read_size(dense(m[2]));
  set_named_device(m, sink);
  sink.oom(std::move(oom));
}

void beyond_exabyte(const Match& m, EventSink& sink) {
  Oom oom;
  oom.agent = find_agent(m[1]);
  oom.framework = "pytorch";
  oom.message_format = "torch-1eb";
  oom.beyond_exabyte = true;
  sink.oom(std::move(oom));
}

void malloc_async(const Match& m, EventSink& sink) {
  Oom oom;
  oom.agent = Agent::cuda_malloc_async;
  oom.framework = "pytorch";
  oom.message_format = "torch-cudaMallocAsync";
  const std::string_view text = m.text.substr(m.captures.begin, 600);
  oom.allocated = size_after(text, "Currentlyallocated:");
  oom.request = size_after(text, "Requested:");
  oom.capacity = size_after(text, "Devicelimit:");
  oom.free = size_after(text, "Free(accordingtoCUDA):");
  oom.limit = size_after(text, "memoryfraction):");
  Origin where;
  if (m.has(1) && !m[1].empty()) where.device = static_cast<int>(leading_integer(m[1]));
  sink.at(where);
  sink.oom(std::move(oom));
}

void mps(const Match& m, EventSink& sink) {
  Oom oom;
  oom.agent = Agent::mps_allocator;
  oom.framework = "pytorch";
  oom.message_format = "torch-mps";
  oom.allocated = read_size(m[1]);
  oom.limit = read_size(m[3]);
  oom.request = read_size(m[4]);
  if (const auto other = read_size(m[2])) oom.others.push_back({0, *other});
  oom.printed_advice =
      m.after().substr(0, 160).find("HIGH_WATERMARK_RATIO") != std::string_view::npos ? "high_watermark_ratio" : "";
  constexpr int most_wraps = 4;  // of a console that wraps at words
  if (const auto end = find_after(m.cursor, most_wraps, "may cause system failure")) sink.claim_through(end->number);
  sink.oom(std::move(oom));
}

/// True if the failed line copies tensors to the host without waiting: PyTorch takes pinned host RAM for the copy, and
/// the driver refuses it in the words of its own memory.
bool copies_to_host(const Cursor& cursor) {
  constexpr int most_lines = 10;  // up to PyTorch's own frames
  const auto code = find_before(cursor, most_lines, "non_blocking=True");
  if (!code) return find_before(cursor, 1, ".pin_memory(").has_value();
  std::string text(code->text);
  std::replace(text.begin(), text.end(), '\'', '"');
  return text.find(".to(\"cpu\"") != text.npos || text.find("device=\"cpu\"") != text.npos;
}

/// The lines after the driver's words name HIP: AMD's runtime, for which PyTorch and ggml keep the names of CUDA.
bool names_hip(const Cursor& cursor) {
  constexpr int most_lines = 2;
  for (const std::string_view word : {"hipMalloc", "hipError", "rocm.docs.amd.com", "hipMem", "hipHost"})
    if (find_after(cursor, most_lines, word)) return true;
  return cursor.line().text.find("ROCm error") != std::string::npos;
}

/// ggml's path in ollama's sources: "ollama/llm/llama.cpp/ggml-cuda.cu", "ml/backend/ggml/ggml/src/ggml-cuda".
bool is_of_ollama(std::string_view path) {
  for (const std::string_view part : {"/ollama/", "\\ollama\\", "ml/backend/ggml/ggml", "ml\\backend\\ggml\\ggml"})
    if (path.find(part) != path.npos) return true;
  return false;
}

/// PyTorch and ggml print the same words. ggml names the device on the next line: "  current device: 0, in function …".
void driver_error(const Match& m, EventSink& sink) {
  if (copies_to_host(m.cursor)) {
    Oom pinned = host_oom(Agent::cpu_allocator, "pinned-host", "pytorch");
    pinned.traits = {OomTrait::pinned};
    return sink.oom(std::move(pinned));
  }
  Oom oom;
  oom.agent = Agent::driver;
  oom.framework = "pytorch";
  oom.message_format = "cuda-error";
  static constexpr std::string_view label = "current device: ";
  if (const auto next = find_after(m.cursor, 1, label); next && next->text.find(", in function ") != next->text.npos) {
    const bool kobold = next->text.find("koboldcpp") != next->text.npos;  // in the path of its copy of ggml
    oom.framework = kobold ? "koboldcpp" : "llama.cpp";
    oom.message_format = "llama.cpp";
    if (!kobold && is_of_ollama(next->text)) oom.program = "ollama";
    Origin where;
    where.device =
        static_cast<int>(leading_integer(std::string_view(next->text).substr(next->text.find(label) + label.size())));
    sink.at(where);
  } else {
    set_named_device(m, sink);
  }
  if (names_hip(m.cursor)) oom.traits = {OomTrait::rocm};
  sink.oom(std::move(oom));
}

/// A training loop's own message about a failure that it caught: "Step 1000: CUDA OOM". No numbers.
void short_message(const Match& m, EventSink& sink) {
  if (m.has(1)) sink.step({leading_integer(m[1]), {}, {}});
  Oom oom;
  oom.framework = "pytorch";
  oom.message_format = "short";
  sink.oom(std::move(oom));
}

/// Torch of Lua lists the containers of the layer that failed: "In 7 module of nn.Sequential:".
bool names_layers(const Cursor& cursor) {
  constexpr int most_lines = 6;
  bool found = false;
  cursor.forward(most_lines, [&](const Line& line) {
    found = line.text.find(" module of nn.") != std::string::npos;
    return !found;
  });
  return found;
}

void thc(const Match& m, EventSink& sink) {
  // The allocator of pinned memory asks the driver too, for host RAM.
  if (m.text.find("CachingHostAllocator") != m.text.npos) {
    Oom pinned = host_oom(Agent::cpu_allocator, "pinned-host", "pytorch");
    pinned.traits = {OomTrait::pinned};
    return sink.oom(std::move(pinned));
  }
  set_named_device(m, sink);
  Oom oom;
  oom.agent = Agent::driver;
  oom.framework = "pytorch";
  oom.message_format = "torch-0.4";
  sink.oom(std::move(oom));
  if (names_layers(m.cursor)) sink.remark("for/step");
}

/// may_match for "… error: out of memory". The failed part precedes the colon. The allocator's "CUDA out of memory"
/// has no colon there.
bool follows_colon(std::string_view block, std::size_t at) { return block.substr(0, at).ends_with(": "); }

}  // namespace oomdoctor::parsers::torch_oom
