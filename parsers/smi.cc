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
#include <any>
#include <array>
#include <cmath>
#include <map>
#include <string>

#include "parse/device_export.h"
#include "parse/gauge.h"

namespace oomdoctor::parsers {
namespace {

enum Role : int { other, time_stamp, index, name, uuid, bus, tile, used, total, free_, pid, process_used };
/// Beside the role of an amount: the unit that its header names, where that is not MiB.
enum Unit : int { mebibytes_unit = 0, bytes_unit = 64, gigabytes_unit = 128, unit_bits = 192 };

constexpr double mebibyte = static_cast<double>(MiB);
/// No card has that many MiB: the amounts are bytes.
constexpr double most_mebibytes = 1e7;
constexpr std::size_t most_remembered = 64;
/// Rows of one query follow each other within milliseconds; two queries hardly do.
constexpr double one_moment = 0.05;

std::string lower(std::string_view text) {
  std::string out;
  for (const char c : text)
    out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c == '.' || c == ' ' ? '_' : c;
  return out;
}

/// The unit that a header's cell names: "memory.used [MiB]", "mem_used_gb", "memory_used(B)"; nullopt: no amount.
std::optional<int> unit_of(std::string_view n) {
  const std::size_t open = n.find_first_of("[(");
  std::string_view unit = open == n.npos ? n.substr(n.find_last_of('_') + 1) : n.substr(open + 1);
  const std::size_t close = unit.find_first_of("])");
  if (open != n.npos && close == unit.npos) return mebibytes_unit;  // a console broke the line here
  unit = unit.substr(0, close);
  if (unit == "gib" || unit == "gb" || unit == "g") return gigabytes_unit;
  if (unit == "bytes" || unit == "b") return bytes_unit;
  if (open != n.npos && unit != "mib" && unit != "mb" && unit != "m" && !unit.empty()) return std::nullopt;  // [%]
  return mebibytes_unit;
}

/// The role of a header cell, "memory.used [MiB]", "gpu_memory_used", "memory_used(MB)", "GPU Memory Used (MiB)".
int role_of(std::string_view cell) {
  const std::string whole = lower(cell);
  const auto unit = unit_of(whole);
  std::string n = whole.substr(0, whole.find_first_of("[("));
  while (!n.empty() && n.back() == '_') n.pop_back();
  for (const std::string_view letters : {"_mib", "_mb", "_gib", "_gb", "_bytes"})
    if (n.ends_with(letters)) n.resize(n.size() - letters.size());
  const auto is = [&](std::initializer_list<std::string_view> any) {
    return std::find(any.begin(), any.end(), n) != any.end();
  };
  if (is({"timestamp", "time", "datetime", "date_time", "date"})) return time_stamp;
  if (is({"index", "gpu_index", "index_gpu", "gpu", "gpu_id", "deviceid", "device_id"})) return index;
  if (is({"name", "gpu_name", "gpu_type"})) return name;
  if (is({"uuid", "gpu_uuid"})) return uuid;
  if (is({"pci_bus_id", "gpu_bus_id", "bus_id"})) return bus;
  if (is({"tileid", "tile_id"})) return tile;
  if (is({"pid"})) return pid;
  if (is({"used_gpu_memory"})) return process_used;
  if (!unit) return other;
  if (is({"memory_used", "gpu_memory_used", "gpu_mem_used", "mem_used", "used_memory"})) return used | *unit;
  if (is({"memory_total", "gpu_memory_total", "gpu_mem_total", "mem_total"})) return total | *unit;
  if (is({"memory_free", "gpu_memory_free", "gpu_mem_free", "mem_free"})) return free_ | *unit;
  return other;
}

bool header(std::string_view line, Layout& layout) {
  const auto cells = comma_cells(line);
  if (cells.size() < 2) return false;
  layout = {};
  for (const auto cell : cells) {
    if (cell.empty() || cell.size() > 120 || (cell[0] >= '0' && cell[0] <= '9')) return false;
    layout.columns.emplace_back(cell);
    layout.roles.push_back(role_of(cell));
  }
  const auto has = [&](int role) {
    return std::any_of(layout.roles.begin(), layout.roles.end(), [&](int r) { return (r & ~unit_bits) == role; });
  };
  const bool query = line.find("utilization.gpu") != line.npos || line.find("memory.") != line.npos;
  if (has(pid)) {
    layout.kind = "smi_apps_csv";
    return has(process_used) || has(used);
  }
  layout.kind = "smi_csv";
  if (query && !has(used) && !has(free_))
    layout.note =
        "nvidia-smi was not asked for memory.used; utilization.memory is the time in which the memory was busy, not "
        "what "
        "is in use";
  return query ? has(time_stamp) || has(index) || has(name) || has(uuid) || has(used) || has(bus)
               : has(used) && (has(time_stamp) || has(index));
}

/// A memory cell and its unit in bytes: the cell's own, else the header's. nullopt for [N/A] and its like.
struct Amount {
  double number = 0, unit = mebibyte;
  int decimals = 0;
  bool bare = true;  ///< neither cell nor header name a unit
};
std::optional<Amount> amount(std::string_view cell, std::string_view column, int role) {
  std::size_t at = 0;
  const auto n = read_number(cell, at);
  if (!n || n->value < 0) return std::nullopt;
  while (at < cell.size() && cell[at] == ' ') ++at;
  const std::string_view unit = cell.substr(at);
  if (!unit.empty() && unit != "MiB" && unit != "MB") return std::nullopt;
  Amount out{n->value, mebibyte, n->decimals, unit.empty() && column.find_first_of("[(") == column.npos};
  const int named = role & unit_bits;
  if (unit.empty() && named == gigabytes_unit) out.unit = static_cast<double>(GiB);
  if (unit.empty() && named == bytes_unit) out.unit = 1;
  return out;
}

/// A time stamp, "2025/02/01 12:00:00.104", with a zone or without, a calendar date, or seconds since 1970.
std::optional<double> time_of(std::string_view cell) {
  constexpr std::size_t longest_zone = 6;  // "+01:00"
  if (const auto stamp = read_time(cell); stamp && stamp->length + longest_zone >= cell.size()) return stamp->seconds;
  std::size_t at = 0;
  const auto n = read_number(cell, at);
  if (!n || at != cell.size()) return read_calendar_time(cell);
  if (n->value > 1e8 && n->value < 1e11) return n->value;
  if (n->value > 1e11 && n->value < 1e14) return n->value / 1000;
  return std::nullopt;
}

/// "2025-02-01" in a column of its own, with the clock in the next: seconds since 1970 of its midnight.
std::optional<double> day_of(std::string_view cell) {
  if (cell.size() != 10) return std::nullopt;
  const auto stamp = read_time(std::string(cell) + " 00:00:00");
  return stamp && stamp->has_date ? std::optional(stamp->seconds) : std::nullopt;
}

/// What rows remember of the rows before them.
struct Seen {
  /// A row of a numbered card that told all that there is to tell of the card.
  struct Told {
    std::string uuid, bus, name, label;
    std::optional<double> total;
    Where where;
  };
  std::optional<double> date;          ///< of the date line above the rows
  std::optional<double> moment;        ///< of the last row, where cards are told apart by their order
  std::vector<std::string> cards;      ///< of this moment
  std::map<int, std::string> numbers;  ///< the card that had a number first
  std::optional<i64> total;            ///< MiB, of the first card
  std::map<int, Told> told;            ///< by number
  std::string name;                    ///< told last
};

Seen& seen(const Layout& layout) {
  if (!layout.memory.has_value()) layout.memory.emplace<Seen>();
  return *std::any_cast<Seen>(&layout.memory);
}

void begin_moment(Seen& seen, std::optional<double> date, std::optional<double> moment) {
  seen.date = date;
  seen.moment = moment;
  seen.cards.clear();
}

/// Which card a row is about where nothing but name and time tell: the how-manieth row of this moment. A date line
/// above the rows makes one moment of them.
int place_in_moment(Seen& seen, std::optional<double> time, std::string_view card) {
  if (!seen.date) {
    if (!time) return 0;
    const bool same = seen.moment && std::abs(*seen.moment - *time) < one_moment && std::fmod(*time, 1.0) != 0.0;
    if (!same) begin_moment(seen, {}, time);
  }
  if (seen.cards.size() < most_remembered) seen.cards.emplace_back(card);
  return static_cast<int>(std::count(seen.cards.begin(), seen.cards.end(), card)) - 1;
}

struct Row {
  std::optional<double> time, day;
  std::optional<Amount> used, total, free;
  std::optional<int> index;
  std::string_view uuid, bus, name, tile;
  bool strange_time = false;
};

/// One cell of a row; false where it does not fit its column: the line is no row.
bool read_cell(std::string_view cell, std::string_view column, int role, Row& row) {
  const int plain = role & ~unit_bits;
  if (plain == used || plain == total || plain == free_) {
    const auto number = amount(cell, column, role);
    if (!number && !is_absent(cell)) return false;
    (plain == used ? row.used : plain == total ? row.total : row.free) = number;
  } else if (plain == time_stamp) {
    if (const auto day = day_of(cell))
      row.day = day;
    else if (const auto time = time_of(cell))
      row.time = time;
    else
      row.strange_time = true;
  } else if (plain == index && !is_absent(cell)) {
    std::size_t at = 0;
    const auto n = read_number(cell, at);
    if (!n) return row.name = cell, true;  // some call the card's name "gpu"
    if (at != cell.size() || n->decimals != 0 || n->value < 0 || n->value > 1024) return false;
    row.index = static_cast<int>(n->value);
  } else if (plain == uuid) {
    row.uuid = cell;
  } else if (plain == bus) {
    row.bus = cell;
  } else if (plain == tile) {
    row.tile = cell;
  } else if (plain == name) {
    row.name = cell;
  }
  return true;
}

/// The cells whose columns matter; false where there are more or fewer than columns, or one does not fit.
bool read_cells(std::string_view line, const Layout& layout, Row& row) {
  const auto commas = std::count(line.begin(), line.end(), ',');  // a log may go on behind a table
  if (static_cast<std::size_t>(commas) + 1 != layout.roles.size()) return false;
  for (std::size_t i = 0; i < layout.roles.size(); ++i) {
    const std::size_t comma = line.find(',');
    if (layout.roles[i] != other &&
        !read_cell(trimmed_cell(line.substr(0, comma)), layout.columns[i], layout.roles[i], row))
      return false;
    line.remove_prefix(comma == line.npos ? line.size() : comma + 1);
  }
  return true;
}

bool read_row(std::string_view line, const Layout& layout, Row& row) {
  if (!read_cells(line, layout, row)) return false;
  if (row.strange_time && !row.used && !row.free) return false;
  if (row.day && row.time && *row.time < 86400) *row.time += *row.day;
  if ((row.used && row.used->bare && row.used->number > most_mebibytes) ||
      (row.total && row.total->bare && row.total->number > most_mebibytes))
    for (auto* a : {&row.used, &row.total, &row.free})
      if (*a && (*a)->bare) (*a)->unit = 1;
  return true;
}

/// True where this number was another card's before: two machines write into one file, and both have a card 0.
bool is_second_of_its_number(Seen& seen, const Row& row) {
  const std::string_view card = !row.uuid.empty() ? row.uuid : !row.bus.empty() ? row.bus : row.name;
  if (card.empty()) return false;
  const auto known = seen.numbers.find(*row.index);
  if (known != seen.numbers.end()) return known->second != card;
  if (seen.numbers.size() < most_remembered) seen.numbers.emplace(*row.index, card);
  return false;
}

/// Names the card of a row: its number, else what else tells it from others.
std::string identify(Seen& seen, const Row& r, Where& where) {
  if (!r.tile.empty())
    return "GPU " + (r.index ? std::to_string(*r.index) : std::string()) + " tile " + std::string(r.tile);
  if (r.index) {
    const bool second = is_second_of_its_number(seen, r);
    if (!second) where.device = r.index;
    return !second ? "" : std::string(!r.uuid.empty() ? r.uuid : !r.bus.empty() ? r.bus : r.name);
  }
  if (!r.uuid.empty()) return std::string(r.uuid);
  if (!r.bus.empty()) return std::string(r.bus);
  std::string label(r.name);
  if (const int place = place_in_moment(seen, r.time, r.name); place > 0)
    label += (label.empty() ? "row " : ", row ") + std::to_string(place + 1);
  return label;
}

/// The total of the row's card, and of all cards as long as they are alike.
void tell_total(Seen& seen, const Row& r, const std::string& card, Sink& sink) {
  if (!r.total || r.total->number <= 0) return;
  const i64 total = whole_number(r.total->number * r.total->unit / mebibyte);
  if (!seen.total) seen.total = total;
  const std::string text = std::to_string(total) + " MiB";
  sink.setting("capacity", *seen.total == total ? text : "not the same for all cards");
  if (!card.empty()) sink.setting("capacity/" + card, text);
}

std::optional<double> total_of(const Row& r) {
  return r.total ? std::optional(r.total->number * r.total->unit) : std::nullopt;
}

/// What the row says of its card, told again only where it says something else than the card's last row.
std::string tell_card(const Layout& layout, const Row& r, Sink& sink) {
  Seen& memory = seen(layout);
  const bool named = r.index && r.tile.empty();
  const auto last = named ? memory.told.find(*r.index) : memory.told.end();
  if (last != memory.told.end() && memory.name == r.name) {
    const Seen::Told& told = last->second;
    if (told.uuid == r.uuid && told.bus == r.bus && told.name == r.name && told.total == total_of(r)) {
      sink.at(told.where);
      return told.label;
    }
  }
  Where where;
  std::string label = identify(memory, r, where);
  sink.at(where);
  memory.name = r.name;
  if (!r.name.empty()) sink.setting("gpu", r.name);
  if (layout.note.empty()) tell_total(memory, r, where.device ? std::to_string(*where.device) : label, sink);
  if (named && (last != memory.told.end() || memory.told.size() < most_remembered))
    memory.told[*r.index] = {std::string(r.uuid), std::string(r.bus), std::string(r.name), label, total_of(r), where};
  return label;
}

bool row(std::string_view line, const Layout& layout, Sink& sink) {
  if (layout.roles.empty()) return false;
  if (layout.kind == "smi_apps_csv")
    return comma_cells(line).size() >= layout.roles.size();  // names of programs hold commas
  if (const auto date = date_line(line)) return begin_moment(seen(layout), date, {}), true;
  Row r;
  if (!read_row(line, layout, r)) return false;
  if (!r.time) r.time = seen(layout).date;
  const std::string label = tell_card(layout, r, sink);
  const auto tell = [&](Metric metric, const Amount& amount) {
    Reading reading;
    reading.metric = metric;
    reading.kind = SeriesKind::sampled_gauge;
    reading.value = amount.number * amount.unit;
    reading.quantum = amount.decimals == 0 ? amount.unit : amount.unit / std::pow(10.0, amount.decimals);
    reading.quantum = std::max(1.0, reading.quantum);
    reading.unit = amount.unit == mebibyte ? "MiB" : amount.unit == 1 ? "B" : "GB";
    reading.ambiguous_unit = reading.unit == "GB";
    reading.label = label;
    sink.reading(reading, {}, r.time);
  };
  if (r.used)
    tell(Metric::used, *r.used);
  else if (r.free)
    tell(Metric::free, *r.free);
  return true;
}

bool sniff(std::span<const std::string> first_lines, Layout& layout) {
  const auto found = infer_columns(first_lines);
  if (!found) return false;
  layout = {};
  layout.roles.assign(found->count, other);
  const auto put = [&](std::optional<std::size_t> column, Role role) {
    if (column) layout.roles[*column] = role;
  };
  put(found->time, time_stamp);
  put(found->index, index);
  put(found->name, name);
  put(found->uuid, uuid);
  put(found->bus, bus);
  put(found->total, total);
  put(found->free, free_);
  put(found->used, used);
  for (std::size_t i = 0; i < found->count; ++i) layout.columns.push_back(std::to_string(i + 1));
  layout.kind = "smi_csv";
  layout.note = "rows of nvidia-smi without a header: column " + std::to_string(*found->used + 1) +
                " was taken for memory.used in MiB, because of the cells' units and sizes";
  return true;
}

/// The whole output where nvidia-smi does not know a field.
bool refusal(std::string_view line, Layout& layout) {
  const std::size_t end = line.find("\" is not a valid field to query");
  if (!line.starts_with("Field \"") || end == line.npos || end > 80) return false;
  layout = {};
  layout.kind = "smi_csv";
  layout.note = "nvidia-smi printed no row: it does not know the field " + std::string(line.substr(7, end - 7));
  return true;
}

bool no_row(std::string_view, const Layout&, Sink&) { return false; }

constexpr Table tables[] = {
    {.name = "smi/unknown_field",
     .anchor = "is not a valid field to query",
     .example_header = "Field \"memory.usage\" is not a valid field to query.",
     .example_row = "",
     .header = refusal,
     .sniff = nullptr,
     .row = no_row},
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
    {.name = "smi/csv_spelled_out",
     .anchor = "Memory Used (MiB)",
     .example_header = "Timestamp, DeviceId, GPU Utilization (%), GPU Memory Used (MiB)",
     .example_row = "12:00:00.104,    0, 98.00, 1812.25",
     .header = header,
     .sniff = nullptr,
     .row = row,
     .source = "xpumanager: xpu-smi dump; scripts around nvidia-smi"},
    {.name = "smi/csv_free_renamed",
     .anchor = "memory_free",
     .example_header = "timestamp,index,memory_free_mb",
     .example_row = "2025-02-01 12:00:00,0,44256",
     .header = header,
     .sniff = nullptr,
     .row = row},
    {.name = "smi/csv_memory_short",
     .anchor = "mem_used",
     .example_header = "timestamp,gpu,gpu_mem_used",
     .example_row = "2025-02-01 12:00:00,0,1812",
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
const Parser smi{.name = "smi",
                 .title = "nvidia-smi as CSV",
                 .source = "nvidia-smi --query-gpu, --query-compute-apps; real logs",
                 .patterns = {},
                 .gauges = {},
                 .tables = tables};

}  // namespace oomdoctor::parsers
