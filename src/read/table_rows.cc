#include "read/table_rows.h"

#include <algorithm>
#include <any>
#include <cmath>
#include <deque>
#include <map>
#include <string>
#include <utility>

#include "read/cell_reader.h"
#include "read/device_export.h"
#include "read/transposed_rows.h"

namespace oomdoctor {
namespace {

/// Bounds the memory per input: subjects remembered, also per query.
constexpr std::size_t max_subjects = 64;
/// Seconds. Rows of one query follow each other within milliseconds; rows of two queries almost never do.
constexpr double max_query_seconds = 0.05;
/// Instead of the index, for subjects without one.
constexpr int no_index = -1;

/// A subject whose name and total a row has already emitted.
struct KnownSubject {
  std::string uuid, bus, name, group, subgroup, label;
  std::optional<double> total;
  std::optional<int> rank;
  std::optional<i64> pid;
  Origin origin;
  /// The last emitted subject with the same index; null if the subject cannot be distinguished from others.
  const KnownSubject** last_emitted = nullptr;
  struct PreparedReading {
    double unit = 0;  ///< bytes; 0 if not prepared
    Reading reading;  ///< all but value and quantum
  };
  std::vector<PreparedReading> readings;  ///< of each column of memory, in its last unit

  bool is(const RowSubject& s) const {
    return uuid == s.uuid && bus == s.bus && name == s.name && group == s.group && subgroup == s.subgroup &&
           total == s.total && rank == s.rank && pid == s.pid;
  }
};

/// The state that earlier rows leave for later rows of the same table.
struct RowMemory {
  std::optional<double> date;          ///< of the date line above the rows
  std::optional<double> moment;        ///< time of the last row, if only the order distinguishes the GPUs
  std::vector<std::string> names;      ///< names of the GPUs in this query
  std::map<int, std::string> numbers;  ///< the first GPU with each index
  std::map<i64, std::string> pids;     ///< the first GPU of each process
  std::map<std::pair<std::optional<int>, std::string>, double> first_used;  ///< bytes, in rows without a header
  std::optional<i64> total;                                                 ///< MiB, of the first GPU
  std::deque<KnownSubject> known;                                           ///< a deque keeps their addresses stable
  std::map<int, const KnownSubject*> last_emitted;                          ///< last emitted subject of each index
  std::string name;                                                         ///< last emitted name
  bool empty = false;                                                       ///< the last row had no values
  bool parts_of_epochs = false;
  std::optional<KnownSubject> other;  ///< last emitted subject that is not in `known`
};

void begin_query(RowMemory& row_memory, std::optional<double> date, std::optional<double> moment) {
  row_memory.date = date;
  row_memory.moment = moment;
  row_memory.names.clear();
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
  if (row_memory.names.size() < max_subjects) row_memory.names.emplace_back(card);
  return static_cast<int>(std::count(row_memory.names.begin(), row_memory.names.end(), card)) - 1;
}

/// True if another GPU had this index before. This happens if two machines write into one file and both have a GPU 0.
bool is_duplicate_index(RowMemory& row_memory, const RowSubject& subject) {
  if (subject.other().empty()) return false;
  const auto known = row_memory.numbers.find(*subject.index);
  if (known != row_memory.numbers.end()) return known->second != subject.other();
  if (row_memory.numbers.size() < max_subjects) row_memory.numbers.emplace(*subject.index, subject.other());
  return false;
}

/// True if this process was listed on another GPU before. It has memory on each of them.
bool is_on_second_gpu(RowMemory& row_memory, const RowSubject& subject) {
  if (subject.uuid.empty() && subject.bus.empty()) return false;
  const auto known = row_memory.pids.find(*subject.pid);
  if (known != row_memory.pids.end()) return known->second != subject.other();
  if (row_memory.pids.size() < max_subjects) row_memory.pids.emplace(*subject.pid, subject.other());
  return false;
}

/// Identifies the row's GPU: sets its index in `where`, or returns a label that distinguishes it from others.
std::string identify_gpu(RowMemory& row_memory, const RowSubject& subject, bool by_order, std::optional<double> time,
                         Origin& where) {
  if (!subject.tile.empty())
    return "GPU " + (subject.index ? std::to_string(*subject.index) : std::string()) + " tile " +
           std::string(subject.tile);
  if (subject.index) {
    const bool second = is_duplicate_index(row_memory, subject);
    if (!second) where.device = subject.index;
    return std::string(second ? subject.other() : "");
  }
  if (!subject.uuid.empty() || !subject.bus.empty()) return std::string(subject.other());
  std::string label(subject.name);
  if (!by_order) return label;
  if (const int position = position_in_query(row_memory, time, subject.name); position > 0)
    label += (label.empty() ? "row " : ", row ") + std::to_string(position + 1);
  return label;
}

std::string identify(RowMemory& row_memory, const RowSubject& subject, bool by_order, std::optional<double> time,
                     Origin& where) {
  where.rank = subject.rank;
  if (subject.pid) {
    where.pid = subject.pid;
    std::string label = "process " + std::to_string(*subject.pid);
    if (!subject.group.empty()) label.append(" (").append(subject.group).append(")");
    if (is_on_second_gpu(row_memory, subject)) label.append(" on ").append(subject.other());
    return label;
  }
  std::string label(subject.group);
  const std::string card = identify_gpu(row_memory, subject, by_order, time, where);
  for (const std::string_view part : {std::string_view(subject.subgroup), std::string_view(card)})
    if (!part.empty()) label.append(label.empty() ? "" : " ").append(part);
  return label;
}

/// Emits the total of the row's GPU, and the common total as long as all GPUs are alike.
void emit_total(RowMemory& row_memory, double bytes, const std::string& card, EventSink& sink) {
  if (bytes <= 0) return;
  const i64 total = whole_number(bytes / mebibyte);
  if (!row_memory.total) row_memory.total = total;
  const std::string text = std::to_string(total) + " MiB";
  sink.setting("capacity", *row_memory.total == total ? text : "not the same for all GPUs");
  if (!card.empty()) sink.setting("capacity/" + card, text);
}

/// The entry of the subject, created if necessary. Null if only the order identifies it, it is a tile, or the list is
/// full.
KnownSubject* known_subject(RowMemory& row_memory, const RowSubject& subject, bool by_order) {
  if ((by_order && !subject.index) || !subject.tile.empty()) return nullptr;
  const KnownSubject*& last_emitted = row_memory.last_emitted[subject.index.value_or(no_index)];
  for (KnownSubject& known : row_memory.known)
    if (known.last_emitted == &last_emitted && known.is(subject)) return &known;
  if (row_memory.known.size() >= max_subjects) return last_emitted = nullptr, nullptr;
  KnownSubject& known = row_memory.known.emplace_back();
  known.uuid = subject.uuid;
  known.bus = subject.bus;
  known.name = subject.name;
  known.group = subject.group;
  known.subgroup = subject.subgroup;
  known.total = subject.total;
  known.rank = subject.rank;
  known.pid = subject.pid;
  known.last_emitted = &last_emitted;
  return &known;
}

/// Parses a row on any thread and stores it; emits the rows in order, with the state of the earlier rows.
class TableRows final : public Rows {
 public:
  explicit TableRows(const Layout& layout)
      : reader_(layout), has_header_(layout.has_header), with_total_(layout.sure_of_total) {
    for (std::size_t k = 0; k < reader_.memory_count(); ++k) {
      const TableColumn& column = reader_.column_of(k);
      has_partner_ |= column.partner;
      keeps_totals_ |= column.host || column.device;
    }
  }

