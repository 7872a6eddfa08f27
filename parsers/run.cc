// What oomdoctor run writes about a command: samples of host memory each second, and the memory and the end of the
// command.
//
// The command's output is in the same file. So each line has a mark that only the first line of the file announces, and
// the command cannot know: what it prints is never taken for a line of ours. The kernel counts the processes that it
// kills for memory, so such a death is certain, and so is that there was none. A bare SIGKILL is as uncertain as
// everywhere else.
#include <array>
#include <string>

#include "base/ascii.h"
#include "base/parse_whole.h"
#include "read/context.h"
#include "read/line_format.h"
#include "read/parser.h"
#include "read/recorded_rows.h"

namespace oomdoctor::parsers::run {
namespace {

constexpr std::string_view columns =
    "time,process_tree_rss,cgroup_used,cgroup_limit,shm_used,shm_size,available,total,swap_free";
constexpr std::size_t column_count = 9, first_columns = 6;  ///< the machine's columns may be missing
enum RunColumn : std::size_t { time_column, rss, group_used, group_limit, shared_used, shared_size };

/// Whether the line has the mark of the first line of its file.
bool is_ours(const Match& m) {
  constexpr std::string_view front = "oomdoctor run ";
  std::string_view first = m.cursor.first_line();
  if (first.starts_with('[')) first.remove_prefix(1);  // an excerpt that begins with a line about dropped output
  return first.starts_with(front) && first.substr(front.size()).starts_with(m[1]);
}

void set_bytes(EventSink& sink, std::string_view name, std::string_view count) {
  sink.setting(name, std::string(count) + " B");
}

/// A whole number of bytes; nullopt for an empty cell.
std::optional<double> bytes_in(std::string_view cell) {
  const auto value = parse_whole<i64>(cell);
  return value && *value >= 0 ? std::optional(static_cast<double>(*value)) : std::nullopt;
}

void emit_reading(EventSink& sink, Metric metric, std::string_view label, std::optional<double> value,
                  std::optional<double> capacity, double time) {
  if (!value) return;
  Reading r;
  r.metric = metric;
  r.kind = SeriesKind::sampled_gauge;
  r.value = *value;
  r.quantum = 1;
  r.capacity = capacity.value_or(0);
  r.unit = "B";
  r.label = std::string(label);
  sink.reading(r, {}, time);
}

/// A death by SIGKILL. The sender is unknown, but if memory was not short, memory was not the reason.
void emit_kill(const Match& m, EventSink& sink) {
  constexpr int most_lines = 12;  // of ours, before the last one
  const std::string words = std::string(m[1]) + ": memory was not short";
  if (is_near(m.cursor, most_lines, 0, {words})) return;
  Oom oom = host_oom(Agent::signal, "sigkill");
  oom.traits = {OomTrait::sigkill};
  sink.oom(std::move(oom));
}

}  // namespace

void begin(const Match& m, EventSink& sink) {
  if (is_ours(m)) sink.remark("run/recorded");
}

void kills(const Match& m, EventSink& sink) {
  if (!is_ours(m)) return;
  Oom oom = host_oom(m.has(2) ? Agent::cgroup : Agent::kernel, "memory.events");
  if (m.has(2)) oom.limit = Bytes{leading_integer(m[2]), 0};
  sink.oom(std::move(oom));
}

void machine_kills(const Match& m, EventSink& sink) {
  if (is_ours(m)) sink.setting("kernel_kills", m[2]);
}

void not_short(const Match& m, EventSink& sink) {
  if (is_ours(m)) sink.remark("run/not_short");
}

void largest_process(const Match& m, EventSink& sink) {
  if (!is_ours(m)) return;
  set_bytes(sink, "largest_process", m[2]);
  set_bytes(sink, "all_processes", m[3]);
}

void available(const Match& m, EventSink& sink) {
  if (!is_ours(m)) return;
  set_bytes(sink, "least_available", m[2]);
  set_bytes(sink, "machine_memory", m[3]);
}

void cgroup(const Match& m, EventSink& sink) {
  if (!is_ours(m)) return;
  set_bytes(sink, "cgroup_used", m[2]);
  set_bytes(sink, "cgroup_limit", m[3]);
}

void address_space(const Match& m, EventSink& sink) {
  if (!is_ours(m)) return;
  set_bytes(sink, "address_space", m[2]);
  set_bytes(sink, "address_space_limit", m[3]);
}

void data_limit(const Match& m, EventSink& sink) {
  if (is_ours(m)) set_bytes(sink, "data_limit", m[3]);
}

void signal(const Match& m, EventSink& sink) {
  if (!is_ours(m)) return;
  constexpr int sigkill = 9;
  sink.remark("run/record_ends");
  const int number = static_cast<int>(leading_integer(m[2]));
  sink.remark("run/ended_by_signal", number);
  sink.exit({std::nullopt, number});
  if (number == sigkill) emit_kill(m, sink);
}

/// A shell script as the command reports the death of its own child by its exit status.
void status(const Match& m, EventSink& sink) {
  if (!is_ours(m)) return;
  constexpr int of_killed_child = 137;
  sink.remark("run/record_ends");
  const int code = static_cast<int>(leading_integer(m[2]));
  if (code == 0) return sink.remark("run/completed");
  sink.remark("run/ended_with_status", code);
  sink.exit({code, std::nullopt});
  if (code == of_killed_child) emit_kill(m, sink);
}

/// "samples of GPU memory were lost: …" loses values of memory only.
void lost(const Match& m, EventSink& sink) {
  if (is_ours(m))
    sink.lost({.what = std::string(m[2]), .why = std::string(m[3]), .only_samples = m[2].starts_with("samples ")});
}

/// A very long output is kept in bounded space: its beginning and its end.
void dropped(const Match& m, EventSink& sink) {
  if (!is_ours(m)) return;
  const bool fast = m.has(3);
  sink.lost({.what = std::string(m[2]),
             .why = fast ? "they came faster than they could be kept" : "only the beginning and the end were kept"});
}

bool header(std::string_view line, Layout& layout) {
  const std::string_view names = trimmed(line);
  if (names != columns && names != columns.substr(0, columns.find(",available"))) return false;
  layout = {};
  layout.kind = "run_samples";
  return true;
}

bool row(std::string_view line, const Layout&, EventSink& sink) {
  std::array<std::string_view, column_count> cells;
  std::size_t count = 0;
  for (std::string_view rest = trimmed(line);; rest.remove_prefix(1)) {
    if (count == column_count) return false;
    cells[count] = rest.substr(0, rest.find(','));
    rest.remove_prefix(cells[count++].size());
    if (rest.empty()) break;
  }
  const auto stamp = read_time(cells[time_column]);
  if (count < first_columns || !stamp || !stamp->has_date || stamp->length != cells[time_column].size()) return false;
  for (std::size_t i = rss; i < count; ++i)
    if (!cells[i].empty() && !bytes_in(cells[i])) return false;
  emit_reading(sink, Metric::host_rss, "process tree", bytes_in(cells[rss]), {}, stamp->seconds);
  // Without a limit, the group is usually that of the whole machine.
  if (const auto limit = bytes_in(cells[group_limit]))
    emit_reading(sink, Metric::host_used, "cgroup", bytes_in(cells[group_used]), limit, stamp->seconds);
  emit_reading(sink, Metric::host_used, "/dev/shm", bytes_in(cells[shared_used]), bytes_in(cells[shared_size]),
               stamp->seconds);
  return true;
}

}  // namespace oomdoctor::parsers::run
