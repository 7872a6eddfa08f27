// PowerShell's processes: the table of Get-Process, a table or a list of selected properties, and the lines of loops.
// The working set is what Linux calls the resident set. "WS(K)" is in KiB and "WS(M)" in MiB, WorkingSet64 in bytes.
#include <algorithm>
#include <string>

#include "base/ascii.h"
#include "read/context.h"
#include "read/device_export.h"
#include "read/line_format.h"
#include "read/parser.h"
#include "read/table_rows.h"

namespace oomdoctor::parsers::powershell {
namespace {

/// The number of "pid=7016" or "pid: 7016" in the line itself; 0 if there is none.
i64 read_own_id(std::string_view text) {
  for (const std::string_view label : {"pid=", "PID=", "Pid=", "Id=", "pid: ", "PID: "})
    if (const std::size_t at = text.find(label); at != text.npos && (at == 0 || !is_letter(text[at - 1])))
      return leading_integer(text.substr(at + label.size()));
  return 0;
}

/// The number of "Id   : 7016", a line of a list; 0 for another line.
i64 read_listed_id(std::string_view text) {
  const std::string_view line = trimmed(text);
  const std::size_t colon = line.find(':');
  if (colon == line.npos || trimmed(line.substr(0, colon)) != "Id") return 0;
  return leading_integer(trimmed(line.substr(colon + 1)));
}

}  // namespace

bool header(std::string_view line, Layout& layout) {
  struct PropertyColumn {
    std::string_view printed;
    const char* name;
  };
  static constexpr PropertyColumn names[] = {
      {"WS(K)", "rss (KiB)"}, {"WS(M)", "rss (MiB)"},     {"WorkingSet64", "rss (B)"}, {"WorkingSet", "rss (B)"},
      {"Id", "pid"},          {"ProcessName", "command"}, {"Name", "command"}};
  layout = {};
  layout.separator = ' ';
  layout.kind = "log";
  bool memory = false, process = false;
  for (const auto cell : split_at_blanks(line)) {
    const auto* const known =
        std::find_if(std::begin(names), std::end(names), [&](const PropertyColumn& n) { return n.printed == cell; });
    layout.columns.emplace_back(known != std::end(names) ? known->name : "other");
    memory |= layout.columns.back().starts_with("rss");
    process |= layout.columns.back() == "pid" || layout.columns.back() == "command";
  }
  return memory && process;
}

std::unique_ptr<Rows> rows(const Layout& layout) { return table_rows(layout); }

void working_set(const Match& m, EventSink& sink) {
  constexpr int list_lines = 12;  // more properties than anybody selects
  const double unit = m.has(2) ? static_cast<double>(unit_bytes(m[2]).value_or(1)) : 1;
  const double value = leading_number(m[1]) * unit;
  constexpr double least = static_cast<double>(MiB);  // no process that matters has less
  if (value < least) return;
  i64 pid = read_own_id(m.text);
  const auto look = [&](const Line& line) {
    if (trimmed(line.text).empty() || pid > 0) return false;
    pid = read_listed_id(line.text);
    return true;
  };
  m.cursor.backward(list_lines, look);
  m.cursor.forward(list_lines, look);
  Reading r = sampled_reading(Metric::host_rss, value, m.has(2) ? unit / 10 : 1, m.has(2) ? m[2] : "bytes", "");
  if (pid > 0) {
    Origin where;
    where.pid = pid;
    sink.at(where);
    r.label = "process " + std::to_string(pid);
  }
  sink.reading(r);
}

}  // namespace oomdoctor::parsers::powershell
