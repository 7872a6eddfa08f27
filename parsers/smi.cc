// nvidia-smi --query-gpu … --format=csv in all its variants, and the same columns under the names that users give them.
//
// All amounts are MiB, however they are spelled; the header keeps " [MiB]" where the cells lose it (nounits). Columns
// are taken by their header's name, never by their place. Without a header they are inferred from the cells, and the
// report says so.
// --query-compute-apps lists processes: each has a series of its own.
//
// Rows of several cards are told apart by index, else by uuid, else by bus id, else by name, and where only the time is
// there by the order of the rows of one moment.
#include <algorithm>
#include <any>
#include <array>
#include <cmath>
#include <deque>
#include <map>
#include <memory>
#include <string>

#include "parse/context.h"
#include "parse/device_export.h"
#include "parse/line_format.h"

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
        "the nvidia-smi query did not contain memory.used; utilization.memory is the time in which the memory was "
        "busy, not "
        "what "
        "is in use";
  return query ? has(time_stamp) || has(index) || has(name) || has(uuid) || has(used) || has(bus)
               : has(used) && (has(time_stamp) || has(index));
}

struct Number {
  double value = 0;
  int decimals = 0;
};

/// The number at the front of a cell, nearly always digits and nothing else; moves `at` behind it.
std::optional<Number> front_number(std::string_view cell, std::size_t& at) {
  constexpr std::size_t most_digits = 15;  // a double holds them all
  i64 whole = 0;
  std::size_t i = 0;
  const char* const bytes = cell.data();  // the bound is checked once: this is the hot path of exports
  for (const std::size_t end = std::min(cell.size(), most_digits); i < end && bytes[i] >= '0' && bytes[i] <= '9'; ++i)
    whole = whole * 10 + (bytes[i] - '0');
  if (i > 0 && (i == cell.size() || cell[i] == ' ')) return at = i, Number{static_cast<double>(whole), 0};
  const auto any = read_number(cell, at);
  return any ? std::optional(Number{any->value, any->decimals}) : std::nullopt;
}

/// A column, and its cell in the row that is being read.
struct Column {
  int role = other;  ///< and unit
  bool bare = true;  ///< its header names no unit
  std::string_view cell;
};

/// What a memory cell says.
struct Amount {
  double number = 0, unit = mebibyte;
  int decimals = 0;
  bool bare = true;  ///< neither cell nor header name a unit
};

/// The unit, in bytes, is the cell's own, else the header's. nullopt for [N/A] and its like.
void read_amount(std::string_view cell, const Column& column, std::optional<Amount>& out) {
  out.reset();
  std::size_t at = 0;
  const auto n = front_number(cell, at);
  if (!n || n->value < 0) return;
  while (at < cell.size() && cell[at] == ' ') ++at;
  const std::string_view unit = cell.substr(at);
  if (!unit.empty() && unit != "MiB" && unit != "MB") return;
  Amount& amount = out.emplace();
  amount.number = n->value;
  amount.decimals = n->decimals;
  amount.bare = unit.empty() && column.bare;
  const int named = column.role & unit_bits;
  if (unit.empty() && named == gigabytes_unit) amount.unit = static_cast<double>(GiB);
  if (unit.empty() && named == bytes_unit) amount.unit = 1;
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

/// What a row says of its card.
struct Named {
  std::optional<int> index;
  std::string_view uuid, bus, name, tile;
  std::optional<double> total;  ///< bytes
  bool operator==(const Named&) const = default;
  /// What tells it from others of its number.
  std::string_view other() const { return !uuid.empty() ? uuid : !bus.empty() ? bus : name; }
};

/// A card of which a row told all that there is to tell.
struct KnownCard {
  std::string uuid, bus, name, label;
  std::optional<double> total;
  Origin origin;
  const KnownCard** told = nullptr;  ///< which card of its number was told last; null: it cannot be told from others
  std::map<std::pair<Metric, double>, Reading> readings;  ///< by unit: all but value and print step
};

/// What rows remember of the rows before them.
struct Seen {
  using Known = KnownCard;
  std::optional<double> date;          ///< of the date line above the rows
  std::optional<double> moment;        ///< of the last row, where cards are told apart by their order
  std::vector<std::string> cards;      ///< of this moment
  std::map<int, std::string> numbers;  ///< the card that had a number first
  std::optional<i64> total;            ///< MiB, of the first card
  std::deque<Known> known;             ///< numbered cards
  std::map<int, const Known*> told;    ///< last, by number
  std::string name;                    ///< told last
  std::optional<Known> other;          ///< told last, where it is none of these
};

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
  Named card;
  std::optional<double> time, day;
  std::optional<Amount> used, total, free;
  bool malformed_time = false;
};

