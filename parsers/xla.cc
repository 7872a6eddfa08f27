// XLA below JAX and PyTorch/XLA: RESOURCE_EXHAUSTED on a GPU or a TPU.
//
// XLA plans a whole program, so a request is all temporary memory of that program in one piece. Only the pool's warning
// some lines above names the device. On a TPU the compiler itself refuses and prints the used memory, the capacity and
// the difference. There "G" is 2^30 bytes.
#include <array>
#include <string>
#include <utility>

#include "base/ascii.h"
#include "read/context.h"
#include "read/freeform.h"
#include "read/line_format.h"
#include "read/parser.h"
#include "read/sizes.h"

namespace oomdoctor::parsers::xla {
namespace {

/// Lines from the message up to the pool's warning.
constexpr int max_lines_above = 300;
/// The parts of a program's plan, and the settings that keep them.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> plan_parts{
    {{"total allocation:", "plan_total"},
     {"maybe_live_out allocation:", "plan_outputs"},
     {"preallocated temp allocation:", "plan_temporary"},
     {"parameter allocation:", "plan_arguments"}}};
constexpr int plan_lines = 200;  ///< the statistics and about twenty of the largest buffers, six lines each

Oom xla_failure(std::string_view format) {
  Oom oom;
  oom.agent = Agent::xla;
  oom.framework = "jax";
  oom.message_format = std::string(format);
  return oom;
}

/// The device in the pool's warning above, "Allocator (GPU_0_bfc) ran out of memory …". A warning with freed_by_count
/// is not a failure, so it is ignored.
std::optional<int> find_device(const Cursor& cursor) {
  static constexpr std::string_view label = "Allocator (GPU_";
  const auto line = find_before(cursor, max_lines_above, label);
  if (!line || line->text.find("freed_by_count") != line->text.npos) return std::nullopt;
  const std::size_t at = line->text.find(label) + label.size();
  return static_cast<int>(leading_integer(std::string_view(line->text).substr(at)));
}

/// Julia's Reactant and the workers of TensorFlow's TPU server print the same messages. JAX's lines are not for them.
void note_caller(const Cursor& cursor, EventSink& sink) {
  constexpr int stack = 40;  // lines of a stack trace below the message
  if (is_near(cursor, 0, 0, {"LoadError: "}) || is_near(cursor, 0, stack, {".jl:"}))
    sink.setting("runtime", "julia");
  else if (is_near(cursor, 1, 0, {"/job:tpu_worker/"}))
    sink.setting("runtime", "tpu_server");
}

/// Claims the plan of the failed program below the message, with its buffers, so that all of it is one report.
void claim_plan(const Cursor& cursor, EventSink& sink) {
  const auto head = find_after(cursor, 6, "BufferAssignment");
  if (!head) return;
  i64 last = head->number;
  cursor.forward(plan_lines, [&](const Line& line) {
    if (line.number <= head->number) return true;
    const std::string_view text = trimmed(line.text);
    const bool part = text.find(" allocation: ") != text.npos || text.starts_with("total fragmentation:") ||
                      text.starts_with("BufferAssignment") || text.starts_with("Peak buffers:") ||
                      text.starts_with("Buffer ") || text.starts_with("Size: ") || text.starts_with("Operator: ") ||
                      text.starts_with("XLA Label: ") || text.starts_with("Shape: ") ||
                      text.starts_with("Entry Parameter") || text.starts_with("=====");
    if (part) last = line.number;
    for (const auto& [label, name] : plan_parts)
      if (const std::size_t at = text.find(label); at != text.npos)
        sink.cite(line), sink.setting(name, trimmed(text.substr(at + label.size())));
    return part || text.empty();
  });
  sink.cite(cursor.line());
  sink.claim_through(last);
}

/// "model.py:71" of an operation's source_file="/home/user/project/model.py" source_line=71; "" without it.
std::string find_source(std::string_view operation) {
  static constexpr std::string_view file = "source_file=\"", line = "source_line=";
  const std::size_t at = operation.find(file), number = operation.find(line);
  if (at == operation.npos || number == operation.npos) return "";
  std::string_view path = operation.substr(at + file.size());
  path = path.substr(0, path.find('"'));
  path.remove_prefix(path.rfind('/') + 1);
  if (path.empty()) return "";
  return std::string(path) + ':' + std::to_string(leading_integer(operation.substr(number + line.size())));
}

/// A size of a plan with the unit that settings have: a TPU prints "4.00G".
std::string read_plan_size(std::string_view text) {
  std::string size(trimmed(text.substr(0, text.find('('))));
  if (!size.empty() && size.back() != 'B') size += "iB";
  return size;
}

/// A TPU stores a buffer in tiles and fills them up: "Unpadded size: 1.00G", "Extra memory due to padding: 31.00G
/// (32.0x expansion)".
void read_padding(std::string_view text, const Line& line, EventSink& sink) {
  static constexpr std::string_view values = "Unpadded size: ", padding = "Extra memory due to padding: ";
  if (text.starts_with(values))
    sink.cite(line), sink.setting("plan_unpadded", read_plan_size(text.substr(values.size())));
  if (text.starts_with(padding))
    sink.cite(line), sink.setting("plan_padding", read_plan_size(text.substr(padding.size())));
}

/// A row of a TPU's account, "arguments 30.10G": what the program takes as its input, weights and states included.
void read_account(const Cursor& cursor, EventSink& sink) {
  static constexpr std::string_view arguments = "arguments ";
  const auto head = find_after(cursor, plan_lines, "Total hbm usage");
  if (!head) return;
  const auto row = find_after(cursor, static_cast<int>(head->number - cursor.line().number) + 6, arguments);
  if (!row || !trimmed(row->text).starts_with(arguments)) return;
  const std::string_view size = trimmed(trimmed(row->text).substr(arguments.size()));
  sink.cite(*row);
  if (size == "0B")
    sink.setting("plan_without_arguments", "true");
  else
    sink.setting("plan_arguments", read_plan_size(size));
  sink.cite(cursor.line());
}

/// Reads the largest buffer of the plan: its size, the operation that makes it, its shape and its padding. A GPU's plan
/// lists "Buffer 1:", a TPU's "1. Size: 4.00G".
void read_largest_buffer(const Cursor& cursor, EventSink& sink) {
  constexpr std::size_t longest = 80;  // bytes of an operation's name; the end of its path is the operation
  static constexpr std::string_view operation = "op_name=\"";
  bool listed = false, sized = false, shaped = false;
  cursor.forward(plan_lines, [&](const Line& line) {
    const std::string_view text = trimmed(line.text);
    listed |= text.starts_with("Largest program allocations") || text.starts_with("Peak buffers:");
    if (!listed) return true;
    const std::size_t size = text.find("Size: ");
    if (size != text.npos && text.find("Unpadded") == text.npos) {
      if (sized) return false;
      sized = true;
      sink.cite(line),
          sink.setting("plan_largest", read_plan_size(text.substr(size + std::string_view("Size: ").size())));
    }
    read_padding(text, line, sink);
    if (shaped) return !text.starts_with("=====");
    if (const std::size_t at = text.find(operation); at != text.npos) {
      std::string_view name = text.substr(at + operation.size());
      name = name.substr(0, name.find_first_of("\"["));
      if (name.size() > longest) name.remove_prefix(name.find('/', name.size() - longest) + 1);
      sink.cite(line), sink.setting("plan_operation", name);
      if (const std::string source = find_source(text); !source.empty()) sink.setting("plan_source", source);
    }
    if (text.starts_with("Shape: ")) {
      const std::string_view shape = text.substr(std::string_view("Shape: ").size());
      sink.cite(line), sink.setting("plan_shape", shape.substr(0, shape.find_first_of("{ ")));
      shaped = true;
    }
    return true;
  });
  sink.cite(cursor.line());
}

/// "Output size 8.73G; shares 8.73G with arguments.": what the program returns in the memory of donated arguments.
void read_donation(const Cursor& cursor, EventSink& sink) {
  static constexpr std::string_view size = "Output size ", shares = "; shares ";
  const auto line = find_after(cursor, plan_lines, size);
  if (!line) return;
  const std::string_view text = line->text;
  const std::size_t at = text.find(shares);
  if (at == text.npos || text.find(" with arguments", at) == text.npos) return;
  const auto returned = read_size(text.substr(text.find(size) + size.size())),
             shared = read_size(text.substr(at + shares.size()));
  if (!returned || !shared) return;
  sink.cite(*line);
  sink.setting("plan_outputs", std::to_string(returned->count));
  sink.setting("plan_shared", std::to_string(shared->count));
  sink.cite(cursor.line());
}

}  // namespace

