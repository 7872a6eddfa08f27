// nvidia-smi --query-gpu … --format=csv in all its variants, and the same columns under names that users chose.
//
// All amounts are MiB in every spelling. With nounits only the header keeps " [MiB]". Columns are identified by the
// name in the header, never by their position. Without a header they are inferred from the cells, and the report
// mentions it. --query-compute-apps lists processes, each as a separate series.
//
// The index distinguishes the rows of several GPUs, else the uuid, else the bus id, else the name. If a row contains
// only a time, the order of the rows within one query distinguishes them.
#include <algorithm>
#include <any>
#include <array>
#include <cmath>
#include <deque>
#include <map>
#include <memory>
#include <string>

#include "base/ascii.h"
#include "parse/context.h"
#include "parse/device_export.h"
#include "parse/line_format.h"

namespace oomdoctor::parsers::smi {
namespace {

enum SmiRole : int { other, time_stamp, index, name, uuid, bus, tile, used, total, free_, pid, process_used };
/// Flags next to the role of an amount: the unit in the column's header, if it is not MiB.
enum HeaderUnit : int { mebibytes_unit = 0, bytes_unit = 64, gigabytes_unit = 128, unit_bits = 192 };

constexpr double mebibyte = static_cast<double>(MiB);
/// No GPU has this many MiB, so larger amounts are bytes.
constexpr double max_mebibytes = 1e7;
/// Bounds the memory per input: GPUs remembered, also per query.
constexpr std::size_t max_remembered_cards = 64;
/// Seconds. Rows of one query follow each other within milliseconds; rows of two queries almost never do.
constexpr double max_query_seconds = 0.05;

/// In lower case, with "_" for points and blanks.
std::string plain_name(std::string_view text) {
  std::string out = lower(text);
  for (char& c : out)
    if (c == '.' || c == ' ') c = '_';
  return out;
}

/// The unit in a header cell: "memory.used [MiB]", "mem_used_gb", "memory_used(B)". nullopt if the column is not an
/// amount.
std::optional<int> parse_unit(std::string_view n) {
  const std::size_t open = n.find_first_of("[(");
  std::string_view unit = open == n.npos ? n.substr(n.find_last_of('_') + 1) : n.substr(open + 1);
  const std::size_t close = unit.find_first_of("])");
  if (open != n.npos && close == unit.npos) return mebibytes_unit;  // a console broke the line here
  unit = unit.substr(0, close);
  if (unit == "gib" || unit == "gb" || unit == "g") return gigabytes_unit;
  if (unit == "bytes" || unit == "b") return bytes_unit;
  // for example [%]
  if (open != n.npos && unit != "mib" && unit != "mb" && unit != "m" && !unit.empty()) return std::nullopt;
  return mebibytes_unit;
}

/// The role of a header cell: "memory.used [MiB]", "gpu_memory_used", "memory_used(MB)", "GPU Memory Used (MiB)".
int find_role(std::string_view cell) {
  const std::string whole = plain_name(cell);
  const auto unit = parse_unit(whole);
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

struct CellNumber {
  double value = 0;
  int decimals = 0;
};

/// Reads the number at the front of a cell and moves `at` after it. Nearly all cells contain only digits, so that case
/// has a fast path.
std::optional<CellNumber> front_number(std::string_view cell, std::size_t& at) {
  constexpr std::size_t max_digits = 15;  // a double represents all integers of this length
  i64 whole = 0;
  std::size_t i = 0;
  const char* const bytes = cell.data();  // the bound is checked once: this is the hot path of exports
  for (const std::size_t end = std::min(cell.size(), max_digits); i < end && is_digit(bytes[i]); ++i)
    whole = whole * 10 + (bytes[i] - '0');
  if (i > 0 && (i == cell.size() || cell[i] == ' ')) return at = i, CellNumber{static_cast<double>(whole), 0};
  const auto any = read_number(cell, at);
  return any ? std::optional(CellNumber{any->value, any->decimals}) : std::nullopt;
}

/// A column, and its cell in the current row.
struct SmiColumn {
  int role = other;  ///< including the unit flags
  bool bare = true;  ///< the header contains no unit
  std::string_view cell;
};

/// The content of a memory cell.
struct CellAmount {
  double number = 0, unit = mebibyte;
  int decimals = 0;
  bool bare = true;  ///< neither the cell nor the header contains a unit
};

/// Reads an amount. The cell's own unit has precedence over the header's. `out` is empty for [N/A] and similar cells.
void read_amount(std::string_view cell, const SmiColumn& column, std::optional<CellAmount>& out) {
  out.reset();
  std::size_t at = 0;
  const auto n = front_number(cell, at);
  if (!n || n->value < 0) return;
  while (at < cell.size() && cell[at] == ' ') ++at;
  const std::string_view unit = cell.substr(at);
  if (!unit.empty() && unit != "MiB" && unit != "MB") return;
  CellAmount& amount = out.emplace();
  amount.number = n->value;
  amount.decimals = n->decimals;
  amount.bare = unit.empty() && column.bare;
  const int named = column.role & unit_bits;
  if (unit.empty() && named == gigabytes_unit) amount.unit = static_cast<double>(GiB);
  if (unit.empty() && named == bytes_unit) amount.unit = 1;
}

/// Parses a time: "2025/02/01 12:00:00.104" with or without a zone, a calendar date, or seconds or milliseconds since
/// 1970.
std::optional<double> parse_time(std::string_view cell) {
  constexpr std::size_t max_zone_length = 6;  // such as "+01:00"
  if (const auto stamp = read_time(cell); stamp && stamp->length + max_zone_length >= cell.size())
    return stamp->seconds;
  std::size_t at = 0;
  const auto n = read_number(cell, at);
  if (!n || at != cell.size()) return read_calendar_time(cell);
  if (n->value > 1e8 && n->value < 1e11) return n->value;
  if (n->value > 1e11 && n->value < 1e14) return n->value / 1000;
  return std::nullopt;
}

/// Parses "2025-02-01" in a separate column, with the clock in the next column. Seconds from 1970 to midnight of that
/// day.
std::optional<double> parse_day(std::string_view cell) {
  if (cell.size() != 10) return std::nullopt;
  const auto stamp = read_time(std::string(cell) + " 00:00:00");
  return stamp && stamp->has_date ? std::optional(stamp->seconds) : std::nullopt;
}

/// The identity and the total of the row's GPU, as views into the line.
struct CardNames {
  std::optional<int> index;
  std::string_view uuid, bus, name, tile;
  std::optional<double> total;  ///< bytes
  bool operator==(const CardNames&) const = default;
  /// The text that distinguishes it from other GPUs with the same index.
  std::string_view other() const { return !uuid.empty() ? uuid : !bus.empty() ? bus : name; }
};

/// A GPU whose name and total a row has already emitted.
struct KnownCard {
  std::string uuid, bus, name, label;
  std::optional<double> total;
  Origin origin;
  /// the last emitted GPU with the same index; null if the GPU cannot be distinguished from others
  const KnownCard** last_emitted = nullptr;
  /// prepared readings by metric and unit: all but value and quantum
  std::map<std::pair<Metric, double>, Reading> readings;
};

/// The state that earlier rows leave for later rows of the same table.
struct RowMemory {
  std::optional<double> date;          ///< of the date line above the rows
  std::optional<double> moment;        ///< time of the last row, if only the order distinguishes the GPUs
  std::vector<std::string> cards;      ///< names of the GPUs in this query
  std::map<int, std::string> numbers;  ///< the first GPU with each index
  std::map<std::pair<std::optional<int>, std::string>, double> first_used;  ///< bytes, in rows without a header
  std::optional<i64> total;                                                 ///< MiB, of the first GPU
  std::deque<KnownCard> known;                   ///< GPUs with an index; a deque keeps their addresses stable
  std::map<int, const KnownCard*> last_emitted;  ///< last emitted GPU of each index
  std::string name;                              ///< last emitted name
  std::optional<KnownCard> other;                ///< last emitted GPU that is not in `known`
};

void begin_query(RowMemory& row_memory, std::optional<double> date, std::optional<double> moment) {
  row_memory.date = date;
  row_memory.moment = moment;
  row_memory.cards.clear();
}

/// The position of the row within its query, among rows of the same name. It identifies the GPU if the row contains
/// only name and time. A date line above the rows starts a query for all of them.
int position_in_query(RowMemory& row_memory, std::optional<double> time, std::string_view card) {
  if (!row_memory.date) {
    if (!time) return 0;
    const bool same =
        row_memory.moment && std::abs(*row_memory.moment - *time) < max_query_seconds && std::fmod(*time, 1.0) != 0.0;
    if (!same) begin_query(row_memory, {}, time);
  }
  if (row_memory.cards.size() < max_remembered_cards) row_memory.cards.emplace_back(card);
  return static_cast<int>(std::count(row_memory.cards.begin(), row_memory.cards.end(), card)) - 1;
}

/// The parsed cells of a row of --query-gpu.
struct SmiRow {
  CardNames card;
  std::optional<double> time, day;
  std::optional<CellAmount> used, total, free;
  bool malformed_time = false;
};

/// Reads one cell of a row; false if it does not fit its column, so the line is not a row.
bool read_cell(std::string_view cell, const SmiColumn& column, SmiRow& row) {
  const int plain = column.role & ~unit_bits;
  if (plain == used || plain == total || plain == free_) {
    std::optional<CellAmount>& amount = plain == used ? row.used : plain == total ? row.total : row.free;
    read_amount(cell, column, amount);
    if (!amount && !is_absent(cell)) return false;
  } else if (plain == time_stamp) {
    if (const auto day = parse_day(cell))
      row.day = day;
    else if (const auto time = parse_time(cell))
      row.time = time;
    else
      row.malformed_time = true;
  } else if (plain == index && !is_absent(cell)) {
    std::size_t at = 0;
    const auto n = front_number(cell, at);
    if (!n) return row.card.name = cell, true;  // some users call the GPU's name "gpu"
    if (at != cell.size() || n->decimals != 0 || n->value < 0 || n->value > 1024) return false;
    // If a user added a "gpu" column before "index", that column is the user's own numbering and has precedence.
    if (!row.card.index) row.card.index = static_cast<int>(n->value);
  } else if (plain == uuid) {
    row.card.uuid = cell;
  } else if (plain == bus) {
    row.card.bus = cell;
  } else if (plain == tile) {
    row.card.tile = cell;
  } else if (plain == name) {
    row.card.name = cell;
  }
  return true;
}

/// Splits the line into one cell per column; false if there are more or fewer cells, because other log lines may follow
/// a table.
bool split_cells(std::string_view line, std::span<SmiColumn> columns) {
  std::size_t begin = 0;
  for (SmiColumn& column : columns) {
    if (begin > line.size()) return false;
    const std::size_t comma = std::min(line.find(',', begin), line.size());
    column.cell = line.substr(begin, comma - begin);
    begin = comma + 1;
  }
  return begin == line.size() + 1;
}

bool read_row(std::string_view line, std::span<SmiColumn> columns, SmiRow& row) {
  if (!split_cells(line, columns)) return false;
  for (const SmiColumn& column : columns)
    if (column.role != other && !read_cell(trimmed_cell(column.cell), column, row)) return false;
  if (row.malformed_time && !row.used && !row.free) return false;
  // A clock without a date counts from the date in the other column.
  if (row.day && row.time && *row.time < 86400) *row.time += *row.day;
  if ((row.used && row.used->bare && row.used->number > max_mebibytes) ||
      (row.total && row.total->bare && row.total->number > max_mebibytes))
    for (auto* a : {&row.used, &row.total, &row.free})
      if (*a && (*a)->bare) (*a)->unit = 1;
  if (row.total) row.card.total = row.total->number * row.total->unit;
  return true;
}

/// True if another GPU had this index before. This happens if two machines write into one file and both have a GPU 0.
bool is_duplicate_index(RowMemory& row_memory, const CardNames& card) {
  if (card.other().empty()) return false;
  const auto known = row_memory.numbers.find(*card.index);
  if (known != row_memory.numbers.end()) return known->second != card.other();
  if (row_memory.numbers.size() < max_remembered_cards) row_memory.numbers.emplace(*card.index, card.other());
  return false;
}

/// Identifies the row's GPU: sets its index in `where`, or returns a label that distinguishes it from others.
std::string identify(RowMemory& row_memory, const CardNames& card, std::optional<double> time, Origin& where) {
  if (!card.tile.empty())
    return "GPU " + (card.index ? std::to_string(*card.index) : std::string()) + " tile " + std::string(card.tile);
  if (card.index) {
    const bool second = is_duplicate_index(row_memory, card);
    if (!second) where.device = card.index;
    return std::string(second ? card.other() : "");
  }
  if (!card.uuid.empty() || !card.bus.empty()) return std::string(card.other());
  std::string label(card.name);
  if (const int position = position_in_query(row_memory, time, card.name); position > 0)
    label += (label.empty() ? "row " : ", row ") + std::to_string(position + 1);
  return label;
}

/// Emits the total of the row's GPU, and the common total as long as all GPUs are alike.
void emit_total(RowMemory& row_memory, const CardNames& named, const std::string& card, EventSink& sink) {
  if (!named.total || *named.total <= 0) return;
  const i64 total = whole_number(*named.total / mebibyte);
  if (!row_memory.total) row_memory.total = total;
  const std::string text = std::to_string(total) + " MiB";
  sink.setting("capacity", *row_memory.total == total ? text : "not the same for all cards");
  if (!card.empty()) sink.setting("capacity/" + card, text);
}

/// The entry of the GPU with these names, created if necessary. Null if the row has no index, is a tile, or the list is
/// full.
KnownCard* known_card(RowMemory& row_memory, const CardNames& named) {
  if (!named.index || !named.tile.empty()) return nullptr;
  const KnownCard*& last_emitted = row_memory.last_emitted[*named.index];
  for (KnownCard& known : row_memory.known)
    if (known.last_emitted == &last_emitted && known.uuid == named.uuid && known.bus == named.bus &&
        known.name == named.name && known.total == named.total)
      return &known;
  if (row_memory.known.size() >= max_remembered_cards) return last_emitted = nullptr, nullptr;
  KnownCard& known = row_memory.known.emplace_back();
  known.uuid = named.uuid;
  known.bus = named.bus;
  known.name = named.name;
  known.total = named.total;
  known.last_emitted = &last_emitted;
  return &known;
}

/// Emits the identity and the total of the row's GPU.
void emit_card(RowMemory& row_memory, const CardNames& named, std::optional<double> time, bool with_total,
               KnownCard& card, EventSink& sink) {
  card.origin = {};
  card.label = identify(row_memory, named, time, card.origin);
  sink.at(card.origin);
  row_memory.name = named.name;
  if (!named.name.empty()) sink.setting("gpu", named.name);
  if (with_total)
    emit_total(row_memory, named, card.origin.device ? std::to_string(*card.origin.device) : card.label, sink);
}

/// Returns the prepared reading of the series, so that each row only sets the value and the quantum.
Reading& find_reading(KnownCard& card, Metric metric, double unit) {
  const auto [at, added] = card.readings.try_emplace({metric, unit});
  Reading& reading = at->second;
  if (!added) return reading;
  reading.metric = metric;
  reading.kind = SeriesKind::sampled_gauge;
  reading.unit = unit == mebibyte ? "MiB" : unit == 1 ? "B" : "GB";
  reading.ambiguous_unit = reading.unit == "GB";
  reading.label = card.label;
  return reading;
}

/// Rows of the CSV. read() parses a row on any thread and stores it; emit() emits the rows in order with the state of
/// the earlier rows.
class CsvRows final : public Rows {
 public:
  explicit CsvRows(const Layout& layout)
      : processes_(layout.kind == "smi_apps_csv"), with_total_(layout.note.empty()), columns_(layout.roles.size()) {
    for (std::size_t i = 0; i < columns_.size(); ++i)
      columns_[i] = {layout.roles[i], layout.columns[i].find_first_of("[(") == std::string::npos, {}};
  }

  bool read(std::string_view line) override {
    if (columns_.empty()) return false;
    if (processes_) return read_process(line);
    if (const auto date = parse_date_line(line)) {
      StoredRow& stored = stored_rows_.emplace_back();
      stored.kind = StoredRow::RowKind::date;
      stored.time = date;
    } else {
      SmiRow row;
      if (!read_row(line, columns_, row)) return false;
      StoredRow& stored = stored_rows_.emplace_back();
      stored.card = find_card(row.card);
      stored.time = row.time;
      if (!row.used && !row.free) return true;
      stored.kind = row.used ? StoredRow::RowKind::used : StoredRow::RowKind::free;
      const CellAmount& amount = row.used ? *row.used : *row.free;
      stored.number = amount.number;
      stored.unit = amount.unit;
      stored.decimals = amount.decimals;
      if (row.used && row.free) stored.whole = row.used->number * row.used->unit + row.free->number * row.free->unit;
    }
    return true;
  }

  void emit(std::size_t i, std::any& memory, EventSink& sink) override {
    const StoredRow& row = stored_rows_[i];
    if (row.kind == StoredRow::RowKind::process) return emit_process(row, sink);
    if (!memory.has_value()) memory.emplace<RowMemory>();
    RowMemory& row_memory = *std::any_cast<RowMemory>(&memory);
    if (row.kind == StoredRow::RowKind::date) return begin_query(row_memory, row.time, {});
    const std::optional<double> time = row.time ? row.time : row_memory.date;
    KnownCard& card = emit_card(row_memory, cards_[row.card], time, sink);
    if (row.kind == StoredRow::RowKind::card) return;
    Reading& reading = find_reading(card, row.kind == StoredRow::RowKind::used ? Metric::used : Metric::free, row.unit);
    reading.value = row.number * row.unit;
    reading.quantum = row.decimals == 0 ? row.unit : row.unit / std::pow(10.0, row.decimals);
    reading.quantum = std::max(1.0, reading.quantum);
    reading.capacity = row.whole > 0 || with_total_
                           ? row.whole
                           : moved_beside_total(row_memory, card, cards_[row.card].named.total, reading);
    sink.reading(reading, {}, time);
  }

 private:
  /// The total of a row without a header, if it is certain: a column that stays while the used memory moves is not the
  /// free memory. Else 0.
  static double moved_beside_total(RowMemory& row_memory, const KnownCard& card, std::optional<double> total,
                                   const Reading& used) {
    constexpr double min_move = 0.1;  // of the total; reserved memory and rounding are far less
    if (!total || used.metric != Metric::used || row_memory.first_used.size() >= max_remembered_cards) return 0;
    const double first = row_memory.first_used.try_emplace({card.origin.device, card.label}, used.value).first->second;
    return used.value - first > min_move * *total ? *total : 0;
  }

  /// A stored row.
  struct StoredRow {
    enum class RowKind { process, date, card, used, free } kind = RowKind::card;
    double whole = 0;  ///< used plus free, in bytes
    std::uint32_t card = 0;
    int decimals = 0;
    double number = 0, unit = 0;
    i64 pid = 0;
    std::optional<double> time;
  };
  struct FoundCard {
    CardNames named;
    KnownCard* known = nullptr;
  };

  /// Reads "2025/02/01 12:00:00.104, GPU-…, 4711, python, 1812 MiB". Names of programs may contain commas, so the
  /// columns after the pid are counted from the end.
  bool read_process(std::string_view line) {
    const auto cells = split_at_commas(line);
    if (cells.size() < columns_.size()) return false;
    StoredRow& stored = stored_rows_.emplace_back();
    stored.kind = StoredRow::RowKind::process;
    const std::size_t more = cells.size() - columns_.size();
    bool after_pid = false;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const std::string_view cell = cells[after_pid ? c + more : c];
      const int plain = columns_[c].role & ~unit_bits;
      std::optional<CellAmount> amount;
      if (plain == pid) stored.pid = leading_integer(cell);
      if (plain == time_stamp) stored.time = parse_time(cell);
      if (plain == process_used || plain == used) read_amount(cell, columns_[c], amount);
      if (amount) stored.number = amount->number, stored.unit = amount->unit, stored.decimals = amount->decimals;
      after_pid = after_pid || plain == pid;
    }
    return true;
  }

  static void emit_process(const StoredRow& row, EventSink& sink) {
    if (row.pid <= 0 || row.unit <= 0) return;
    emit_process_memory(sink, row.pid, row.number, row.unit, row.time);
  }

  /// The index of the GPU in `cards_`. A query lists the GPUs in turn, so the next GPU is tried first.
  std::uint32_t find_card(const CardNames& named) {
    const std::size_t next = card_ + 1 < cards_.size() ? card_ + 1 : 0;
    if (next < cards_.size() && cards_[next].named == named) return card_ = static_cast<std::uint32_t>(next);
    const auto begin = cards_.end() - static_cast<std::ptrdiff_t>(std::min(cards_.size(), max_remembered_cards));
    const auto found = std::find_if(begin, cards_.end(), [&](const FoundCard& c) { return c.named == named; });
    card_ = static_cast<std::uint32_t>(found - cards_.begin());
    if (found == cards_.end()) cards_.push_back({named});
    return card_;
  }

  /// Emits the identity of the GPU only if it differs from the last row with the same index.
  KnownCard& emit_card(RowMemory& row_memory, FoundCard& card, std::optional<double> time, EventSink& sink) const {
    if (card.known == nullptr) card.known = known_card(row_memory, card.named);
    if (card.known != nullptr && *card.known->last_emitted == card.known && row_memory.name == card.known->name) {
      sink.at(card.known->origin);
      return *card.known;
    }
    KnownCard& current = card.known != nullptr ? *card.known : row_memory.other.emplace();
    smi::emit_card(row_memory, card.named, time, with_total_, current, sink);
    if (current.last_emitted != nullptr) *current.last_emitted = &current;
    return current;
  }

  bool processes_, with_total_;
  std::vector<SmiColumn> columns_;
  std::vector<StoredRow> stored_rows_;
  std::vector<FoundCard> cards_;
  std::uint32_t card_ = 0;  ///< GPU of the last row
};

}  // namespace

/// Accepts the line as a header if its columns identify a query of nvidia-smi, or amounts with a time or an index.
bool header(std::string_view line, Layout& layout) {
  const auto cells = split_at_commas(line);
  if (cells.size() < 2) return false;
  layout = {};
  for (const auto cell : cells) {
    if (cell.empty() || cell.size() > 120 || is_digit(cell[0])) return false;
    layout.columns.emplace_back(cell);
    layout.roles.push_back(find_role(cell));
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
        "the nvidia-smi query did not contain memory.used; utilization.memory is the time in which the memory was "
        "busy, not "
        "what "
        "is in use";
  return query ? has(time_stamp) || has(index) || has(name) || has(uuid) || has(used) || has(bus)
               : has(used) && (has(time_stamp) || has(index));
}

std::unique_ptr<Rows> csv_rows(const Layout& layout) { return std::make_unique<CsvRows>(layout); }

bool sniff(std::span<const std::string> first_lines, Layout& layout) {
  const auto found = infer_columns(first_lines);
  layout = {};
  if (!found) {
    if (!are_numeric_rows(first_lines)) return false;
    layout.note =
        "rows of numbers without a header: it is unknown which column is memory. Export again with the header: "
        "nvidia-smi --query-gpu=timestamp,index,memory.used,memory.total --format=csv -l 1";
    return true;
  }
  layout.roles.assign(found->count, other);
  const auto put = [&](std::optional<std::size_t> column, SmiRole role) {
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

/// nvidia-smi prints only this line if it does not know a field.
bool device_oom(std::string_view line, Layout& layout) {
  const std::size_t end = line.find("\" is not a valid field to query");
  if (!line.starts_with("Field \"") || end == line.npos || end > 80) return false;
  layout = {};
  layout.kind = "smi_csv";
  layout.note = "nvidia-smi printed no row: it does not know the field " + std::string(line.substr(7, end - 7));
  return true;
}

}  // namespace oomdoctor::parsers::smi