  bool read(std::string_view line, RowsRead wanted) override {
    TableRow row;
    if (const auto date = parse_date_line(line)) {
      StoredRow& stored = rows_.emplace_back();
      stored.is_date = true;
      stored.time = date;
      return true;
    }
    if (!reader_.read(line, row) || (wanted == RowsRead::with_values && !reader_.has_values())) return false;
    StoredRow& stored = rows_.emplace_back();
    stored.time = row.time;
    stored.step = row.step;
    stored.epoch = row.epoch;
    stored.since_start = row.elapsed.has_value();
    stored.subject = find_subject(row.subject);
    stored.first = amounts_.size();
    const auto& amounts = reader_.amounts();
    const auto kept = static_cast<std::ptrdiff_t>(keeps_totals_ ? amounts.size() : reader_.memory_count());
    amounts_.insert(amounts_.end(), amounts.begin(), amounts.begin() + kept);
    return true;
  }

  void emit(std::size_t i, std::any& memory, EventSink& sink) override {
    const StoredRow& row = rows_[i];
    if (!memory.has_value()) memory.emplace<RowMemory>();
    RowMemory& row_memory = *std::any_cast<RowMemory>(&memory);
    if (row.is_date) return begin_query(row_memory, row.time, {});
    // References: a copy of an optional that was just written waits for the stores.
    static constexpr std::optional<double> none;
    const std::optional<double>& time = row.time ? row.time : row_memory.date;
    KnownSubject& subject = emit_subject(row_memory, row, time, sink);
    emit_step(row, sink);
    // A step is a better position than a time, and a time than an epoch. Next to an epoch, seconds are how long it
    // took.
    const bool timed = row.time && !(row.since_start && row.epoch);
    // Parts of epochs are positions as steps are; whole ones follow from the step event.
    row_memory.parts_of_epochs |= row.epoch && *row.epoch != std::floor(*row.epoch);
    const bool by_epoch = !row.step && !timed && row.epoch;
    const std::optional<double>& at = row.step ? row.step : by_epoch && row_memory.parts_of_epochs ? row.epoch : none;
    const std::optional<double>& shown = at || by_epoch ? none : time;
    bool empty = true;
    // A column that names its GPU comes last: the rest of the row is about no GPU, or about the row's.
    for (const bool of_column : {false, true})
      for (std::size_t k = 0; k < reader_.memory_count(); ++k) {
        if (reader_.column_of(k).device.has_value() != of_column) continue;
        const CellAmount& amount = amounts_[row.first + k];
        if (amount.unit == 0) continue;
        empty = false;
        emit_amount(row_memory, row, k, subject, at, shown, sink);
      }
    if (reader_.memory_count() == 0) return;  // none of the columns is memory
    if (empty && !row_memory.empty) sink.remark("table/no_values");
    row_memory.empty = empty;
  }

