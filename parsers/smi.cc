// nvidia-smi --query-gpu … --format=csv in all its variants, and the same columns under the names that users give them.
//
// All amounts are MiB, however they are spelled; the header keeps " [MiB]" where the cells lose it (nounits). Columns
// are taken by their header's name, never by their place. Without a header they are inferred from the cells, and the
// report says so.
// --query-compute-apps is recognised and yields no series: it lists processes, not the card.
//
// Rows of several cards are told apart by index, else by uuid, else by bus id, else by name, and where only the time is
// there by the order of the rows of one moment.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string>

#include "parse/gauge.h"
#include "parse/parser.h"

namespace oomdoctor::parsers {
namespace {

enum Role : int { other, time_stamp, index, name, uuid, bus, used, total, free_, pid, process_used };

constexpr double mebibyte = static_cast<double>(MiB);
constexpr std::size_t max_columns = 256;
/// Rows of one query follow each other within milliseconds; two queries hardly do.
constexpr double one_moment = 0.05;

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t' || s.front() == '"')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t' || s.back() == '"')) s.remove_suffix(1);
  return s;
}

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> out;
  for (std::size_t at = 0; out.size() < max_columns;) {
    const std::size_t comma = line.find(',', at);
    out.push_back(trimmed(line.substr(at, comma - at)));
    if (comma == line.npos) break;
    at = comma + 1;
  }
  return out;
}

std::string lower(std::string_view text) {
  std::string out;
  for (const char c : text)
    out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c == '.' || c == ' ' ? '_' : c;
  return out;
}

/// The role of a header cell, "memory.used [MiB]", "gpu_memory_used", "memory_used(MB)", and bytes of its unit.
Role role_of(std::string_view cell) {
  std::string n = lower(cell);
  n = n.substr(0, n.find_first_of("[("));
  while (!n.empty() && n.back() == '_') n.pop_back();
  for (const std::string_view unit : {"_mib", "_mb"})
    if (n.ends_with(unit)) n.resize(n.size() - unit.size());
  const auto is = [&](std::initializer_list<std::string_view> any) {
    return std::find(any.begin(), any.end(), n) != any.end();
  };
  if (is({"timestamp", "time", "datetime", "date_time", "date"})) return time_stamp;
  if (is({"index", "gpu_index", "index_gpu", "gpu", "gpu_id"})) return index;
  if (is({"name", "gpu_name", "gpu_type"})) return name;
  if (is({"uuid", "gpu_uuid"})) return uuid;
  if (is({"pci_bus_id", "gpu_bus_id", "bus_id"})) return bus;
  if (is({"memory_used", "gpu_memory_used", "gpu_mem_used", "mem_used", "used_memory"})) return used;
  if (is({"memory_total", "gpu_memory_total", "gpu_mem_total", "mem_total"})) return total;
  if (is({"memory_free", "gpu_memory_free", "gpu_mem_free", "mem_free"})) return free_;
  if (is({"pid"})) return pid;
  if (is({"used_gpu_memory"})) return process_used;
  return other;
}

bool header(std::string_view line, Layout& layout) {
  const auto cells = cells_of(line);
  if (cells.size() < 2) return false;
  layout = {};
  for (const auto cell : cells) {
    if (cell.empty() || cell.size() > 120 || (cell[0] >= '0' && cell[0] <= '9')) return false;
    layout.columns.emplace_back(cell);
    layout.roles.push_back(role_of(cell));
  }
  const auto has = [&](int role) { return std::count(layout.roles.begin(), layout.roles.end(), role) > 0; };
  const bool query = line.find("utilization.gpu") != line.npos || line.find("memory.") != line.npos;
  if (has(pid)) {
    layout.kind = "smi_apps_csv";
    return has(process_used) || has(used);
  }
  layout.kind = "smi_csv";
  return query ? has(time_stamp) || has(index) || has(name) || has(uuid) || has(used) || has(bus)
               : has(used) && (has(time_stamp) || has(index));
}

/// A memory cell in MiB; nullopt for [N/A] and its like.
std::optional<double> amount(std::string_view cell) {
  std::size_t at = 0;
  const auto n = read_number(cell, at);
  if (!n || n->value < 0) return std::nullopt;
  const std::string_view unit = trimmed(cell.substr(at));
  if (!unit.empty() && unit != "MiB" && unit != "MB") return std::nullopt;
  return n->value;
}

bool is_absent(std::string_view cell) { return cell.starts_with('[') || cell == "N/A" || cell.empty() || cell == "-"; }

std::optional<double> time_of(std::string_view cell) {
  if (const auto stamp = read_time(cell); stamp && stamp->length + 4 >= cell.size()) return stamp->seconds;
  std::size_t at = 0;
  const auto n = read_number(cell, at);
  if (n && at == cell.size() && n->value > 1e8 && n->value < 1e11) return n->value;  // seconds since 1970
  return std::nullopt;
}