void gpu(const Match& m, EventSink& sink) {
  Oom oom = xla_failure("xla-gpu");
  read_request(m[1], oom);
  Origin where;
  where.device = find_device(m.cursor);
  if (m.has(2)) {
    // Runtimes of GPUs and of the first TPUs print the number alone.
    if (!where.device) oom.traits.push_back(OomTrait::unnamed_device);
    where.device = static_cast<int>(leading_integer(m[2]));
  }
  claim_plan(m.cursor, sink);
  read_largest_buffer(m.cursor, sink);
  note_caller(m.cursor, sink);
  sink.at(where);
  sink.oom(std::move(oom));
}

/// A failure of a TPU, whose message begins with the request.
Oom tpu_failure(const Match& m) {
  Oom oom = xla_failure("xla-tpu");
  oom.traits = {OomTrait::tpu};
  read_request(m[1], oom);
  return oom;
}

void hbm(const Match& m, EventSink& sink) {
  Oom oom = tpu_failure(m);
  oom.traits.push_back(OomTrait::planned);
  oom.limit = read_size(m[2]);
  read_donation(m.cursor, sink);
  read_account(m.cursor, sink);
  static constexpr std::string_view excess = "Exceededhbmcapacityby";
  if (const std::size_t at = m.after().find(excess); at != std::string_view::npos)
    if (const auto size = read_size(m.after().substr(at + excess.size())))
      sink.setting("plan_excess", std::to_string(size->count));
  read_largest_buffer(m.cursor, sink);
  note_caller(m.cursor, sink);
  sink.oom(std::move(oom));
}

