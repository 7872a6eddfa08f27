// gpustat: one line per GPU, "used / total MB". MB is 2^20 bytes, as NVML counts it.
//
// The heading above the first GPU contains the host and the date. The memory of processes follows the bar and is part
// of the GPU's amount. With --json the same numbers follow keys, one key per line. The key of a process is
// "gpu_memory_usage".
#include <string>

#include "base/ascii.h"
#include "read/context.h"
#include "read/device_export.h"
#include "text/lines.h"

namespace oomdoctor::parsers::gpustat {
namespace {

constexpr int max_cards = 64;

bool is_card(const Line& line) {
  const std::string_view body = trimmed(line.body());
  return body.starts_with('[') && body.find(" MB") != body.npos && body.find('|') != body.npos;
}

constexpr int max_keys = 24;     ///< lines of one GPU's object after "memory.used", without its processes
constexpr int max_lines = 2000;  ///< lines of the GPUs above or below, with their processes

/// The number after `key` in a line of JSON; nullopt if the value is not a number.
std::optional<i64> number_after(std::string_view line, std::string_view key) {
  const std::size_t at = line.find(key);
  if (at == line.npos || at + key.size() >= line.size()) return std::nullopt;
  const std::string_view rest = trimmed(line.substr(at + key.size()));
  if (rest.empty() || !is_digit(rest.front())) return std::nullopt;
  return leading_integer(rest);
}

/// The processes after the bar of a GPU, with -c, -u and -p: "ana:python/4711(6390M) bob:python/4712(4210M)".
/// Entries without a pid are not read: two processes of one user have the same.
void emit_processes(std::string_view text, int device, EventSink& sink) {
  for (text = trimmed(text); !text.empty(); text = trimmed(text)) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view entry = text.substr(0, end);
    text.remove_prefix(end);
    const std::size_t open = entry.rfind('('), slash = entry.rfind('/', open);
    if (open == entry.npos || slash == entry.npos || !entry.ends_with("M)")) continue;
    const i64 pid = leading_integer(entry.substr(slash + 1)), size = leading_integer(entry.substr(open + 1));
    if (pid > 0)
      emit_process_memory(sink, {.pid = pid, .name = entry.substr(0, slash), .device = device},
                          static_cast<double>(size), static_cast<double>(MiB));
  }
}

}  // namespace

void card(const Match& m, EventSink& sink) {
  // Other GPUs' lines may precede this one, up to the heading with the date.
  bool others = false;
  std::optional<double> time;
  m.cursor.backward(max_cards, [&](const Line& line) {
    const bool card = is_card(line);
    others = others || card;
    if (!card) time = read_calendar_time(line.text);
    return card;
  });
  m.cursor.forward(1, [&](const Line& line) {
    others = others || is_card(line);
    return false;
  });
  const Card own{.device = static_cast<int>(leading_integer(m[1])), .alone = !others};
  emit_gpu_reading(sink, own, {.number = static_cast<double>(leading_integer(m[3])), .unit = "MB"}, time);
  emit_capacity(sink, own, leading_integer(m[4]), "MiB");
  sink.setting("gpu", trimmed(m[2]));
  const std::string_view after = m.after();
  if (const std::size_t bar = after.find('|'); bar != after.npos)
    emit_processes(after.substr(bar + 1, after.find_first_of("\r\n", bar) - bar - 1), *own.device, sink);
}

void json(const Match& m, EventSink& sink) {
  std::optional<i64> index, total;
  std::optional<double> time;
  std::string name;
  // The scan upwards first crosses the keys of this GPU's object (`own`), then other GPUs, then the query time.
  bool own = true, others = false;
  m.cursor.backward(max_lines, [&](const Line& line) {
    const std::string_view text = line.body();
    if (own && !index) index = number_after(text, "\"index\":");
    if (own && text.find("\"name\": \"") != text.npos) {
      const std::size_t open = text.find("\"name\": \"") + 9;
      name = std::string(text.substr(open, text.find('"', open) - open));
    }
    others = others || (!own && text.find("\"memory.used\":") != text.npos);
    own = own && trimmed(text) != "{";
    const std::size_t at = text.find("\"query_time\": \"");
    if (at == text.npos) return true;
    if (const auto stamp = read_time(text.substr(at + 15))) time = stamp->seconds;
    return false;
  });
  m.cursor.forward(max_keys, [&](const Line& line) {
    if (!total) total = number_after(line.body(), "\"memory.total\":");
    return !total;
  });
  m.cursor.forward(others ? 0 : max_lines, [&](const Line& line) {
    others = line.body().find("\"memory.used\":") != std::string_view::npos;
    return !others && trimmed(line.body()) != "]";
  });
  if (!index || *index > 1024) return;
  const Card own_card{.device = static_cast<int>(*index), .alone = !others};
  emit_gpu_reading(sink, own_card, {.number = static_cast<double>(leading_integer(m[1])), .unit = "MB"}, time);
  if (total) emit_capacity(sink, own_card, *total, "MiB");
  if (!name.empty()) sink.setting("gpu", name);
}

}  // namespace oomdoctor::parsers::gpustat
