// Dask's nanny restarts a worker that exceeds its memory limit.
//
// Other workers repeat the tasks of the restarted worker. The work is lost only if a task killed too many workers: Dask
// then raises "KilledWorker".
#include <fmt/format.h>

#include "base/ascii.h"
#include "read/context.h"
#include "read/parser.h"

namespace oomdoctor::parsers::dask {
namespace {

/// Dask retries a task on three more workers before it gives up.
constexpr int max_lines_to_killed_worker = 400;

/// Old versions print the process id on the next line: "Worker process 2231 was killed by unknown signal".
std::optional<i64> process_below(const Cursor& cursor) {
  static constexpr std::string_view label = "Worker process ";
  const auto line = find_after(cursor, 2, label);
  if (!line || line->text.find(" was killed") == line->text.npos) return std::nullopt;
  return leading_integer(line->text.substr(line->text.find(label) + label.size()));
}

/// The limit of a worker, "7.45 GiB". The worker prints it when it pauses: "Worker memory limit: 7.45 GiB".
std::string limit_above(const Cursor& cursor) {
  static constexpr std::string_view label = "Worker memory limit: ";
  constexpr int max_lines = 200;
  const auto line = find_before(cursor, max_lines, label);
  return std::string(line ? trimmed(line->text.substr(line->text.find(label) + label.size())) : "");
}

/// The threshold that the program sets after the restarts: "dask.config.set({'distributed.worker.memory.terminate':
/// False})".
void find_threshold(const Cursor& cursor, EventSink& sink) {
  static constexpr std::string_view name = "worker.memory.terminate";
  const auto line = find_after(cursor, max_lines_to_killed_worker, name);
  if (!line) return;
  const std::string_view rest = line->text.substr(line->text.find(name) + name.size());
  const std::size_t begin = rest.find_first_not_of("\"': =,"), end = rest.find_first_of(" ,})", begin);
  if (begin == rest.npos) return;
  sink.cite(*line);
  sink.setting("worker_terminate", rest.substr(begin, end == rest.npos ? end : end - begin));
  sink.cite(cursor.line());
}

}  // namespace

void nanny(const Match& m, EventSink& sink) {
  // A limit of 0% means "no limit". Old versions do not know this meaning and restart the worker anyway: no memory was
  // full.
  if (m.text.find("exceeded 0% memory") != std::string_view::npos) return find_threshold(m.cursor, sink);
  Origin where;
  where.pid = m.has(1) ? std::optional(leading_integer(m[1])) : process_below(m.cursor);
  sink.at(where);
  Oom oom = host_oom(Agent::scheduler, "dask");
  const std::string limit = limit_above(m.cursor);
  sink.setting("nanny_share", fmt::format("{} of its memory limit{}{}", m[2], limit.empty() ? "" : ", ", limit));
  // The nanny restarted the worker, and neither did Dask give up on its tasks nor did the program's wait for them fail:
  // the run continued.
  oom.caught = m.after().find("Restarting") != std::string_view::npos &&
               !find_after(m.cursor, max_lines_to_killed_worker, "KilledWorker: ") &&
               !find_after(m.cursor, max_lines_to_killed_worker, "distributed/client.py\", line");
  sink.oom(std::move(oom));
}

/// A worker died without a message, and its nanny starts another one. At a limit the nanny says so before.
void worker_death(const Match& m, EventSink& sink) {
  constexpr int lines_to_restart = 12, lines_to_reason = 40;
  if (!find_after(m.cursor, lines_to_restart, "Restarting worker") ||
      find_before(m.cursor, lines_to_reason, "memory budget"))
    return;
  Origin where;
  where.pid = leading_integer(m[1]);
  sink.at(where);
  Oom oom = host_oom(Agent::signal, "dask-worker-died");
  oom.framework = "dask";
  oom.traits = {OomTrait::vanished};
  sink.oom(std::move(oom));
}

}  // namespace oomdoctor::parsers::dask
