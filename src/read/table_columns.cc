#include "read/table_columns.h"

#include <algorithm>
#include <array>
#include <deque>

#include "base/ascii.h"
#include "read/context.h"
#include "read/label.h"
#include "read/tokens.h"

namespace oomdoctor {
namespace {

/// A name in its parts: "calm-river - system/gpu.0.memoryAllocatedBytes" is GPU 0, the words gpu, memory, allocated,
/// and bytes.
class ColumnName {
 public:
  explicit ColumnName(std::string_view printed);
  ColumnName(const ColumnName&) = delete;  // the words are parts of the text in it

  std::vector<std::string_view> words;  ///< without units and numbers, in lower case
  std::string_view lowered;             ///< the whole name
  std::string_view bracket;             ///< "utc" in "Time (UTC)", in lower case
  std::optional<Unit> unit;
  std::optional<int> device;
  bool percent = false;
  bool extreme = false;  ///< of the values that another column averages

  bool has(std::initializer_list<std::string_view> any) const {
    return std::any_of(words.begin(), words.end(), [&](std::string_view w) { return one_of(w, any); });
  }
  bool has_only(std::initializer_list<std::string_view> any) const {
    return !words.empty() &&
           std::all_of(words.begin(), words.end(), [&](std::string_view w) { return one_of(w, any); });
  }
  /// The words with "_" between them: "gpu_id".
  std::string joined() const {
    std::string out;
    for (const std::string_view word : words) out.append(out.empty() ? "" : "_").append(word);
    return out;
  }
  bool names_device() const {
    return has({"gpu", "cuda", "vram", "hbm", "gmem", "xpu", "npu", "torch", "pytorch", "nvidia", "hip"}) || device;
  }

 private:
  void take_bracket(std::string_view& text, std::string_view& lower_text);
  void take_unit();
  void name_working_set();

