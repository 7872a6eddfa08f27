// Lines of /proc that scripts print: the machine's memory from /proc/meminfo and a process's memory from
// /proc/PID/status. Their kB is 1024 bytes.
//
// MemAvailable is the memory that programs can still get. MemFree and Cached do not measure that, so they are not read.
// If a script prints the whole status file, "Pid:" is 16 lines above VmRSS.
#include "base/ascii.h"
#include "parse/context.h"
#include "parse/freeform.h"
#include "parse/line_format.h"
#include "parse/parser.h"

namespace oomdoctor::parsers::procfs {
namespace {

void emit(const Match& m, Metric metric, SeriesKind kind, std::string_view label, EventSink& sink) {
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
  sink.reading(r, read_freeform(m.text).step);
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

}  // namespace

void available(const Match& m, EventSink& sink) {
  emit(m, Metric::host_available, SeriesKind::sampled_gauge, "MemAvailable", sink);
}

void resident(const Match& m, EventSink& sink) {
  emit_process(m, sink);
  emit(m, Metric::host_rss, SeriesKind::sampled_gauge, "VmRSS", sink);
}

}  // namespace oomdoctor::parsers::procfs