 private:
  struct StoredRow {
    bool is_date = false, since_start = false;
    std::uint32_t subject = 0;
    std::size_t first = 0;  ///< in `amounts_`
    std::optional<double> time, step, epoch;
  };
  struct FoundSubject {
    RowSubject named;
    KnownSubject* known = nullptr;
  };

  static void emit_step(const StoredRow& row, EventSink& sink) {
    if (!row.step && !row.epoch) return;
    sink.step({row.step ? std::optional(whole_number(*row.step)) : std::nullopt, {}, row.epoch});
  }

  void emit_amount(RowMemory& row_memory, const StoredRow& row, std::size_t k, KnownSubject& subject,
                   const std::optional<double>& step, const std::optional<double>& time, EventSink& sink) const {
    const TableColumn& column = reader_.column_of(k);
    const CellAmount& amount = amounts_[row.first + k];
    const double sum = has_partner_ ? partner_sum(row, k) : 0;
    const double whole = sum > 0 ? sum : amount.whole > 0 ? amount.whole : total_beside(row, column);
    if (column.partner && sum > 0) return;
    Reading& reading = find_reading(subject, k, amount.unit);
    reading.value = amount.number * amount.unit;
    reading.since_start = row.since_start;
    reading.quantum = amount.decimals == 0 ? amount.unit : amount.unit / std::pow(10.0, amount.decimals);
    reading.quantum = std::max(1.0, reading.quantum);
    reading.capacity = has_header_ || !subject.total ? whole
                       : whole > 0 || with_total_    ? *subject.total
                                                     : moved_beside_total(row_memory, subject, reading);
    if (column.device) {
      Origin where = subject.origin;
      where.device = column.device;
      sink.at(where);
    }
    sink.reading(reading, step, time);
    if (column.device) sink.at(subject.origin);
  }

  /// Used plus free memory of the row's GPU, in a table without a total; else 0.
  double sum_without_total(const StoredRow& row) const {
    for (std::size_t k = 0; k < reader_.memory_count(); ++k)
      if (reader_.column_of(k).partner && !reader_.column_of(k).device) return partner_sum(row, k);
    return 0;
  }

  /// Used plus free memory, if the row prints both; else 0.
  double partner_sum(const StoredRow& row, std::size_t k) const {
    const TableColumn& column = reader_.column_of(k);
    if (!column.partner && column.reading.metric != Metric::used) return 0;
    for (std::size_t other = 0; other < reader_.memory_count(); ++other) {
      const TableColumn& beside = reader_.column_of(other);
      const bool pair = beside.partner != column.partner && beside.device == column.device &&
                        (beside.partner || beside.reading.metric == Metric::used);
      const CellAmount &one = amounts_[row.first + k], &two = amounts_[row.first + other];
      if (pair && two.unit > 0) return one.number * one.unit + two.number * two.unit;
    }
    return 0;
  }