/// Which card a row is about where nothing but name and time tell: the how-manieth row of this moment.
int place_in_moment(const Layout& layout, std::optional<double> time, std::string_view card) {
  auto& memory = layout.memory;  // time of the row before, then the cards seen in this moment
  if (!time) return 0;
  const bool same = !memory.empty() && std::abs(std::strtod(memory[0].c_str(), nullptr) - *time) < one_moment &&
                    std::fmod(*time, 1.0) != 0.0;
  if (!same) memory.clear();
  if (memory.empty()) memory.emplace_back();
  memory[0] = std::to_string(*time);
  if (memory.size() < 65) memory.emplace_back(card);
  return static_cast<int>(std::count(memory.begin() + 1, memory.end(), card)) - 1;
}

struct Row {
  std::optional<double> time, used, total, free;
  std::optional<int> index;
  std::string_view uuid, bus, name;
};

/// False where a cell does not fit its column: the line is no row.
bool read_row(const std::vector<std::string_view>& cells, const Layout& layout, Row& row) {
  if (cells.size() != layout.roles.size()) return false;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string_view cell = cells[i];
    const int role = layout.roles[i];
    const auto number = role == used || role == total || role == free_ ? amount(cell) : std::nullopt;
    if ((role == used || role == total || role == free_) && !number && !is_absent(cell)) return false;
    if (role == time_stamp) {
      row.time = time_of(cell);
      if (!row.time) return false;
    } else if (role == index && !is_absent(cell)) {
      std::size_t at = 0;
      const auto n = read_number(cell, at);
      if (!n || at != cell.size() || n->decimals != 0 || n->value < 0 || n->value > 1024) return false;
      row.index = static_cast<int>(n->value);
    } else if (role == used) {
      row.used = number;
    } else if (role == total) {
      row.total = number;
    } else if (role == free_) {
      row.free = number;
    } else if (role == uuid) {
      row.uuid = cell;
    } else if (role == bus) {
      row.bus = cell;
    } else if (role == name) {
      row.name = cell;
    }
  }
  return true;
}

bool row(std::string_view line, const Layout& layout, Sink& sink) {
  if (layout.roles.empty()) return false;
  Row r;
  if (!read_row(cells_of(line), layout, r)) return false;
  if (layout.kind == "smi_apps_csv") return true;
  Where where;
  std::string label;
  if (r.index)
    where.device = r.index;
  else if (!r.uuid.empty())
    label = r.uuid;
  else if (!r.bus.empty())
    label = r.bus;
  else {
    label = r.name;
    if (const int place = place_in_moment(layout, r.time, r.name); place > 0)
      label += (label.empty() ? "row " : ", row ") + std::to_string(place + 1);
  }
  sink.at(where);
  if (!r.name.empty()) sink.setting("gpu", r.name);
  if (r.total && *r.total > 0 && layout.note.empty()) {
    const std::string text = std::to_string(whole_number(*r.total)) + " MiB";
    sink.setting("capacity", text);
    if (r.index || !label.empty()) sink.setting("capacity/" + (r.index ? std::to_string(*r.index) : label), text);
  }
  const auto tell = [&](Metric metric, double value) {
    Reading reading;
    reading.metric = metric;
    reading.kind = SeriesKind::sampled_gauge;
    reading.value = value * mebibyte;
    reading.quantum = mebibyte;
    reading.unit = "MiB";
    reading.label = label;
    sink.reading(reading, {}, r.time);
  };
  if (r.used)
    tell(Metric::used, *r.used);
  else if (r.free)
    tell(Metric::free, *r.free);
  return true;
}

/// What a column of rows without a header holds.
struct Column {
  bool times = true, mebibytes = true, whole = true, names = true, constant = true;
  double least = 1e300, greatest = -1;
};

std::vector<Column> columns_of(const std::vector<std::vector<std::string_view>>& rows) {
  std::vector<Column> out(rows[0].size());
  for (std::size_t c = 0; c < out.size(); ++c)
    for (const auto& cells : rows) {
      const std::string_view cell = cells[c];
      std::size_t at = 0;
      const auto number = read_number(cell, at);
      out[c].times &= cell.size() > 10 && read_time(cell) && read_time(cell)->has_date;
      out[c].mebibytes &= number && cell.ends_with(" MiB");
      out[c].whole &= number && at == cell.size() && number->decimals == 0;
      out[c].names &= cell.find("NVIDIA") != cell.npos || cell.starts_with("Tesla ") || cell.starts_with("GeForce") ||
                      cell.starts_with("Quadro");
      out[c].constant &= cell == rows[0][c];
      if (number)
        out[c].least = std::min(out[c].least, number->value),
        out[c].greatest = std::max(out[c].greatest, number->value);
    }
  return out;
}

