// Dask's nanny, which restarts a worker that goes over its memory limit. The tasks of the worker are done again by
// others: only where they died too often ("KilledWorker") is the work lost.
#include "parse/context.h"
#include "parse/parser.h"

namespace oomdoctor::parsers {
namespace {

constexpr int until_given_up = 400;  ///< lines; a task is tried on three workers more

/// Old versions name the process on the next line: "Worker process 2231 was killed by unknown signal".
std::optional<i64> process_below(const Cursor& cursor) {
  static constexpr std::string_view label = "Worker process ";
  const auto line = find_ahead(cursor, 2, label);
  if (!line || line->text.find(" was killed") == line->text.npos) return std::nullopt;
  return leading_integer(line->text.substr(line->text.find(label) + label.size()));
}

void nanny(const Match& m, EventSink& sink) {
  // A share of 0 switches the limit off, as old versions do not know: nothing was full.
  if (m.text.find("exceeded 0% memory") != std::string_view::npos) return;
  Origin where;
  where.pid = m.has(1) ? std::optional(leading_integer(m[1])) : process_below(m.cursor);
  sink.at(where);
  Oom oom = host_failure(Agent::scheduler, "dask");
  oom.caught =
      m.after().find("Restarting") != std::string_view::npos && !find_ahead(m.cursor, until_given_up, "KilledWorker: ");
  sink.oom(std::move(oom));
}

constexpr Pattern patterns[] = {
    checked({.name = "dask/nanny",
             .anchor = "memory budget",
             .regex = R"(Worker [^\r\n(]{0,80}(?:\(pid=(\d{1,10})\) )?exceeded \d{1,3}% memory budget)",
             .captures = 1,
             .example = "distributed.nanny.memory - WARNING - Worker tcp://127.0.0.1:41157 (pid=2231) exceeded 95% "
                        "memory budget. Restarting...",
             .emit = nanny,
             .source = "distributed: distributed/worker_memory.py"}),
};

}  // namespace

extern const Parser dask;
const Parser dask{.name = "dask",
                  .title = "Dask's nanny",
                  .source = "distributed: distributed/worker_memory.py",
                  .patterns = patterns};

}  // namespace oomdoctor::parsers