  /// The total of the host, or of the GPU in the column's name; 0 if the row does not print it.
  double total_beside(const StoredRow& row, const TableColumn& column) const {
    if (!column.host && !column.device) return 0;
    for (std::size_t k = reader_.memory_count(); k < reader_.amounts().size(); ++k) {
      const TableColumn& total = reader_.column_of(k);
      const CellAmount& amount = amounts_[row.first + k];
      if (total.device == column.device && total.host == column.host) return amount.number * amount.unit;
    }
    return 0;
  }

  /// The total of a row without a header, if it is certain: a column that stays while the used memory moves is not the
  /// free memory. Else 0.
  static double moved_beside_total(RowMemory& row_memory, const KnownSubject& subject, const Reading& used) {
    constexpr double min_move = 0.1;  // of the total; reserved memory and rounding are far less
    if (used.metric != Metric::used || row_memory.first_used.size() >= max_subjects) return 0;
    const double first =
        row_memory.first_used.try_emplace({subject.origin.device, subject.label}, used.value).first->second;
    return used.value - first > min_move * *subject.total ? *subject.total : 0;
  }

  /// Returns the prepared reading of the series, so that each row only sets the value and the quantum.
  Reading& find_reading(KnownSubject& subject, std::size_t k, double unit) const {
    if (subject.readings.size() <= k) subject.readings.resize(reader_.memory_count());
    KnownSubject::PreparedReading& prepared = subject.readings[k];
    Reading& reading = prepared.reading;
    if (prepared.unit == unit) return reading;
    prepared.unit = unit;
    reading = reader_.column_of(k).reading;
    if (reading.unit.empty())
      reading.unit = unit == 1 ? "B" : unit == mebibyte ? "MiB" : unit > mebibyte ? "GiB" : "KiB";
    if (subject.pid) {  // a process does not use the whole GPU or host
      if (reading.metric == Metric::used) reading.metric = Metric::memory;
      if (reading.metric == Metric::host_used) reading.metric = Metric::host_rss;
    }
    if (!subject.label.empty()) reading.label = subject.label + (reading.label.empty() ? "" : " " + reading.label);
    return reading;
  }

  /// The index of the subject in `subjects_`. A query lists them in turn, so the next one is tried first.
  std::uint32_t find_subject(const RowSubject& named) {
    const std::size_t next = last_ + 1 < subjects_.size() ? last_ + 1 : 0;
    if (next < subjects_.size() && subjects_[next].named == named) return last_ = static_cast<std::uint32_t>(next);
    const auto begin = subjects_.end() - static_cast<std::ptrdiff_t>(std::min(subjects_.size(), max_subjects));
    const auto found = std::find_if(begin, subjects_.end(), [&](const FoundSubject& s) { return s.named == named; });
    last_ = static_cast<std::uint32_t>(found - subjects_.begin());
    if (found == subjects_.end()) subjects_.push_back({named});
    return last_;
  }

  /// Emits the identity of the subject and its total only if it differs from the last row with the same index.
  KnownSubject& emit_subject(RowMemory& row_memory, const StoredRow& row, std::optional<double> time, EventSink& sink) {
    FoundSubject& found = subjects_[row.subject];
    const bool by_order = reader_.by_order();
    if (found.known == nullptr) found.known = known_subject(row_memory, found.named, by_order);
    if (found.known != nullptr && *found.known->last_emitted == found.known && row_memory.name == found.known->name) {
      sink.at(found.known->origin);
      return *found.known;
    }
    KnownSubject& current = found.known != nullptr ? *found.known : row_memory.other.emplace();
    const RowSubject& named = found.named;
    current.origin = {};
    current.label = identify(row_memory, named, by_order, time, current.origin);
    current.total = named.total;
    sink.at(current.origin);
    row_memory.name = named.name;
    if (!named.name.empty() && !named.pid) sink.setting("gpu", named.name);
    if (const double total = named.total ? *named.total : sum_without_total(row); with_total_ && total > 0)
      emit_total(row_memory, total, current.origin.device ? std::to_string(*current.origin.device) : current.label,
                 sink);
    if (current.last_emitted != nullptr) *current.last_emitted = &current;
    return current;
  }

  CellReader reader_;
  bool has_header_, with_total_, has_partner_ = false, keeps_totals_ = false;
  std::vector<StoredRow> rows_;
  std::vector<CellAmount> amounts_;
  std::vector<FoundSubject> subjects_;
  std::uint32_t last_ = 0;  ///< subject of the last row
};

}  // namespace

std::unique_ptr<Rows> table_rows(const Layout& layout) {
  return layout.transposed ? transposed_rows(layout) : std::make_unique<TableRows>(layout);
}

}  // namespace oomdoctor
