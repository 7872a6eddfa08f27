// Memory that users print themselves, in any form that read/freeform.h can read.
//
// These patterns are fallbacks: they apply only if no known format took the line. Units such as GB do not show whether
// they mean 10^9 or 2^30. Such series are marked, and the GPU's capacity decides later.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "base/ascii.h"
#include "model/series.h"
#include "read/context.h"
#include "read/freeform.h"
#include "read/line_format.h"
#include "read/parser.h"
#include "read/tokens.h"
#include "text/lines.h"

namespace oomdoctor::parsers::prints {
namespace {

constexpr auto inputs = std::to_array<std::string_view>({"image", "input", "batch"});
constexpr auto others = std::to_array<std::string_view>({"mask", "attn", "attention", "logits", "weight"});

/// The longer side of the images of a step, in pixels. Memory depends on the area, but logs name the sides.
void emit_image(const Match& m, EventSink& sink, i64 longer_side) {
  const FreeformLine printed = read_freeform(m.text);
  // Without a step it may be any tensor, unless the line names an input.
  const std::string text = lower(m.text);
  const bool named =
      std::any_of(inputs.begin(), inputs.end(), [&](std::string_view word) { return text.find(word) != text.npos; });
  // "attention_mask shape (4, 1, 2048, 2048)" has the form of an image.
  const bool other =
      std::any_of(others.begin(), others.end(), [&](std::string_view word) { return text.find(word) != text.npos; });
  if ((!printed.step && !named) || other || longer_side < 1) return;
  Reading r;
  r.metric = Metric::input_length;
  r.value = static_cast<double>(longer_side);
  r.quantum = 1;
  r.label = image_label;
  if (printed.evaluation) r.phase = "evaluation";
  sink.reading(r, printed.step);
}

/// Corrects the metric if the words of the line show that a bare "free" or "used" is about host RAM: msg="system
/// memory" free="900.1 MiB".
Metric metric_on(std::string_view line, Metric printed) {
  if (printed != Metric::free && printed != Metric::used) return printed;
  const bool host = line.find("system memory") != line.npos || line.find("host memory") != line.npos;
  if (!host) return printed;
  return printed == Metric::free ? Metric::host_available : Metric::host_used;
}

/// The unit of lines nearby that begin with the same words: "Memory info of GPU: current: 0.21" next to "Memory info of
/// CPU: available: 98.4 GB". nullopt if they print none.
std::optional<double> find_unit_nearby(const Match& m) {
  constexpr int most_lines = 4;
  constexpr std::size_t same_front = 12;  // bytes
  const std::string_view front = m.cursor.line().body().substr(0, same_front);
  std::optional<double> unit;
  const auto look = [&](const Line& line) {
    if (!line.body().starts_with(front)) return true;
    for (const FreeformValue& v : read_freeform(line.text).values)
      if (v.bare_digit == 0 && v.factor > 1) unit = v.factor;
    return !unit;
  };
  m.cursor.forward(most_lines, look);
  if (!unit) m.cursor.backward(most_lines, look);
  return unit;
}

/// The rank and the GPU that a member before this one names, of the same object in indented JSON: "rank": 3, above
/// "allocated_mb": 8120.5.
Origin origin_of_object(const Match& m) {
  constexpr int most_lines = 8;
  Origin where;
  if (!trimmed(m.cursor.line().body()).starts_with('"')) return where;
  m.cursor.backward(most_lines, [&](const Line& line) {
    const std::string_view text = trimmed(line.body());
    const auto number_of = [text](std::initializer_list<std::string_view> keys) -> std::optional<int> {
      const std::size_t colon = text.find("\":");
      if (colon == text.npos || !one_of(text.substr(1, colon - 1), keys)) return std::nullopt;
      std::string_view number = trimmed(text.substr(colon + 2));
      if (number.ends_with(',')) number.remove_suffix(1);
      constexpr std::size_t most_digits = 5;
      if (number.empty() || number.size() > most_digits || !only_digits(number)) return std::nullopt;
      return static_cast<int>(leading_integer(number));
    };
    if (!text.starts_with('"')) return false;
    if (!where.rank) where.rank = number_of({"rank", "local_rank", "global_rank"});
    if (!where.device) where.device = number_of({"gpu", "gpu_id", "gpu_index", "device", "device_id"});
    return true;
  });
  return where;
}

/// True if lines nearby have the same words, and other numbers.
bool is_repeated(const Match& m) {
  constexpr int reach = 40;
  const auto words_of = [](std::string_view line) {
    std::string words;
    for (const char c : line)
      if (!is_digit(c) && c != '.') words += c;
    return words;
  };
  const std::string_view here = trimmed(m.cursor.line().body());
  const std::string words = words_of(here);
  std::vector<std::string> alike;
  const auto look = [&](const Line& line) {
    const std::string_view text = trimmed(line.body());
    if (text != here && words_of(text) == words && std::find(alike.begin(), alike.end(), text) == alike.end())
      alike.emplace_back(text);
    return alike.size() < 2;
  };
  m.cursor.forward(reach, look);
  if (alike.size() < 2) m.cursor.backward(reach, look);
  return alike.size() >= 2;
}

void emit_value(const Match& m, const FreeformValue& v, const Origin& object, EventSink& sink) {
  const FreeformLine& printed = *m.printed;
  if (v.alone && !is_repeated(m)) {
    if (printed.values.size() == 1 && !printed.step) sink.claim_through(0);
    return;
  }
  Origin where = object;
  if (v.device) where.device = v.device;
  sink.at(where);
  const Metric metric = metric_on(m.text, v.reading.metric);
  // Nearly always: nothing is copied.
  if (v.bare_digit == 0 && metric == v.reading.metric) return sink.reading(v.reading, printed.step);
  Reading reading = v.reading;
  reading.metric = metric;
  if (v.bare_digit > 0) {
    const auto unit = find_unit_nearby(m);
    if (!unit) return;
    reading.value *= *unit, reading.quantum = std::max(1.0, v.bare_digit * *unit);
    reading.ambiguous_unit = true;
  }
  sink.reading(reading, printed.step);
}

/// Indexed by character: what is between a name and its list.
constexpr auto joins_name = [] {
  std::array<bool, 256> out{};
  for (std::size_t c = 0; c < out.size(); ++c) out[c] = is_letter(static_cast<char>(c));
  for (const char c : std::string_view(" _.:='\"")) out[static_cast<unsigned char>(c)] = true;
  return out;
}();

}  // namespace

/// may_match: a list of numbers follows the name, as in "input_ids: torch.Size([8, 4096])". Step lines count tokens.
bool names_shape(std::string_view block, std::size_t at) {
  constexpr std::size_t reach = 64;  // bytes: a longer name, quotes, "shape", a separator, "torch.Size" and a number
  const std::string_view text = block.substr(at, reach);
  std::size_t i = 0;
  while (i < text.size() && joins_name[static_cast<unsigned char>(text[i])]) ++i;
  const std::size_t brackets = i;
  while (i < text.size() && (text[i] == '(' || text[i] == '[')) ++i;
  const std::size_t number = i;
  while (i < text.size() && is_digit(text[i])) ++i;
  return number > brackets && i > number && i < text.size() && text[i] == ',';
}

/// may_match: a bracket with a number is on the line, as in "input shape (4, 3, 640, 480)".
bool is_near_list(std::string_view block, std::size_t at) {
  constexpr std::size_t reach = 500;  // bytes: a longer line lists more than a shape
  const std::size_t from = block.substr(0, at).find_last_of("\r\n") + 1;
  std::string_view line = block.substr(std::max(from, at - std::min(at, reach)));
  line = line.substr(0, std::min(find_line_end(line), 2 * reach));
  for (std::size_t i = 0; i + 1 < line.size(); ++i)
    if ((line[i] == '(' || line[i] == '[') && is_digit(line[i + 1])) return true;
  return false;
}

bool holds_memory(const FreeformLine& printed) { return !printed.values.empty(); }

void emit(const Match& m, EventSink& sink) {
  const FreeformLine& printed = *m.printed;
  if (!printed.evaluation) report_step(printed, sink);
  const Origin object = printed.values.empty() ? Origin{} : origin_of_object(m);
  // A device counts until the end of the line, so those without one come first.
  for (const bool of_device : {false, true})
    for (const FreeformValue& v : printed.values)
      if (v.device.has_value() == of_device) emit_value(m, v, object, sink);
}

namespace {

/// What the program printed after PyTorch's message on the same line, as in "… (https://…#environment-variables) |
/// allocated: 3120.5 MB"; nothing if the message does not end before the line does.
FreeformLine read_after_failure(std::string_view line) {
  static constexpr auto ends = std::to_array<std::string_view>(
      {"is free.", "memory in use.", "by PyTorch but unallocated.", "avoid fragmentation.", "environment-variables)",
       "PYTORCH_CUDA_ALLOC_CONF", "by PyTorch)"});
  constexpr std::size_t least = 12;  // bytes: "| mem: 5.1 GB"
  std::size_t end = 0;
  for (const std::string_view last : ends)
    if (const std::size_t at = line.rfind(last); at != line.npos) end = std::max(end, at + last.size());
  if (end == 0 || line.size() < end + least) return {};
  return read_freeform("message: " + std::string(line.substr(end)));  // a label ends at the colon
}

}  // namespace

/// accepts: memory values after PyTorch's message, which other formats read.
bool holds_memory_after_failure(std::string_view line) { return holds_memory(read_after_failure(line)); }

void after_failure(const Match& m, EventSink& sink) {
  for (const FreeformValue& v : read_after_failure(m.text).values) {
    if (v.alone || v.bare_digit > 0) continue;
    Origin where;
    if (v.device) where.device = v.device;
    sink.at(where);
    sink.reading(v.reading, std::nullopt);
  }
}

namespace {

/// The tokens of a batch's longest sequence, in the first group. It appears in many kinds of step lines, also those of
/// known formats.
void emit_length(const Match& m, std::string_view label, EventSink& sink) {
  const FreeformLine printed = read_freeform(m.text);
  if (!printed.evaluation) report_step(printed, sink);
  std::size_t at = 0;
  const auto number = read_number(m[1], at);
  Reading r;
  r.metric = Metric::input_length;
  r.value = number ? number->value : 0;
  r.quantum = 1;
  r.label = label;
  if (printed.evaluation) r.phase = "evaluation";
  sink.reading(r, printed.step);
}

}  // namespace

/// Per cent of the machine's memory, in the words of a monitor.
void memory_percent(const Match& m, EventSink& sink) {
  const std::size_t point = m[1].find('.');
  const double last_digit = std::pow(10, -static_cast<double>(m[1].size() - point - 1));
  sink.reading(sampled_reading(Metric::host_utilization, leading_number(m[1]), last_digit, "%", "memory usage"), {});
}

void longest(const Match& m, EventSink& sink) { emit_length(m, "max seq in batch", sink); }
void token_shape(const Match& m, EventSink& sink) { emit_length(m, "tokens", sink); }

/// "(4, 3, 640, 480)", "[8, 16, 224, 224, 3]": images or videos, with one, three or four channels in front of their
/// sides or at the end. Sides below 16 pixels are those of a feature map.
void image_shape(const Match& m, EventSink& sink) {
  const std::size_t side = m.has(1) ? 1 : 3;
  emit_image(m, sink, std::max(leading_integer(m[side]), leading_integer(m[side + 1])));
}

void image_sides(const Match& m, EventSink& sink) {
  emit_image(m, sink, std::max(leading_integer(m[1]), leading_integer(m[2])));
}

}  // namespace oomdoctor::parsers::prints