/// Finds total, free and used among `amounts`: the greatest is the total; of two others that add up to it the one
/// beside it is free (the order of the query in the manual); one other is used, unless it moves the other way.
bool assign(const std::vector<Column>& columns, const std::vector<std::size_t>& amounts, std::vector<int>& roles) {
  if (amounts.empty() || amounts.size() > 3) return false;
  if (amounts.size() == 1) return roles[amounts[0]] = used, true;
  const auto great = *std::max_element(amounts.begin(), amounts.end(),
                                       [&](auto a, auto b) { return columns[a].greatest < columns[b].greatest; });
  std::vector<std::size_t> rest;
  for (const std::size_t a : amounts)
    if (a != great) rest.push_back(a);
  roles[great] = total;
  if (rest.size() == 1) return roles[rest[0]] = used, true;
  const double sum = columns[rest[0]].least + columns[rest[1]].greatest;
  if (sum > columns[great].greatest * 1.02 || sum < columns[great].greatest * 0.9) return false;
  const std::size_t nearer = great < rest[0] ? rest[0] : rest[1];
  roles[nearer] = free_;
  roles[nearer == rest[0] ? rest[1] : rest[0]] = used;
  return true;
}

/// Cells without units: total, free and used show themselves by their sum.
std::vector<std::size_t> best_three(const std::vector<Column>& columns, const std::vector<std::size_t>& plain) {
  std::vector<std::size_t> best;
  double best_share = 0;
  for (std::size_t i = 0; i + 2 < plain.size(); ++i) {
    const std::vector<std::size_t> three{plain[i], plain[i + 1], plain[i + 2]};
    const double a = columns[three[0]].greatest, b = columns[three[1]].greatest, c = columns[three[2]].greatest,
                 most = std::max({a, b, c});
    std::vector<int> roles(columns.size(), other);
    const double share = (a + b + c - most) / most;
    if (most < 1000 || share < best_share || !assign(columns, three, roles)) continue;
    best = three;
    best_share = share;
  }
  return best;
}

bool sniff(std::span<const std::string> first_lines, Layout& layout) {
  std::vector<std::vector<std::string_view>> rows;
  for (const std::string& line : first_lines) {
    auto cells = cells_of(line);
    if (cells.size() < 3 || cells.size() > 40 || (!rows.empty() && cells.size() != rows[0].size())) break;
    rows.push_back(std::move(cells));
  }
  if (rows.empty() || rows.size() < std::min<std::size_t>(first_lines.size(), 3)) return false;
  const auto columns = columns_of(rows);
  std::vector<std::size_t> amounts, plain;
  bool times = false, names = false;
  layout = {};
  layout.roles.assign(columns.size(), other);
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (columns[c].times && !times)
      layout.roles[c] = time_stamp, times = true;
    else if (columns[c].names && !names)
      layout.roles[c] = name, names = true;
    else if (columns[c].mebibytes)
      amounts.push_back(c);
    else if (columns[c].whole)
      plain.push_back(c);
  }
  if (!times) return false;
  if (amounts.empty() && names) amounts = best_three(columns, plain);
  if (!assign(columns, amounts, layout.roles)) return false;
  layout.kind = "smi_csv";
  std::string where;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    layout.columns.push_back(std::to_string(c + 1));
    if (layout.roles[c] == used) where = std::to_string(c + 1);
  }
  layout.note = "rows of nvidia-smi without a header: column " + where +
                " was taken for memory.used in MiB, because of the cells' units and sizes";
  return true;
}

constexpr Table tables[] = {
    {.name = "smi/csv",
     .anchor = "memory.used",
     .example_header = "timestamp, index, name, memory.used [MiB], memory.total [MiB]",
     .example_row = "2025/02/01 12:00:00.104, 0, NVIDIA A40, 1812 MiB, 46068 MiB",
     .header = header,
     .sniff = sniff,
     .row = row},
    {.name = "smi/csv_renamed",
     .anchor = "memory_used",
     .example_header = "timestamp,gpu_utilization,memory_used,memory_total",
     .example_row = "1746550000.25,98, 1812, 46068",
     .header = header,
     .sniff = nullptr,
     .row = row},
    {.name = "smi/csv_free",
     .anchor = "memory.free",
     .example_header = "index, memory.free [MiB]",
     .example_row = "0, 44256 MiB",
     .header = header,
     .sniff = nullptr,
     .row = row},
    {.name = "smi/csv_without_memory",
     .anchor = "utilization.gpu",
     .example_header = "timestamp, name, utilization.gpu [%], temperature.gpu",
     .example_row = "2025/02/01 12:00:00.104, NVIDIA A40, 98 %, 61",
     .header = header,
     .sniff = nullptr,
     .row = row},
    {.name = "smi/apps_csv",
     .anchor = "used_gpu_memory",
     .example_header = "timestamp, gpu_uuid, pid, process_name, used_gpu_memory [MiB]",
     .example_row = "2025/02/01 12:00:00.104, GPU-6e0b3c5a-0000-0000-0000-000000000001, 4711, python, 1812 MiB",
     .header = header,
     .sniff = nullptr,
     .row = row},
};

}  // namespace

extern const Parser smi;
const Parser smi{.name = "smi", .title = "nvidia-smi as CSV", .patterns = {}, .gauges = {}, .tables = tables};

}  // namespace oomdoctor::parsers
