// Memory of containers as docker and kubectl list it: host memory of a cgroup, not of one process. MiB and Mi are 2^20.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "base/ascii.h"
#include "read/context.h"
#include "read/line_format.h"
#include "read/parser.h"
#include "read/recorded_rows.h"
#include "read/sizes.h"
#include "read/table_cells.h"

namespace oomdoctor::parsers::containers {
namespace {

/// `limit` is "" if the tool prints none. A container that no longer runs has a limit of 0, and no memory.
void emit(std::string_view amount, std::string_view limit, std::string_view name, EventSink& sink,
          std::optional<double> time = {}) {
  const auto size = read_size(amount), whole = read_size(limit);
  if (!size || (whole && whole->count == 0)) return;
  Reading r;
  r.metric = Metric::host_used;
  r.kind = SeriesKind::sampled_gauge;
  r.value = static_cast<double>(size->count);
  r.quantum = static_cast<double>(std::max<i64>(1, 2 * size->slack));
  r.unit = std::string(amount.substr(std::min(amount.find_first_not_of("0123456789."), amount.size())));
  r.label = std::string(name);
  if (whole) r.capacity = static_cast<double>(whole->count);
  sink.reading(r, {}, time);
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

/// The time that a script printed on a line of its own before its list.
std::optional<double> time_above(const Cursor& cursor) {
  constexpr int longest_list = 16;  // lines
  std::optional<double> time;
  cursor.backward(longest_list, [&](const Line& line) {
    time = read_cell_time(trimmed(line.text));
    return !time && line.text.find('%') != std::string_view::npos;
  });
  return time;
}

}  // namespace

bool docker_header(std::string_view line, Layout&) {
  const std::size_t share = line.find(" CPU % ");
  const std::string_view names = trimmed(line);
  return (names.starts_with("CONTAINER") || names.starts_with("NAME ")) && share != line.npos &&
         line.find("MEM USAGE / LIMIT") > share;
}

/// Columns: id, name, CPU share, "2.214GiB / 7.5GiB", … Without the id, as users ask for it.
bool docker_row(std::string_view line, const Layout&, EventSink& sink) {
  const auto cells = split_cells(line);
  const auto share =
      std::find_if(cells.begin(), cells.end(), [](std::string_view cell) { return cell.ends_with('%'); });
  constexpr std::ptrdiff_t behind = 4;  // the share, and the cells of the memory
  if (share == cells.begin() || share - cells.begin() > 2 || cells.end() - share < behind || !share[1].ends_with('B') ||
      share[2] != "/")
    return false;
  emit(share[1], share[3], "container " + std::string(share[-1]), sink);
  return true;
}

/// A name, the load of the CPU, the memory with its limit, and the share of the memory, as users order them.
void docker_fields(const Match& m, EventSink& sink) {
  constexpr double rounding = 0.1;  // per cent, of sizes with three digits or more
  const auto used = read_size(m[2]), limit = read_size(m[3]);
  if (!used || !limit || limit->count <= 0) return;
  const double share = 100 * static_cast<double>(used->count) / static_cast<double>(limit->count);
  if (std::abs(share - leading_number(m[4])) > std::max(rounding, 0.01 * share)) return;
  emit(m[2], m[3], "container " + std::string(m[1]), sink, time_above(m.cursor));
}

/// docker stats --format json, and a list of its objects: "MemUsage": "1.2GiB / 7.6GiB" of each "Name".
void docker_json(const Match& m, EventSink& sink) {
  constexpr std::size_t reach = 1000;  // bytes of an object before and after the key
  static constexpr std::string_view key = "\"MemUsage\":";
  const auto name_in = [](std::string_view text) {
    static constexpr std::string_view name = "\"Name\":";
    const std::size_t at = text.find(name);
    return at == text.npos ? std::string_view{} : between(text.substr(at + name.size()), "\"", "\"");
  };
  for (std::size_t at = m.text.find(key); at != m.text.npos; at = m.text.find(key, at + key.size())) {
    const std::size_t from = at - std::min(at, reach);
    const std::string_view before = m.text.substr(from, at - from), after = m.text.substr(at + key.size(), reach);
    const std::string_view usage = between(after, "\"", "\"");
    const std::size_t slash = usage.find(" / "), open = before.rfind('{');
    if (slash == usage.npos || usage.starts_with("0B") || open == before.npos) continue;  // "0B": it has stopped
    std::string_view name = name_in(after.substr(0, after.find('}')));
    if (name.empty()) name = name_in(before.substr(open));
    emit(usage.substr(0, slash), usage.substr(slash + 3), "container " + std::string(name), sink);
  }
}

bool kubectl_header(std::string_view line, Layout& layout) {
  const auto heads = split_cells(line);
  const auto is_word = [](std::string_view head) {
    return head.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") == head.npos;
  };
  const auto processor = std::find_if_not(heads.begin(), heads.end(), is_word);
  const bool known = processor != heads.begin() && processor != heads.end() && *processor == "CPU(cores)" &&
                     std::find(processor, heads.end(), "MEMORY(bytes)") != heads.end();
  if (known) layout.columns.assign(heads.begin(), heads.end());
  return known;
}

/// The columns before CPU are names, joined with '/' as the label.
bool kubectl_row(std::string_view line, const Layout& layout, EventSink& sink) {
  const auto cells = split_cells(line);
  if (cells.size() != layout.columns.size()) return false;
  std::string name;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (layout.columns[i] == "MEMORY(bytes)") {
      if (!is_digit(cells[i][0]) || !cells[i].ends_with('i')) return false;
      emit(cells[i], {}, name, sink);
      return true;
    }
    const bool of_processor = layout.columns[i].starts_with("CPU");
    if (of_processor && !is_digit(cells[i][0])) return false;
    if (!of_processor) name += (i > 0 ? "/" : "") + std::string(cells[i]);
  }
  return false;
}

}  // namespace oomdoctor::parsers::containers
