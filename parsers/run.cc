// What oomdoctor run writes about a command: a sample of host memory each second, and how the command ended.
//
// The cgroup counts the processes that the kernel killed for memory, so such a death is certain. Without a limit it was
// the memory of the machine. A bare SIGKILL is as uncertain as everywhere else.
#include <array>
#include <charconv>
#include <string>

#include "base/ascii.h"
#include "parse/context.h"
#include "parse/line_format.h"
#include "parse/parser.h"
#include "parse/recorded_rows.h"

namespace oomdoctor::parsers::run {
namespace {

constexpr std::string_view columns = "time,process_tree_rss,cgroup_used,cgroup_limit,shm_used,shm_size";
constexpr std::size_t column_count = 6;
enum Column : std::size_t { time_column, rss, group_used, group_limit, shared_used, shared_size };

/// A whole number of bytes; nullopt for an empty cell.
std::optional<double> bytes_in(std::string_view cell) {
  i64 value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc{} || end != cell.data() + cell.size() || value < 0) return std::nullopt;
  return static_cast<double>(value);
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

/// The command's death by SIGKILL. The sender is unknown.
void emit_kill(EventSink& sink) { sink.oom(host_oom(Agent::signal, "sigkill")); }

}  // namespace

void kills(const Match& m, EventSink& sink) {
  Oom oom = host_oom(m.has(1) ? Agent::cgroup : Agent::kernel, "memory.events");
  if (m.has(1)) oom.limit = Bytes{leading_integer(m[1]), 0};
  sink.oom(std::move(oom));
}

void signal(const Match& m, EventSink& sink) {
  constexpr int sigkill = 9;
  const int number = static_cast<int>(leading_integer(m[1]));
  sink.exit({std::nullopt, number});
  if (number == sigkill) emit_kill(sink);
}

/// A shell script as the command reports the death of its own child by its exit status.
void status(const Match& m, EventSink& sink) {
  constexpr int of_killed_child = 137;
  const int code = static_cast<int>(leading_integer(m[1]));
  if (code == 0) return sink.remark("run/completed");
  sink.exit({code, std::nullopt});
  if (code == of_killed_child) emit_kill(sink);
}

/// "samples of GPU memory were lost: …" loses values of memory only.
void lost(const Match& m, EventSink& sink) {
  sink.lost({.what = std::string(m[1]), .why = std::string(m[2]), .only_samples = m[1].starts_with("samples ")});
}

bool header(std::string_view line, Layout& layout) {
  if (trimmed(line) != columns) return false;
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
  if (count != column_count || !stamp || !stamp->has_date || stamp->length != cells[time_column].size()) return false;
  for (std::size_t i = rss; i < column_count; ++i)
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
