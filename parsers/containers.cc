// Memory of containers as docker and kubectl list it: host memory of a cgroup, not of one process. MiB and Mi are 2^20.
#include <algorithm>
#include <string>
#include <vector>

#include "parse/context.h"
#include "parse/parser.h"
#include "parse/sizes.h"

namespace oomdoctor::parsers::containers {
namespace {

/// `limit` is "" if the tool prints none.
void emit(std::string_view amount, std::string_view limit, std::string_view name, EventSink& sink) {
  const auto size = read_size(amount), whole = read_size(limit);
  if (!size) return;
  Reading r;
  r.metric = Metric::host_used;
  r.kind = SeriesKind::sampled_gauge;
  r.value = static_cast<double>(size->count);
  r.quantum = static_cast<double>(std::max<i64>(1, 2 * size->slack));
  r.unit = std::string(amount.substr(std::min(amount.find_first_not_of("0123456789."), amount.size())));
  r.label = std::string(name);
  if (whole) r.capacity = static_cast<double>(whole->count);
  sink.reading(r);
}

std::vector<std::string_view> split_cells(std::string_view line) {
  constexpr std::size_t max_cells = 16;
  std::vector<std::string_view> cells;
  for (std::size_t at = line.find_first_not_of(" \t"); at != line.npos && cells.size() < max_cells;) {
    const std::size_t end = std::min(line.find_first_of(" \t", at), line.size());
    cells.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(" \t", end);
  }
  return cells;
}

/// Reads the rows under a heading until `read` rejects the cells of one. Claims the rows for this match.
template <typename Read>
void read_rows(const Match& m, EventSink& sink, const Read& read) {
  constexpr int max_rows = 200;
  i64 last = m.cursor.line().number;
  m.cursor.forward(max_rows, [&](const Line& line) {
    if (!read(split_cells(line.text))) return false;
    return last = line.number, true;
  });
  sink.claim_through(last);
}

}  // namespace

/// Columns: id, name, CPU share, "2.214GiB / 7.5GiB", …
void docker(const Match& m, EventSink& sink) {
  read_rows(m, sink, [&](const std::vector<std::string_view>& cells) {
    if (cells.size() < 7 || !cells[2].ends_with('%') || !cells[3].ends_with('B') || cells[4] != "/") return false;
    emit(cells[3], cells[5], "container " + std::string(cells[1]), sink);
    return true;
  });
}

/// The rows have the columns of the heading. The columns before CPU are names, joined with '/' as the label.
void kubernetes(const Match& m, EventSink& sink) {
  const std::vector<std::string_view> heads = split_cells(m.text);
  const auto column = [&](std::string_view head) {
    const auto found =
        std::find_if(heads.begin(), heads.end(), [&](std::string_view h) { return h.starts_with(head); });
    return static_cast<std::size_t>(found - heads.begin());
  };
  const std::size_t names = column("CPU("), memory = column("MEMORY(");
  read_rows(m, sink, [&](const std::vector<std::string_view>& cells) {
    if (cells.size() != heads.size() || memory >= cells.size() || !cells[memory].ends_with('i')) return false;
    std::string name;
    for (std::size_t i = 0; i < names; ++i) name += (i > 0 ? "/" : "") + std::string(cells[i]);
    emit(cells[memory], {}, name, sink);
    return true;
  });
}

}  // namespace oomdoctor::parsers::containers