  std::string text_;
};

/// The number right after "gpu", "cuda", "device" or "card": "gpu.0.", "GPU 1 memory", "gpu_id: 1/", "cuda:0".
std::optional<int> device_in(std::string_view lowered) {
  constexpr std::size_t max_gap = 5, max_digits = 3;
  for (const std::string_view word : {"gpu", "cuda", "device", "card"})
    for (std::size_t at = lowered.find(word); at != lowered.npos; at = lowered.find(word, at + 1)) {
      if (at > 0 && is_letter_or_underscore(lowered[at - 1]) && lowered[at - 1] != '_') continue;
      std::size_t digit = at + word.size();
      const std::size_t most = digit + max_gap;
      if (lowered.substr(digit).starts_with("_id")) digit += 3;
      while (digit < std::min(most, lowered.size()) &&
             std::string_view(" ._:-/#[").find(lowered[digit]) != std::string_view::npos)
        ++digit;
      std::size_t end = digit;
      while (end < lowered.size() && is_digit(lowered[end])) ++end;
      if (end == digit || end - digit > max_digits ||
          (end < lowered.size() && is_letter_or_underscore(lowered[end]) && lowered[end] != '_'))
        continue;
      return static_cast<int>(leading_integer(lowered.substr(digit, end - digit)));
    }
  return std::nullopt;
}

ColumnName::ColumnName(std::string_view printed) {
  constexpr std::size_t max_words = 24;
  std::string_view text = printed;
  if (const std::size_t dash = text.rfind(" - "); dash != text.npos) text.remove_prefix(dash + 3);  // after the run
  while (!text.empty() && (text.front() == '#' || text.front() == ' ')) text.remove_prefix(1);
  if (text.ends_with(" / LIMIT")) text.remove_suffix(8);  // docker stats prints both in one cell
  text_ = lower(text);
  lowered = text_;
  std::string_view lower_text = text_;
  extreme = lower_text.ends_with("__min") || lower_text.ends_with("__max");
  percent = lower_text.find('%') != lower_text.npos;
  device = device_in(lower_text);
  take_bracket(text, lower_text);
  IdentifierWords identifier(text, lower_text);
  while (const auto word = identifier.next())
    if (!only_digits(*word) && words.size() < max_words) words.push_back(*word);
  take_unit();
  name_working_set();
  for (const std::string_view word : {"percent", "percentage", "pct", "perc"})
    if (std::erase(words, word) > 0) percent = true;
  if (has({"used", "usage"})) std::erase(words, "total");  // "Total RAM usage" is not a capacity
  if (has({"capacity"})) std::erase(words, "provisioned");
  if (percent && lowered.find("virtual_memory") != lowered.npos) std::erase(words, "virtual");  // psutil's RAM
  // Windows' name of the machine's RAM.
  if (has({"used", "usage", "available"}) && has({"memory", "mem"}) && !names_device())
    std::replace(words.begin(), words.end(), std::string_view("physical"), std::string_view("ram"));
  // Weights & Biases print the bytes under a longer name.
  if (!unit && lowered.starts_with("system") && lowered.ends_with("memoryallocated")) percent = true;
}

/// "(MiB)", "[%]", "(UTC)" at the end of the name. nvidia-smi's own "memory.used [MiB]" may be cut in the bracket.
void ColumnName::take_bracket(std::string_view& text, std::string_view& lower_text) {
  const std::size_t open = lower_text.find_last_of("[(");
  if (open == lower_text.npos || open == 0) return;
  bracket = trimmed(lower_text.substr(open + 1, lower_text.find_first_of("])", open) - open - 1));
  unit = read_unit(bracket, true);
  text = text.substr(0, open);
  lower_text = trimmed(lower_text.substr(0, open));
  // The GPU's own memory, not what it borrows from the machine: "Memory Used (Dedicated) [MB]".
  if (constexpr std::string_view own = "(dedicated)"; lower_text.ends_with(own)) lower_text.remove_suffix(own.size());
  text = text.substr(0, lower_text.size());
}

void ColumnName::take_unit() {
  while (words.size() > 1 && (is_label_unit(words.back()) || one_of(words.back(), {"g", "b"}))) {
    if (!unit) unit = read_unit(words.back(), true);
    words.pop_back();
  }
}

/// Windows' name of the resident set: "WorkingSet64", "working_set_mb".
void ColumnName::name_working_set() {
  static constexpr std::array<std::string_view, 2> working_set{"working", "set"};
  const auto at = std::search(words.begin(), words.end(), working_set.begin(), working_set.end());
  if (at == words.end() || has({"container", "pod", "memory"})) return;  // Kubernetes' is of a container
  *at = "rss";
  words.erase(at + 1);
  std::erase(words, "size");
}

/// Seconds in a unit of time; 0 for another word.
double seconds_in(std::string_view unit) {
  if (one_of(unit, {"ns", "nsec", "nanoseconds"})) return 1e-9;
  if (one_of(unit, {"us", "usec", "µs", "microseconds"})) return 1e-6;
  if (one_of(unit, {"ms", "msec", "milliseconds"})) return 1e-3;
  if (one_of(unit, {"s", "sec", "secs", "second", "seconds"})) return 1;
  if (one_of(unit, {"min", "mins", "minute", "minutes"})) return 60;
  return one_of(unit, {"h", "hr", "hrs", "hour", "hours"}) ? 3600 : 0;
}

/// "timestamp_ms", "Timestamp [ms]": seconds in its unit; 0 if the name has none.
double unit_of_timestamp(const ColumnName& name) {
  if (!name.has({"timestamp", "ts", "unix"}) ||
      !name.has_only({"timestamp", "ts", "unix", "time", "epoch", "s", "sec", "ms", "us", "ns"}))
    return 0;
  const auto in = [&](std::initializer_list<std::string_view> unit) {
    return name.has(unit) || one_of(name.bracket, unit);
  };
  return in({"ms"}) ? 1e-3 : in({"us"}) ? 1e-6 : in({"ns"}) ? 1e-9 : in({"s", "sec", "seconds"}) ? 1 : 0;
}

ColumnRole time_role(const ColumnName& name) {
  if (unit_of_timestamp(name) > 0) return ColumnRole::time;
  if (name.has_only(
          {"timestamp", "time", "datetime", "date", "utc", "local", "wall", "ts", "clock", "current", "stamp"}) &&
      !name.unit)
    return name.has({"timestamp", "time", "datetime", "date", "ts", "clock"}) && seconds_in(name.bracket) == 0
               ? ColumnRole::time
           : name.has({"time"}) ? ColumnRole::elapsed
                                : ColumnRole::other;
  const bool of_time = std::all_of(name.words.begin(), name.words.end(), [](std::string_view word) {
    return seconds_in(word) > 0 ||
           one_of(word, {"elapsed", "relative", "runtime", "uptime", "time", "since", "start", "total", "wall"});
  });
  if (of_time && name.has({"elapsed", "relative", "runtime", "uptime", "seconds", "second", "sec", "secs", "minutes",
                           "hours", "time"}))
    return ColumnRole::elapsed;
  return ColumnRole::other;
}

/// Seconds in one unit of a time since the start.
double elapsed_unit(const ColumnName& name) {
  if (const double unit = seconds_in(name.bracket); unit > 0) return unit;
  for (const std::string_view word : name.words)
    if (const double unit = seconds_in(word); unit > 0) return unit;
  return 1;
}

ColumnRole position_role(const ColumnName& name, std::string_view printed) {
  const std::size_t slash = printed.rfind('/');  // "trainer/global_step"
  std::string last = lower(slash == printed.npos ? printed : printed.substr(slash + 1));
  for (char& c : last)
    if (c == ' ') c = '_';
  last.erase(0, last.find_first_not_of("_#"));
  constexpr int batch_rank = 2;  // the batch may be a size
  if (step_rank(last) > batch_rank || last == "training_iteration") return ColumnRole::step;
  if (one_of(last, {"epoch", "epochs"})) return ColumnRole::epoch;
  return time_role(name);
}

ColumnRole key_role(const std::string& name) {
  struct KeyName {
    std::string_view name;
    ColumnRole role;
  };
  static constexpr auto keys =
      std::to_array<KeyName>({{"index", ColumnRole::index},      {"gpu_index", ColumnRole::index},
                              {"index_gpu", ColumnRole::index},  {"gpu", ColumnRole::index},
                              {"gpu_id", ColumnRole::index},     {"gpu_idx", ColumnRole::index},
                              {"deviceid", ColumnRole::index},   {"device_id", ColumnRole::index},
                              {"device", ColumnRole::index},     {"npu", ColumnRole::index},
                              {"npu_id", ColumnRole::index},     {"card", ColumnRole::index},
                              {"card_id", ColumnRole::index},    {"device_index", ColumnRole::index},
                              {"gpu_number", ColumnRole::index}, {"name", ColumnRole::name},
                              {"gpu_name", ColumnRole::name},    {"gpu_type", ColumnRole::name},
                              {"uuid", ColumnRole::uuid},        {"gpu_uuid", ColumnRole::uuid},
                              {"pci_bus_id", ColumnRole::bus},   {"gpu_bus_id", ColumnRole::bus},
                              {"bus_id", ColumnRole::bus},       {"tileid", ColumnRole::tile},
                              {"tile_id", ColumnRole::tile},     {"pid", ColumnRole::pid},
                              {"process_id", ColumnRole::pid},   {"process_name", ColumnRole::command},
                              {"command", ColumnRole::command},  {"cmd", ColumnRole::command},
                              {"am_pm", ColumnRole::am_pm},      {"rank", ColumnRole::rank},
                              {"local_rank", ColumnRole::rank},  {"global_rank", ColumnRole::rank}});
  const auto found = std::find_if(keys.begin(), keys.end(), [&](const KeyName& key) { return key.name == name; });
  return found == keys.end() ? ColumnRole::other : found->role;
}

/// Names of things that have memory of their own.
bool names_group(const ColumnName& name) {
  return name.has_only({"container", "pod",    "process",  "proc",    "namespace", "host",       "hostname", "node",
                        "machine",   "server", "instance", "session", "run",       "experiment", "job",      "worker",
                        "service",   "id",     "name",     "commit",  "revision",  "git",        "sha",      "hash"}) &&
         !name.has_only({"id", "name"});
}

bool is_memory_word(std::string_view word) {
  return one_of(word, {"mem", "memory", "vram", "gmem", "hbm", "ram", "rss", "uss", "pss"});
}

bool names_memory(const ColumnName& name) { return std::any_of(name.words.begin(), name.words.end(), is_memory_word); }

/// Words of other quantities, and of counts, next to which "memory" is not an amount.
bool names_other_quantity(std::string_view word) {
  return one_of(word, {"temp",  "temperature", "clock",  "clocks", "freq",   "frequency", "power",   "voltage",
                       "error", "errors",      "ecc",    "price",  "cost",   "count",     "number",  "num",
                       "page",  "pages",       "faults", "reads",  "writes", "pressure",  "latency", "efficiency"});
}

/// Words for what memory is of: "Memory usage pod-a (bytes)".
bool names_owner(std::string_view word) {
  return one_of(word, {"pod", "container", "node", "worker", "host", "server", "instance", "rank", "job", "process",
                       "service", "vm"});
}

/// The label of the name. Words before the first one of a label are the programmer's name for a part of the program;
/// after it, every word must belong to the label, or name what the memory is of. nullopt if it names no memory.
std::optional<Label> label_of(const ColumnName& name) {
  const auto& words = name.words;
  auto from = std::find_if(words.begin(), words.end(), belongs_to_label);
  auto to = std::find_if_not(from, words.end(), belongs_to_label);
  const bool other = std::any_of(words.begin(), words.end(), [](std::string_view word) {
    return rejects_label(word) || names_other_quantity(word);
  });
  const bool owned = from == words.begin() && to != words.end() && !name.bracket.empty() && name.unit.has_value();
  if (other || (to != words.end() && !(owned && names_owner(*to)))) return std::nullopt;
  const bool memory = std::any_of(words.begin(), words.end(), is_memory_word);
  if (!memory && (from != words.begin() || !name.unit)) return std::nullopt;
  return read_label(
      std::span(words).subspan(static_cast<std::size_t>(from - words.begin()), static_cast<std::size_t>(to - from)));
}

/// True for the names of nvidia-smi's query and their usual abbreviations: the memory of the whole GPU. "vram" and
/// "hbm" are other people's words, for numbers in any unit.
bool is_plain(const ColumnName& name, std::string_view kind) {
  return name.has({kind}) && (name.has({"memory", "mem"}) || (name.unit && name.has({"vram", "hbm"}))) &&
         name.has_only({"gpu", "npu", "memory", "mem", "vram", "hbm", kind});
}

/// True for the units in which the driver and its readers count a GPU. "Memory Used (GB)" may as well be a machine's.
bool of_driver_unit(const Unit& unit) { return unit.bytes == 1 || (unit.bytes > 0.9e6 && unit.bytes < 1.1e6); }

/// The unit of an amount of the whole GPU. Every tool takes it from the driver, whose megabytes are 2^20 bytes.
void set_driver_unit(double unit, Reading& reading) {
  reading.unit = unit == 1                          ? "B"
                 : unit > 1.5 * mebibyte * 500      ? "GB"
                 : unit == static_cast<double>(KiB) ? "KiB"
                                                    : "MiB";
  reading.ambiguous_unit = reading.unit == "GB";
}

struct CellUnitBytes {
  double bytes;
  std::string_view text;
};
CellUnitBytes bytes_of(CellUnit unit) {
  switch (unit) {
    case CellUnit::bytes:
      return {1, "B"};
    case CellUnit::kibibytes:
      return {static_cast<double>(KiB), "KiB"};
    case CellUnit::mebibytes:
      return {mebibyte, "MiB"};
    case CellUnit::gibibytes:
      return {static_cast<double>(GiB), "GiB"};
    default:
      return {0, ""};
  }
}

std::string label_in(const std::string& printed) {
  return std::string(trimmed(std::string_view(printed).substr(0, printed.find_first_of("[(", 1))));
}

/// Per cent of the memory in use: "mem_pct", "memory_percent", "RAM usage (%)".
void read_share_name(const ColumnName& name, const std::string& printed, TableColumn& column) {
  const bool memory = std::any_of(name.words.begin(), name.words.end(), is_memory_word);
  const auto label = memory ? label_of(name) : std::nullopt;
  if (!label || is_free_metric(label->metric)) return;
  column.role = ColumnRole::amount;
  column.share = true;
  column.unit = name.bracket.ends_with(share_of_one) ? 100 : 1;
  column.reading.metric = name.names_device() ? Metric::utilization : Metric::host_utilization;
  column.reading.kind = label->kind == SeriesKind::gauge ? SeriesKind::sampled_gauge : label->kind;
  column.reading.unit = "%";
  column.reading.label = label_in(printed);
}

/// Reads a name as memory; leaves the column as it is if it is none.
void read_amount_name(const ColumnName& name, const std::string& printed, CellUnit inferred, bool has_steps,
                      bool device, TableColumn& column) {
  if (name.extreme || inferred == CellUnit::unknown) return;
  if (name.percent) return read_share_name(name, printed, column);
  if (!name.unit && name.bracket.find("hz") != name.bracket.npos) return;
  if (name.lowered.starts_with("memory.reserved")) return;  // the driver's own, in nvidia-smi
  const CellUnitBytes fixed = bytes_of(inferred);
  column.unit = name.unit ? name.unit->bytes : fixed.bytes;
  if (is_plain(name, "total") || is_plain(name, "limit") || is_plain(name, "capacity")) {
    column.role = ColumnRole::total;
    return;
  }
  Reading& r = column.reading;
  r.kind = SeriesKind::sampled_gauge;
  // Trackers count the whole GPU under "system".
  const bool of_system = name.has({"system"}) && name.names_device() && name.has({"allocated"});
  const bool by_driver = device || !name.unit || of_driver_unit(*name.unit);
  const bool plain_used = of_system || (!has_steps && by_driver && is_plain(name, "used"));
  if (plain_used || (by_driver && is_plain(name, "free"))) {
    column.role = ColumnRole::amount;
    r.metric = plain_used ? Metric::used : Metric::free;
    set_driver_unit(column.unit, r);
    return;
  }
  const auto label = name.joined() == "nvidia_smi" ? std::optional(Label{Metric::used, SeriesKind::sampled_gauge, true})
                                                   : label_of(name);
  if (!label) return;
  column.role = ColumnRole::amount;
  r.metric = label->metric;
  r.kind = is_plain(name, "used") && !has_steps ? SeriesKind::sampled_gauge : label->kind;
  r.unit = name.unit ? std::string(name.unit->text) : std::string(fixed.text);
  r.ambiguous_unit = name.unit && name.unit->ambiguous;
  r.label = label_in(printed);
}

/// Trackers write the same metric of several runs into one table, each under the name of its run: "run-a -
/// gpu.0.memory".
void name_runs(std::span<const std::string> names, std::vector<TableColumn>& columns) {
  static constexpr std::string_view dash = " - ";
  const auto same = [](const TableColumn& a, const TableColumn& b) {
    return a.role == ColumnRole::amount && b.role == ColumnRole::amount && a.reading.label.empty() &&
           b.reading.label.empty() && a.reading.metric == b.reading.metric && a.device == b.device;
  };
  std::vector<std::size_t> repeated;
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (names[i].find(dash) != std::string::npos &&
        std::count_if(columns.begin(), columns.end(), [&](const TableColumn& c) { return same(columns[i], c); }) > 1)
      repeated.push_back(i);
  for (const std::size_t i : repeated) columns[i].reading.label = names[i].substr(0, names[i].rfind(dash));
}

bool names_cpu(const ColumnName& name) {
  return name.has({"cpu", "swap"}) || name.lowered.starts_with("cpu");  // "CPUPerc"
}

/// Words of the kernel's account of a machine's memory.
bool names_kernel_account(const ColumnName& name) {
  return name.has({"buffers", "buff"}) ||
         (name.has({"available"}) && name.has({"mem", "memory"}) && !name.names_device());
}

/// True if the last of the names before this one that names a CPU or a GPU names a CPU.
bool follows_cpu(const std::deque<ColumnName>& names, std::size_t column) {
  for (std::size_t i = column; i > 0; --i)
    if (names[i - 1].names_device() || names_cpu(names[i - 1])) return names_cpu(names[i - 1]);
  return false;
}

}  // namespace

std::vector<TableColumn> read_columns(std::span<const std::string> names, std::span<const int> units) {
  std::vector<TableColumn> columns(names.size());
  const std::deque<ColumnName> parts(names.begin(), names.end());
  bool steps = false, device = false, cpu = false, query = false;
  bool kernel = false, allocator = false;
  bool catalog = false;              // of things for sale, or of jobs that ended: each row is about another one
  int specifications = 0;            // columns that describe a machine: its bare "ram" is what it has
  bool installed = false;            // such a column
  bool took = false, size = false;   // what each row took, and the size of its input
  std::vector<std::size_t> unnamed;  // amounts whose name does not say of what
  for (std::size_t i = 0; i < names.size(); ++i) {
    const ColumnName& name = parts[i];
    columns[i].role = position_role(name, names[i]);
    if (columns[i].role == ColumnRole::elapsed) columns[i].unit = elapsed_unit(name);
    if (columns[i].role == ColumnRole::time) columns[i].unit = unit_of_timestamp(name);
    if (columns[i].role == ColumnRole::other) columns[i].role = key_role(name.joined());
    if (columns[i].role == ColumnRole::other && names_group(name)) columns[i].role = ColumnRole::group;
    query |= name.lowered.starts_with("memory.") && name.has({"used", "free", "total"});
    steps |= columns[i].role == ColumnRole::step || columns[i].role == ColumnRole::epoch;
    device |= name.names_device();
    cpu |= names_cpu(name);
    kernel |= names_kernel_account(name);
    allocator |= name.has({"alloc", "allocated", "reserved", "torch"});
    took |= columns[i].role == ColumnRole::elapsed && !name.has({"elapsed", "relative", "uptime", "since", "start"});
    size |= one_of(name.lowered, {"n", "size", "input_size", "problem_size", "batch_size", "context_length", "threads",
                                  "n_threads", "num_threads", "clients", "n_clients", "nodes", "dim", "depth"});
    specifications +=
        one_of(name.lowered, {"os", "cpu_model", "cpu_name", "processor", "cpu_cores", "cores", "gpu_model",
                              "cuda_version", "driver_version", "pytorch_version", "platform", "motherboard"});
    installed |= one_of(name.lowered, {"ram", "vram", "memory"});
    catalog |= name.has({"price", "prices", "msrp"}) || one_of(name.lowered, {"exitcode", "reqtres", "alloctres"});
  }
  cpu |= kernel && !allocator;
  const bool moments = std::any_of(columns.begin(), columns.end(), [](const TableColumn& c) {
    return c.role == ColumnRole::time || c.role == ColumnRole::step || c.role == ColumnRole::epoch;
  });
  const bool machines = specifications > 1 && installed && !moments;
  if (catalog || machines || (took && size && !moments)) return std::vector<TableColumn>(names.size());
  bool processes = std::any_of(columns.begin(), columns.end(),
                               [](const TableColumn& column) { return column.role == ColumnRole::pid; });
  bool by_name = false;  // the name of a process is all that distinguishes it
  for (std::size_t i = 0; i < names.size() && !processes; ++i) {
    const ColumnName& name = parts[i];
    if (columns[i].role == ColumnRole::command && name.joined() == "process_name") columns[i].role = ColumnRole::group;
    by_name |= columns[i].role == ColumnRole::group && name.has({"process", "proc"});
  }
  // A list of processes without a time shows no memory over time.
  if (by_name && !has_position(columns)) {
    by_name = false;
    for (std::size_t i = 0; i < names.size(); ++i)
      if (parts[i].has({"process", "proc"})) columns[i].role = ColumnRole::other;
  }
  processes |= by_name;
  bool named_device = false, used = false, named_used = false;
  for (std::size_t i = 0; i < names.size(); ++i) {
    TableColumn& column = columns[i];
    if (query && column.role == ColumnRole::group) column.role = ColumnRole::other;
    // A step next to an index makes it the number of the row.
    if (column.role == ColumnRole::index && steps && names[i] == "index") column.role = ColumnRole::other;
    if (column.role != ColumnRole::other) continue;
    const ColumnName& name = parts[i];
    read_amount_name(name, names[i], units.empty() ? CellUnit::as_named : static_cast<CellUnit>(units[i]), steps,
                     device, column);
    if (column.role != ColumnRole::amount && column.role != ColumnRole::total) continue;
    column.device = name.device;
    column.of_device = column.reading.metric != Metric::host_used &&
                       (device || (column.reading.metric != Metric::memory && column.reading.metric != Metric::used));
    // Of nvidia-smi's 200 fields, only these are the memory of a GPU.
    if (query && !column.of_driver()) {
      column.role = ColumnRole::other;
      continue;
    }
    used |= column.reading.metric == Metric::used;
    named_device |= name.names_device();
    named_used |= name.names_device() && column.of_driver() && column.reading.metric == Metric::used;
    if (!name.names_device() && !column.share) unnamed.push_back(i);
  }
  // Of a CPU and a GPU, the one that was named last before the memory has it.
  const bool resident = std::any_of(columns.begin(), columns.end(), [](const TableColumn& column) {
    return column.role == ColumnRole::amount && column.reading.metric == Metric::host_rss;
  });
  const bool available = std::any_of(unnamed.begin(), unnamed.end(), [&](std::size_t i) {
    return columns[i].reading.metric != Metric::used && parts[i].has({"available"});
  });
  // "gpu_mem_used" next to "mem_used": the name without a device is the machine's.
  const bool two_used = named_used && std::any_of(unnamed.begin(), unnamed.end(), [&](std::size_t i) {
                          return columns[i].role == ColumnRole::amount && columns[i].of_driver() &&
                                 columns[i].reading.metric == Metric::used;
                        });
  const bool host = named_device || ((cpu || processes || resident) && !device) ||
                    (cpu && !unnamed.empty() && follows_cpu(parts, unnamed.front()));
  // "api_memory_mb" next to "system_memory_used_gb": the one is of a part of what runs on the machine.
  const auto of_part = [&](std::size_t i) {
    const std::string_view first = parts[i].words.empty() ? std::string_view{} : parts[i].words.front();
    return !first.empty() && !belongs_to_label(first) &&
           !one_of(first, {"server", "machine", "instance", "vm", "os", "sys", "pod", "container", "namespace",
                           "worker", "cluster", "main", "overall", "global", "cgroup", "total", "physical"});
  };
  const bool machine = std::any_of(unnamed.begin(), unnamed.end(), [&](std::size_t i) {
    return !of_part(i) && columns[i].role == ColumnRole::amount && columns[i].reading.metric != Metric::host_rss;
  });
  for (const std::size_t i : unnamed) {
    Metric& metric = columns[i].reading.metric;
    const bool smi = columns[i].reading.label.empty();
    // "free_mb" alone may be of a disk.
    if (!host && !device && !smi && metric == Metric::free && !names_memory(parts[i])) {
      columns[i].role = ColumnRole::other;
      continue;
    }
    if (!host || (smi && !cpu && !two_used)) continue;
    // The kernel's cache is of files, and its active pages are not an allocator's. What is free next to the cache says
    // little where the table also has what is available.
    const bool of_kernel = (metric == Metric::reserved && parts[i].has({"cached"})) || metric == Metric::active;
    if (of_kernel || (metric == Metric::free && available && !parts[i].has({"available"}))) {
      columns[i].role = ColumnRole::other;
      continue;
    }
    if (machine && of_part(i) && metric == Metric::host_used) metric = Metric::host_rss;
    if (metric == Metric::memory || metric == Metric::used)
      metric = by_name || (machine && of_part(i)) ? Metric::host_rss : Metric::host_used;
    // What is free without the caches shrinks on any machine that reads files.
    if (metric == Metric::free) metric = parts[i].has({"available"}) ? Metric::host_available : Metric::host_free;
    columns[i].host = true;
    if (smi) columns[i].reading.label = names[i];
  }
  // Only a GPU's name is worth a setting; every other name separates the rows.
  if (host && !unnamed.empty())
    for (std::size_t i = 0; i < names.size(); ++i)
      if (columns[i].role == ColumnRole::name && lower(names[i]) == "name") columns[i].role = ColumnRole::group;
  name_runs(names, columns);
  // Next to amounts in bytes, a share says nothing new. Before the rows are seen, a column without a unit may be none.
  const bool bytes = std::any_of(columns.begin(), columns.end(), [&](const TableColumn& c) {
    return c.role == ColumnRole::amount && !c.share && (c.unit > 0 || c.of_driver() || !units.empty());
  });
  const bool named_share = std::any_of(columns.begin(), columns.end(), [](const TableColumn& c) {
    return c.share && c.reading.metric == Metric::utilization;
  });
  for (TableColumn& column : columns) {
    if (column.share && (bytes || query)) column.role = ColumnRole::other;
    // A share of memory in a table about GPUs only is of their memory, unless another one is.
    if (column.share && device && !cpu && !named_share) column.reading.metric = Metric::utilization;
  }
  for (TableColumn& column : columns)
    column.partner = used && column.role == ColumnRole::amount && column.reading.metric == Metric::free;
  return columns;
}

bool has_position(std::span<const TableColumn> columns) {
  return std::any_of(columns.begin(), columns.end(), [](const TableColumn& column) {
    return column.role >= ColumnRole::time && column.role <= ColumnRole::epoch;
  });
}

bool is_memory_table(std::span<const TableColumn> columns) {
  bool memory = false, key = false;
  for (const TableColumn& column : columns) {
    memory |= column.role == ColumnRole::amount;
    key |= column.role >= ColumnRole::index && column.role <= ColumnRole::group;
  }
  return memory && (has_position(columns) || key);
}

}  // namespace oomdoctor