/// One cell of a row; false where it does not fit its column: the line is no row.
bool read_cell(std::string_view cell, const Column& column, Row& row) {
  const int plain = column.role & ~unit_bits;
  if (plain == used || plain == total || plain == free_) {
    std::optional<Amount>& amount = plain == used ? row.used : plain == total ? row.total : row.free;
    read_amount(cell, column, amount);
    if (!amount && !is_absent(cell)) return false;
  } else if (plain == time_stamp) {
    if (const auto day = day_of(cell))
      row.day = day;
    else if (const auto time = time_of(cell))
      row.time = time;
    else
      row.malformed_time = true;
  } else if (plain == index && !is_absent(cell)) {
    std::size_t at = 0;
    const auto n = front_number(cell, at);
    if (!n) return row.card.name = cell, true;  // some call the card's name "gpu"
    if (at != cell.size() || n->decimals != 0 || n->value < 0 || n->value > 1024) return false;
    // A "gpu" that somebody put in front of "index" is the one that he counts by.
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

/// Cuts the line into as many cells as there are columns; false where there are more or fewer: a log may go on behind a
/// table.
bool cut_cells(std::string_view line, std::span<Column> columns) {
  std::size_t begin = 0;
  for (Column& column : columns) {
    if (begin > line.size()) return false;
    const std::size_t comma = std::min(line.find(',', begin), line.size());
    column.cell = line.substr(begin, comma - begin);
    begin = comma + 1;
  }
  return begin == line.size() + 1;
}

bool read_row(std::string_view line, std::span<Column> columns, Row& row) {
  if (!cut_cells(line, columns)) return false;
  for (const Column& column : columns)
    if (column.role != other && !read_cell(trimmed_cell(column.cell), column, row)) return false;
  if (row.malformed_time && !row.used && !row.free) return false;
  if (row.day && row.time && *row.time < 86400) *row.time += *row.day;
  if ((row.used && row.used->bare && row.used->number > most_mebibytes) ||
      (row.total && row.total->bare && row.total->number > most_mebibytes))
    for (auto* a : {&row.used, &row.total, &row.free})
      if (*a && (*a)->bare) (*a)->unit = 1;
  if (row.total) row.card.total = row.total->number * row.total->unit;
  return true;
}

/// True where this number was another card's before: two machines write into one file, and both have a card 0.
bool is_second_of_its_number(Seen& seen, const Named& card) {
  if (card.other().empty()) return false;
  const auto known = seen.numbers.find(*card.index);
  if (known != seen.numbers.end()) return known->second != card.other();
  if (seen.numbers.size() < most_remembered) seen.numbers.emplace(*card.index, card.other());
  return false;
}

/// Names the card of a row: its number, else what else tells it from others.
std::string identify(Seen& seen, const Named& card, std::optional<double> time, Origin& where) {
  if (!card.tile.empty())
    return "GPU " + (card.index ? std::to_string(*card.index) : std::string()) + " tile " + std::string(card.tile);
  if (card.index) {
    const bool second = is_second_of_its_number(seen, card);
    if (!second) where.device = card.index;
    return std::string(second ? card.other() : "");
  }
  if (!card.uuid.empty() || !card.bus.empty()) return std::string(card.other());
  std::string label(card.name);
  if (const int place = place_in_moment(seen, time, card.name); place > 0)
    label += (label.empty() ? "row " : ", row ") + std::to_string(place + 1);
  return label;
}

/// The total of the row's card, and of all cards as long as they are alike.
void emit_total(Seen& seen, const Named& named, const std::string& card, EventSink& sink) {
  if (!named.total || *named.total <= 0) return;
  const i64 total = whole_number(*named.total / mebibyte);
  if (!seen.total) seen.total = total;
  const std::string text = std::to_string(total) + " MiB";
  sink.setting("capacity", *seen.total == total ? text : "not the same for all cards");
  if (!card.empty()) sink.setting("capacity/" + card, text);
}

/// The numbered card that is so named, told before or not; null where there are too many.
Seen::Known* known_card(Seen& seen, const Named& named) {
  if (!named.index || !named.tile.empty()) return nullptr;
  const Seen::Known*& told = seen.told[*named.index];
  for (Seen::Known& known : seen.known)
    if (known.told == &told && known.uuid == named.uuid && known.bus == named.bus && known.name == named.name &&
        known.total == named.total)
      return &known;
  if (seen.known.size() >= most_remembered) return told = nullptr, nullptr;
  Seen::Known& known = seen.known.emplace_back();
  known.uuid = named.uuid;
  known.bus = named.bus;
  known.name = named.name;
  known.total = named.total;
  known.told = &told;
  return &known;
}

/// What the row says of its card.
void emit_card(Seen& seen, const Named& named, std::optional<double> time, bool with_total, Seen::Known& card,
               EventSink& sink) {
  card.origin = {};
  card.label = identify(seen, named, time, card.origin);
  sink.at(card.origin);
  seen.name = named.name;
  if (!named.name.empty()) sink.setting("gpu", named.name);
  if (with_total) emit_total(seen, named, card.origin.device ? std::to_string(*card.origin.device) : card.label, sink);
}

Reading& reading_of(Seen::Known& card, Metric metric, double unit) {
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
    if (const auto date = date_line(line)) {
      Kept& kept = kept_.emplace_back();
      kept.kind = Kept::Kind::date;
      kept.time = date;
    } else {
      Row row;
      if (!read_row(line, columns_, row)) return false;
      Kept& kept = kept_.emplace_back();
      kept.card = number_of(row.card);
      kept.time = row.time;
      if (!row.used && !row.free) return true;
      kept.kind = row.used ? Kept::Kind::used : Kept::Kind::free;
      const Amount& amount = row.used ? *row.used : *row.free;
      kept.number = amount.number;
      kept.unit = amount.unit;
      kept.decimals = amount.decimals;
      if (row.used && row.free) kept.whole = row.used->number * row.used->unit + row.free->number * row.free->unit;
    }
    return true;
  }

  void emit(std::size_t i, std::any& memory, EventSink& sink) override {
    const Kept& row = kept_[i];
    if (row.kind == Kept::Kind::process) return emit_process(row, sink);
    if (!memory.has_value()) memory.emplace<Seen>();
    Seen& seen = *std::any_cast<Seen>(&memory);
    if (row.kind == Kept::Kind::date) return begin_moment(seen, row.time, {});
    const std::optional<double> time = row.time ? row.time : seen.date;
    Seen::Known& card = emit_card(seen, cards_[row.card], time, sink);
    if (row.kind == Kept::Kind::card) return;
    Reading& reading = reading_of(card, row.kind == Kept::Kind::used ? Metric::used : Metric::free, row.unit);
    reading.value = row.number * row.unit;
    reading.quantum = row.decimals == 0 ? row.unit : row.unit / std::pow(10.0, row.decimals);
    reading.quantum = std::max(1.0, reading.quantum);
    reading.capacity = row.whole;
    sink.reading(reading, {}, time);
  }

 private:
  /// What is kept of a row.
  struct Kept {
    enum class Kind { process, date, card, used, free } kind = Kind::card;
    double whole = 0;  ///< bytes used and free
    std::uint32_t card = 0;
    int decimals = 0;
    double number = 0, unit = 0;
    i64 pid = 0;
    std::optional<double> time;
  };
  struct Card {
    Named named;
    Seen::Known* known = nullptr;
  };

  /// "2025/02/01 12:00:00.104, GPU-…, 4711, python, 1812 MiB"; names of programs hold commas.
  bool read_process(std::string_view line) {
    const auto cells = comma_cells(line);
    if (cells.size() < columns_.size()) return false;
    Kept& kept = kept_.emplace_back();
    kept.kind = Kept::Kind::process;
    const std::size_t more = cells.size() - columns_.size();
    bool behind_name = false;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const std::string_view cell = cells[behind_name ? c + more : c];
      const int plain = columns_[c].role & ~unit_bits;
      std::optional<Amount> amount;
      if (plain == pid) kept.pid = leading_integer(cell);
      if (plain == time_stamp) kept.time = time_of(cell);
      if (plain == process_used || plain == used) read_amount(cell, columns_[c], amount);
      if (amount) kept.number = amount->number, kept.unit = amount->unit, kept.decimals = amount->decimals;
      behind_name = behind_name || plain == pid;
    }
    return true;
  }

  static void emit_process(const Kept& row, EventSink& sink) {
    if (row.pid <= 0 || row.unit <= 0) return;
    emit_process_memory(sink, row.pid, row.number, row.unit, row.time);
  }

  /// Of a card in `cards_`. Cards come in turns.
  std::uint32_t number_of(const Named& named) {
    const std::size_t next = card_ + 1 < cards_.size() ? card_ + 1 : 0;
    if (next < cards_.size() && cards_[next].named == named) return card_ = static_cast<std::uint32_t>(next);
    const auto begin = cards_.end() - static_cast<std::ptrdiff_t>(std::min(cards_.size(), most_remembered));
    const auto found = std::find_if(begin, cards_.end(), [&](const Card& c) { return c.named == named; });
    card_ = static_cast<std::uint32_t>(found - cards_.begin());
    if (found == cards_.end()) cards_.push_back({named});
    return card_;
  }

  /// Tells what a row says of its card only where it says something else than the last row of the card's number.
  Seen::Known& emit_card(Seen& seen, Card& card, std::optional<double> time, EventSink& sink) const {
    if (card.known == nullptr) card.known = known_card(seen, card.named);
    if (card.known != nullptr && *card.known->told == card.known && seen.name == card.known->name) {
      sink.at(card.known->origin);
      return *card.known;
    }
    Seen::Known& told = card.known != nullptr ? *card.known : seen.other.emplace();
    parsers::emit_card(seen, card.named, time, with_total_, told, sink);
    if (told.told != nullptr) *told.told = &told;
    return told;
  }

  bool processes_, with_total_;
  std::vector<Column> columns_;
  std::vector<Kept> kept_;
  std::vector<Card> cards_;
  std::uint32_t card_ = 0;  ///< of the last row
};

