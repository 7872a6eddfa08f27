// The GPU, the version of PyTorch, and the allocator's settings as programs print them at the start.
//
// A capacity is emitted as printed ("40.12 GB"). A later stage decides what its unit means, together with the memory
// that the same program prints. The allocator's settings are read only where a program assigns them, not where a
// failure message recommends them.
#include <string>

#include "base/ascii.h"
#include "read/line_format.h"
#include "read/parser.h"

namespace oomdoctor::parsers::machine {
namespace {

/// True if the setting is a recommendation in a failure message.
bool is_hint(const Match& m) {
  if (m.after().starts_with(" to avoid")) return true;
  const std::string around = m.cursor.joined(1, 1).text;
  return around.find("trysetting") != around.npos || around.find("toavoidfragmentation") != around.npos;
}

}  // namespace

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

void allocator(const Match& m, EventSink& sink) {
  if (is_hint(m)) return;
  static constexpr std::string_view expandable = "expandable_segments:", split = "max_split_size_mb:",
                                    backend = "backend:";
  if (const std::size_t at = m[1].find(backend); at != std::string_view::npos)
    sink.setting("allocator", m[1].substr(at + backend.size(), m[1].find(',', at) - at - backend.size()));
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

bool is_device_memory(std::string_view line) {
  return line.find("CPU") == line.npos && line.find("system") == line.npos && line.find("RAM") == line.npos &&
         line.find("host") == line.npos;
}

/// may_match: the GPU's name must be the first text of its line.
bool begins_line(std::string_view block, std::size_t at) {
  const std::size_t before = block.substr(0, at).find_last_not_of(' ');
  return before == block.npos || ends_line(block[before]);
}

/// may_match: a word for the device must precede the name. A name alone may be anything, for example a cell of an
/// export.
bool has_device_word(std::string_view block, std::size_t at) {
  constexpr std::size_t reach = 60;
  const std::size_t end_before = block.substr(0, at).find_last_of("\r\n");
  const std::size_t line = end_before == block.npos ? 0 : end_before + 1;
  const std::string_view before = block.substr(std::max(line, at - std::min(at, reach)), std::min(reach, at - line));
  for (const std::string_view word : {"evice", "GPU", "gpu", "cuda", "CUDA", "sing ", "unning on ", "ccelerator"})
    if (before.find(word) != before.npos) return true;
  return false;
}

/// may_match: the name of a model follows the label: "GPU: T4", "device_name='RTX 4090'", "GPU: 8 x H100".
bool labels_model(std::string_view block, std::size_t at) {
  constexpr std::size_t reach = 24;  // bytes
  std::string_view text = block.substr(at, reach);
  const std::size_t separator = text.find_first_of(":=\r\n");
  if (separator == text.npos) return false;
  text.remove_prefix(separator + 1);
  const std::size_t name = text.find_first_not_of(" '\"");
  if (name == text.npos) return false;
  return is_digit(text[name]) || (is_upper(text[name]) && name + 1 < text.size() &&
                                  (is_digit(text[name + 1]) || text.substr(name + 1, 2) == "TX"));
}

/// False for lines that other patterns read.
bool is_unclaimed(std::string_view line) {
  for (const std::string_view form :
       {"total memory", "(UUID: GPU-", " capacity: ", "evice: cuda", "DeviceProperties(", ". Max memory = ", "CUDA:"})
    if (line.find(form) != line.npos) return false;
  return true;
}

void gpu_and_printed_capacity(const Match& m, EventSink& sink) {
  // "24GB" after a name is the size in the data sheet: the unit means 2^30 bytes.
  const std::size_t unit = m[2].find("GB");
  const bool data_sheet = unit != std::string_view::npos && m[2].find('.') == std::string_view::npos;
  gpu(m, sink);
  if (m.has(2)) sink.setting("capacity", data_sheet ? std::string(m[2].substr(0, unit)) + "GiB" : std::string(m[2]));
}

void colab(const Match&, EventSink& sink) { sink.setting("notebook", "Colab"); }

}  // namespace oomdoctor::parsers::machine
