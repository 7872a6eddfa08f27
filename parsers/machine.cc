// The GPU, the version of PyTorch, and the allocator's settings as programs print them at the start.
//
// A capacity is emitted as printed ("40.12 GB"). A later stage decides what its unit means, together with the memory
// that the same program prints. The allocator's settings are read only where a program assigns them, not where a
// failure message recommends them.
#include <string>

#include "base/ascii.h"
#include "parse/line_format.h"
#include "parse/parser.h"

namespace oomdoctor::parsers {
namespace {

void gpu(const Match& m, EventSink& sink) {
  std::string_view name = m[1];
  while (!name.empty() && (name.back() == ' ' || name.back() == '.')) name.remove_suffix(1);
  sink.setting("gpu", name);
}

void capacity(const Match& m, EventSink& sink) { sink.setting("capacity", m[1]); }

void gpu_and_capacity(const Match& m, EventSink& sink) {
  gpu(m, sink);
  sink.setting("capacity", m[2]);
}

void torch(const Match& m, EventSink& sink) { sink.setting("torch", m[1]); }

/// True if the setting is a recommendation in a failure message.
bool is_hint(const Match& m) {
  if (m.after().starts_with(" to avoid")) return true;
  const std::string around = m.cursor.joined(1, 1).text;
  return around.find("trysetting") != around.npos || around.find("toavoidfragmentation") != around.npos;
}

void allocator(const Match& m, EventSink& sink) {
  if (is_hint(m)) return;
  static constexpr std::string_view expandable = "expandable_segments:", split = "max_split_size_mb:";
  if (const std::size_t at = m[1].find(expandable); at != std::string_view::npos) {
    const std::string_view value = m[1].substr(at + expandable.size());
    sink.setting("expandable_segments",
                 value.starts_with("True") || value.starts_with("true") || value.starts_with("1") ? "true" : "false");
  }
  if (std::size_t at = m[1].find(split); at != std::string_view::npos) {
    at += split.size();
    if (const auto n = read_number(m[1], at))
      sink.setting("max_split_size", std::to_string(whole_number(n->value)) + " MiB");
  }
}

void fraction(const Match& m, EventSink& sink) { sink.setting("memory_fraction", m[1]); }

// Named functions: clang 14 miscompiles lambdas in the arguments of an immediate function.
bool is_device_memory(std::string_view line) {
  return line.find("CPU") == line.npos && line.find("system") == line.npos && line.find("RAM") == line.npos &&
         line.find("host") == line.npos;
}

/// quick_reject: the GPU's name must be the first text of its line.
bool begins_line(std::string_view block, std::size_t at) {
  const std::size_t before = block.substr(0, at).find_last_not_of(' ');
  return before == block.npos || ends_line(block[before]);
}

/// quick_reject: a word for the device must precede the name. A name alone may be anything, for example a cell of an
/// export.
bool has_device_word(std::string_view block, std::size_t at) {
  constexpr std::size_t reach = 60;
  const std::size_t end_before = block.substr(0, at).find_last_of("\r\n");
  const std::size_t line = end_before == block.npos ? 0 : end_before + 1;
  const std::string_view before = block.substr(std::max(line, at - std::min(at, reach)), std::min(reach, at - line));
  for (const std::string_view word : {"evice", "GPU", "gpu", "cuda", "CUDA", "sing "})
    if (before.find(word) != before.npos) return true;
  return false;
}

/// False for lines that other patterns read.
bool is_unclaimed(std::string_view line) {
  for (const std::string_view form : {"total memory", "(UUID: GPU-", " capacity: ", "evice: cuda"})
    if (line.find(form) != line.npos) return false;
  return true;
}

constexpr const char* named_device =
    R"(((?:NVIDIA|Tesla|GeForce|AMD Instinct) [A-Za-z0-9][A-Za-z0-9 +-]{1,38}[A-Za-z0-9])(?:[,:]? ?\(?(\d{1,6}(?:\.\d{1,3})? ?[MG]i?B)\b)?)";

void gpu_and_printed_capacity(const Match& m, EventSink& sink) {
  gpu(m, sink);
  if (m.has(2)) sink.setting("capacity", m[2]);
}

void colab(const Match&, EventSink& sink) { sink.setting("notebook", "Colab"); }

constexpr Pattern patterns[] = {
    checked({.name = "machine/colab",
             .anchor = "/content/",
             .regex = R"((?:^|["' =:(])/content/(?:drive|sample_data|[\w.-]{1,80}(?:["'/ )]|$)))",
             .example = "Mounted at /content/drive",
             .emit = colab,
             .non_exclusive = true}),
    checked(
        {.name = "machine/total_memory",
         .anchor = "total memory",
         .regex =
             R"((?:GPU|CUDA|cuda|Device|device) ?:?\d{0,2}: ([^,:\r\n]{2,60}), total memory:? {0,2}(\d{1,6}(?:\.\d{1,3})? ?[KMGT]i?B)\b)",
         .captures = 2,
         .example = "GPU 0: NVIDIA L40S, total memory 44.53 GiB",
         .emit = gpu_and_capacity,
         .non_exclusive = true}),
    checked(
        {.name = "machine/total_memory_alone",
         .anchor = "total memory",
         .regex =
             R"(^[^\r\n,]{0,40}\b(?:GPU |CUDA |device |VRAM )?total memory(?: is|:| =)? {0,3}(\d{1,6}(?:\.\d{1,3})? ?[MGT]i?B)\b)",
         .captures = 1,
         .example = "total memory 44.53 GiB",
         .emit = capacity,
         .accepts = is_device_memory,
         .non_exclusive = true}),
    checked(
        {.name = "machine/device_properties",
         .anchor = "total_memory=",
         .regex = R"(DeviceProperties\(name='([^'\r\n]{2,60})'[^\r\n]{0,60}? total_memory=(\d{3,7}MB))",
         .captures = 2,
         .example =
             "_CudaDeviceProperties(name='Tesla T4', major=7, minor=5, total_memory=15109MB, multi_processor_count=40)",
         .emit = gpu_and_capacity,
         .non_exclusive = true,
         .source = "torch: torch/csrc/cuda/Module.cpp"}),
    checked({.name = "machine/max_memory",
             .anchor = ". Max memory = ",
             .regex = R"(GPU = ([^\r\n=]{2,60})\. Max memory = (\d{1,4}\.\d{1,3} GB)\.)",
             .captures = 2,
             .example = "GPU = Tesla T4. Max memory = 14.741 GB.",
             .emit = gpu_and_capacity,
             .non_exclusive = true,
             .source = "unsloth: unsloth/models/llama.py"}),
    checked({.name = "machine/cuda_device",
             .anchor = "CUDA:",
             .regex = R"(\bCUDA:\d{1,2} \(([^,()\r\n]{2,50}), (\d{4,6}(?:\.\d)? ?Mi?B)\))",
             .captures = 2,
             .example = "      CUDA:1 (Tesla T4, 15102MiB)",
             .emit = gpu_and_capacity,
             .non_exclusive = true,
             .source = "yolov5: utils/torch_utils.py"}),
    checked({.name = "machine/name_and_total",
             .anchor = "NVIDIA ",
             .second_anchor = "Tesla ",
             .regex = R"(^ {0,4}((?:NVIDIA|Tesla) [^,()\r\n]{2,50}), (\d{4,6} ?MiB) {0,4}$)",
             .captures = 2,
             .example = "NVIDIA A40, 46068 MiB",
             .emit = gpu_and_capacity,
             .quick_reject = begins_line,
             .non_exclusive = true,
             .source = "nvidia-smi --query-gpu=name,memory.total --format=csv"}),
    checked(
        {.name = "machine/device",
         .anchor = "device: cuda",
         .regex =
             R"([Dd]evice: cuda(?::\d{1,2})? \(?((?:NVIDIA|Tesla|GeForce|Quadro|TITAN|AMD|Radeon)[^,()\r\n]{1,50}))",
         .captures = 1,
         .example = "device: cuda:0 NVIDIA A40",
         .emit = gpu,
         .non_exclusive = true}),
    checked({.name = "machine/named_device",
             .anchor = "NVIDIA ",
             .second_anchor = "Tesla ",
             .regex = named_device,
             .captures = 2,
             .example = "device cuda:0 NVIDIA A100-SXM4-80GB, 79.15 GiB",
             .emit = gpu_and_printed_capacity,
             .accepts = is_unclaimed,
             .quick_reject = has_device_word,
             .non_exclusive = true}),
    checked({.name = "machine/named_card",
             .anchor = "GeForce ",
             .second_anchor = "AMD Instinct ",
             .regex = named_device,
             .captures = 2,
             .example = "Using GPU: GeForce RTX 3090 (24268 MiB)",
             .emit = gpu_and_printed_capacity,
             .accepts = is_unclaimed,
             .quick_reject = has_device_word,
             .non_exclusive = true}),
    checked({.name = "machine/device_list",
             .anchor = "(UUID: GPU-",
             .regex = R"(GPU \d{1,3}: ([^(\r\n]{2,60}) \(UUID: GPU-)",
             .captures = 1,
             .example = "GPU 0: NVIDIA A40 (UUID: GPU-6e0b3c5a-0000-0000-0000-000000000001)",
             .emit = gpu,
             .non_exclusive = true,
             .source = "nvidia-smi -L"}),
    checked({.name = "machine/torch_label",
             .anchor = "orch: ",
             .regex = R"(^[^\r\n]{0,40}\b(?:[Tt]orch|PyTorch|pytorch): v?(\d{1,2}\.\d{1,2}(?:\.\d{1,2})?[\w+.]{0,20}))",
             .captures = 1,
             .example = "torch: 2.4.0",
             .emit = torch,
             .non_exclusive = true}),
    checked(
        {.name = "machine/torch_version",
         .anchor = "orch version",
         .regex = R"((?:[Tt]orch|PyTorch) version ?(?::|=|is)? {0,3}v?(\d{1,2}\.\d{1,2}(?:\.\d{1,2})?[\w+.]{0,20}))",
         .captures = 1,
         .example = "PyTorch version: 2.1.0+cu121",
         .emit = torch,
         .non_exclusive = true,
         .source = "torch: torch/utils/collect_env.py"}),
    checked({.name = "machine/torch_requirement",
             .anchor = "torch==",
             .regex = R"((?:^|[ ,'"])torch==(\d{1,2}\.\d{1,2}(?:\.\d{1,2})?[\w+.]{0,20}))",
             .captures = 1,
             .example = "[pip3] torch==2.3.1",
             .emit = torch,
             .non_exclusive = true,
             .source = "torch: torch/utils/collect_env.py"}),
    checked({.name = "machine/torch_dash",
             .anchor = "torch-",
             .regex = R"((?:^| )torch-(\d{1,2}\.\d{1,2}\.\d{1,2}[\w+.]{0,20}))",
             .captures = 1,
             .example = "Python-3.9.7 torch-1.13.1+cpu CPU",
             .emit = torch,
             .non_exclusive = true,
             .source = "yolov5: utils/torch_utils.py"}),
    checked(
        {.name = "machine/allocator",
         .anchor = "ALLOC_CONF",
         .regex =
             R"(PYTORCH_(?:CUDA_|HIP_)?ALLOC_CONF['"\]]{0,2} {0,2}[=:] {0,2}['"]?([a-z_]{3,40}:[A-Za-z0-9.,:_\[\]-]{1,120}))",
         .captures = 1,
         .example = "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True,max_split_size_mb:256",
         .emit = allocator,
         .non_exclusive = true,
         .source = "shells, launchers and job scripts: real logs"}),
    checked({.name = "machine/memory_fraction",
             .anchor = "set_per_process_memory_fraction",
             .regex = R"(set_per_process_memory_fraction\((0?\.\d{1,4})\b)",
             .captures = 1,
             .example = "torch.cuda.set_per_process_memory_fraction(0.45, 0)",
             .emit = fraction,
             .non_exclusive = true}),
};

}  // namespace

extern const Parser machine;
const Parser machine{.name = "machine",
                     .title = "card, PyTorch version and allocator settings",
                     .source = "programs' own prints: real logs",
                     .patterns = patterns};

}  // namespace oomdoctor::parsers