std::unique_ptr<Rows> csv_rows(const Layout& layout) { return std::make_unique<CsvRows>(layout); }

bool sniff(std::span<const std::string> first_lines, Layout& layout) {
  const auto found = infer_columns(first_lines);
  layout = {};
  if (!found) {
    if (!are_rows_of_numbers(first_lines)) return false;
    layout.note =
        "rows of numbers without a header: it is unknown which column is memory. Export again with the header: "
        "nvidia-smi --query-gpu=timestamp,index,memory.used,memory.total --format=csv -l 1";
    return true;
  }
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

constexpr Table tables[] = {
    {.name = "smi/unknown_field",
     .anchor = "is not a valid field to query",
     .example_header = "Field \"memory.usage\" is not a valid field to query.",
     .example_row = "",
     .header = refusal,
     .sniff = nullptr,
     .rows = csv_rows},
    {.name = "smi/csv",
     .anchor = "memory.used",
     .example_header = "timestamp, index, name, memory.used [MiB], memory.total [MiB]",
     .example_row = "2025/02/01 12:00:00.104, 0, NVIDIA A40, 1812 MiB, 46068 MiB",
     .header = header,
     .sniff = sniff,
     .rows = csv_rows},
    {.name = "smi/csv_renamed",
     .anchor = "memory_used",
     .example_header = "timestamp,gpu_utilization,memory_used,memory_total",
     .example_row = "1746550000.25,98, 1812, 46068",
     .header = header,
     .sniff = nullptr,
     .rows = csv_rows},
    {.name = "smi/csv_free",
     .anchor = "memory.free",
     .example_header = "index, memory.free [MiB]",
     .example_row = "0, 44256 MiB",
     .header = header,
     .sniff = nullptr,
     .rows = csv_rows},
    {.name = "smi/csv_without_memory",
     .anchor = "utilization.gpu",
     .example_header = "timestamp, name, utilization.gpu [%], temperature.gpu",
     .example_row = "2025/02/01 12:00:00.104, NVIDIA A40, 98 %, 61",
     .header = header,
     .sniff = nullptr,
     .rows = csv_rows},
    {.name = "smi/csv_spelled_out",
     .anchor = "Memory Used (MiB)",
     .example_header = "Timestamp, DeviceId, GPU Utilization (%), GPU Memory Used (MiB)",
     .example_row = "12:00:00.104,    0, 98.00, 1812.25",
     .header = header,
     .sniff = nullptr,
     .rows = csv_rows,
     .source = "xpumanager: xpu-smi dump; scripts around nvidia-smi"},
    {.name = "smi/csv_free_renamed",
     .anchor = "memory_free",
     .example_header = "timestamp,index,memory_free_mb",
     .example_row = "2025-02-01 12:00:00,0,44256",
     .header = header,
     .sniff = nullptr,
     .rows = csv_rows},
    {.name = "smi/csv_memory_short",
     .anchor = "mem_used",
     .example_header = "timestamp,gpu,gpu_mem_used",
     .example_row = "2025-02-01 12:00:00,0,1812",
     .header = header,
     .sniff = nullptr,
     .rows = csv_rows},
    {.name = "smi/apps_csv",
     .anchor = "used_gpu_memory",
     .example_header = "timestamp, gpu_uuid, pid, process_name, used_gpu_memory [MiB]",
     .example_row = "2025/02/01 12:00:00.104, GPU-6e0b3c5a-0000-0000-0000-000000000001, 4711, python, 1812 MiB",
     .header = header,
     .sniff = nullptr,
     .rows = csv_rows},
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