/// The memory was taken while the program ran. The server of older TPUs prints its account below the message.
void tpu_runtime(const Match& m, EventSink& sink) {
  Oom oom = tpu_failure(m);
  oom.free = read_size(m[2]);
  // What can be reserved is one piece at the end of the memory.
  const auto piece = m.has(3) ? read_size(m[3]) : std::nullopt;
  if (piece && oom.free && piece->count < oom.free->count) sink.setting("largest_free", std::to_string(piece->count));
  if (m.has(4)) oom.capacity = read_size(m[4]);
  if (m.has(5)) oom.allocated = read_size(m[5]);
  note_caller(m.cursor, sink);
  sink.oom(std::move(oom));
}

/// device.memory_stats(): a dict in bytes. The peak counts from the start of the process.
void memory_stats(const Match& m, EventSink& sink) {
  const std::optional<double> step = read_freeform(m.text).step;
  const auto emit = [&](std::string_view key, Metric metric, SeriesKind kind) {
    std::size_t at = m.text.find(key);
    if (at == m.text.npos) return;
    at += key.size();
    const auto number = read_number(m.text, at);
    if (!number) return;
    Reading r;
    r.metric = metric;
    r.kind = kind;
    r.value = number->value;
    r.quantum = 1;
    r.unit = "bytes";
    r.label = "memory_stats";
    sink.reading(r, step);
  };
  emit("'bytes_in_use': ", Metric::allocated, SeriesKind::gauge);
  emit("'peak_bytes_in_use': ", Metric::max_allocated, SeriesKind::running_maximum);
}

}  // namespace oomdoctor::parsers::xla
