// Files of the Linux kernel that scripts print: the machine's memory from /proc/meminfo and a process's memory from
// /proc/PID/status, whose kB is 1024 bytes, and the bytes of a control group.
//
// MemAvailable is the memory that programs can still get. MemFree and Cached do not measure that, so they are not read.
// If a script prints the whole status file, "Pid:" is 16 lines above VmRSS.
#include "base/ascii.h"
#include "read/context.h"
#include "read/device_export.h"
#include "read/freeform.h"
#include "read/line_format.h"
#include "read/parser.h"

namespace oomdoctor::parsers::procfs {
namespace {

void emit(const Match& m, Metric metric, SeriesKind kind, std::string_view label, EventSink& sink,
          std::optional<double> time = {}) {
  std::size_t at = 0;
  const auto number = read_number(m[1], at);
  if (!number) return;
  const bool mebibytes = m.has(2) && m[2].starts_with('M');
  const auto unit = static_cast<double>(mebibytes ? MiB : KiB);
  Reading r;
  r.metric = metric;
  r.kind = kind;
  r.value = number->value * unit;
  r.quantum = unit;
  r.unit = mebibytes ? "MiB" : "kB";
  r.label = std::string(label);
  sink.reading(r, read_freeform(m.text).step, time);
}

/// Takes the process id from the "Pid:" line of the same status file.
void emit_process(const Match& m, EventSink& sink) {
  constexpr int max_rows = 17;
  Origin where;
  m.cursor.backward(max_rows, [&](const Line& line) {
    if (!line.text.starts_with("Pid:")) return true;
    where.pid = leading_integer(trimmed(line.text.substr(4)));
    return false;
  });
  if (where.pid && *where.pid > 0) sink.at(where);
}

/// The date that a loop prints above the file: MemTotal and MemFree are between.
std::optional<double> find_date(const Cursor& cursor) {
  constexpr int most_lines = 4;
  std::optional<double> time;
  cursor.backward_texts(most_lines, [&](std::string_view text) {
    time = parse_date_line(trimmed(text));
    if (!time) time = read_cell_time(trimmed(text));
    return !time && text.starts_with("Mem");
  });
  return time;
}

}  // namespace

void available(const Match& m, EventSink& sink) {
  constexpr int most_lines = 60;  // of the file
  i64 last = m.cursor.line().number;
  m.cursor.forward(most_lines, [&](const Line& line) {
    const bool row = line.text.find(": ") != line.text.npos && line.text.ends_with(" kB");
    return row ? (last = line.number, true) : false;
  });
  sink.claim_through(last);
  emit(m, Metric::host_available, SeriesKind::sampled_gauge, "MemAvailable", sink, find_date(m.cursor));
}

void group(const Match& m, EventSink& sink) {
  const auto bytes = [&](std::string_view digits) { return static_cast<double>(leading_integer(digits)); };
  Reading r = sampled_reading(Metric::host_used, bytes(m[1]), 1, "B", "control group");
  if (m.has(2)) r.capacity = bytes(m[2]);
  const std::string_view line = trimmed(m.text);  // the clock of date +%s
  sink.reading(r, read_freeform(m.text).step, read_cell_time(line.substr(0, line.find(' '))));
}

void resident(const Match& m, EventSink& sink) {
  emit_process(m, sink);
  emit(m, Metric::host_rss, SeriesKind::sampled_gauge, "VmRSS", sink);
}

}  // namespace oomdoctor::parsers::procfs
