#include "read/device_export.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <string>

#include "base/ascii.h"
#include "base/parse_whole.h"
#include "read/line_format.h"
#include "text/lines.h"

namespace oomdoctor {
namespace {

constexpr std::array<std::string_view, 7> weekdays{"Mon ", "Tue ", "Wed ", "Thu ", "Fri ", "Sat ", "Sun "};

constexpr std::size_t max_cells = 256;  ///< nvidia-smi has about 200 fields

/// The word at `at`. Moves `at` to the next word.
std::string_view next_word(std::string_view text, std::size_t& at) {
  const std::size_t end = std::min(text.find(' ', at), text.size());
  const std::string_view out = text.substr(at, end - at);
  at = std::min(text.find_first_not_of(' ', end), text.size());
  return out;
}

std::optional<int> parse_integer(std::string_view text) {
  const auto value = parse_whole<int>(text);
  return value && *value >= 0 ? value : std::nullopt;
}

/// Reads the date after the weekday: "Oct 29 19:00:23 2024", "29 Oct 19:00:23 CET 2024", "Oct 29 07:00:23 PM CET
/// 2024", "29 Oct 2024 07:00:23 PM CET".
std::optional<double> read_date_words(std::string_view text) {
  constexpr int max_words = 6;
  std::optional<int> month, day, year;
  std::optional<double> clock;
  std::string_view half;
  std::size_t at = std::min(text.find_first_not_of(' '), text.size());
  for (int i = 0; i < max_words && at < text.size(); ++i) {
    std::string_view w = next_word(text, at);
    while (!w.empty() && (w.back() == ',' || w.back() == '\r' || w.back() == '\t')) w.remove_suffix(1);
    const auto name = std::find(month_names.begin(), month_names.end(), w);
    const auto n = parse_integer(w);
    if (name != month_names.end())
      month = static_cast<int>(name - month_names.begin()) + 1;
    else if (const auto stamp = read_time(w); stamp && !clock)
      clock = stamp->seconds;
    else if (w == "AM" || w == "PM")
      half = w;
    else if (n && w.size() <= 2 && !day)
      day = n;
    else if (const auto four = parse_integer(w.substr(0, 4)); four && w.size() >= 4 && *four >= 1970 && !year)
      year = four;
    else if (i < 2)
      return std::nullopt;  // prose, not a date
  }
  if (!month || !day || !year || !clock) return std::nullopt;
  if (!half.empty()) *clock += (half == "PM" ? 43200 : 0) - (*clock >= 43200 ? 43200 : 0);
  const std::chrono::year_month_day date{std::chrono::year{*year}, std::chrono::month{static_cast<unsigned>(*month)},
                                         std::chrono::day{static_cast<unsigned>(*day)}};
  if (!date.ok()) return std::nullopt;
  return static_cast<double>(std::chrono::sys_days{date}.time_since_epoch().count()) * 86400 + *clock;
}

std::string card_name(const Card& card) { return card.device ? std::to_string(*card.device) : std::string(card.label); }

}  // namespace

std::optional<double> parse_date_line(std::string_view line) {
  constexpr std::size_t shortest = 7, longest = 48;  // "9:14:07"
  const std::string_view text = trimmed(line);
  if (text.size() >= longest || text.find(',') != text.npos) return std::nullopt;
  if (const auto time = read_calendar_time(text)) return time;
  return text.size() >= shortest && text.find(':') != text.npos ? read_cell_time(text) : std::nullopt;
}

std::optional<double> read_calendar_time(std::string_view text) {
  for (const std::string_view weekday : weekdays) {
    const std::size_t at = text.find(weekday);
    if (at == text.npos) continue;
    if (const auto time = read_date_words(text.substr(at + weekday.size()))) return time;
  }
  return std::nullopt;
}

std::vector<std::string_view> split_at_commas(std::string_view line) {
  std::vector<std::string_view> out;
  for (std::size_t at = 0; out.size() < max_cells;) {
    const std::size_t comma = line.find(',', at);
    out.push_back(trimmed_cell(line.substr(at, comma - at)));
    if (comma == line.npos) break;
    at = comma + 1;
  }
  return out;
}

std::vector<std::string_view> split_at_blanks(std::string_view line) {
  std::vector<std::string_view> out;
  for (std::size_t at = line.find_first_not_of(" \t"); at < line.size() && out.size() < max_cells;) {
    const std::size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
    out.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(" \t\r", end);
  }
  return out;
}

std::string instance_name(std::string_view card, std::string_view gpu_instance, std::string_view compute_instance) {
  const std::string out = "MIG " + std::string(card) + '/' + std::string(gpu_instance);
  return compute_instance.empty() ? out : out + '/' + std::string(compute_instance);
}

void emit_gpu_reading(EventSink& sink, const Card& card, const GpuAmount& amount, std::optional<double> time) {
  Origin where;
  where.device = card.device;
  sink.at(where);
  Reading reading;
  reading.metric = amount.metric;
  reading.kind = SeriesKind::sampled_gauge;
  reading.value = amount.number * amount.unit_bytes;
  reading.quantum = std::max(1.0, amount.unit_bytes / std::pow(10.0, amount.decimals));
  reading.unit = std::string(amount.unit);
  if (!card.device && !card.alone) reading.label = std::string(card.label);
  if (!card.machine.empty())
    reading.label = std::string(card.machine) + (reading.label.empty() ? "" : " ") + reading.label;
  sink.reading(reading, {}, time);
}

void emit_process_memory(EventSink& sink, const GpuProcess& process, double number, double unit_bytes,
                         std::optional<double> time) {
  Origin where;
  where.pid = process.pid;
  where.device = process.device;
  sink.at(where);
  Reading reading;
  reading.metric = Metric::memory;
  reading.kind = SeriesKind::sampled_gauge;
  reading.value = number * unit_bytes;
  reading.quantum = std::max(1.0, unit_bytes);
  reading.unit = "MiB";
  reading.label = "process " + std::to_string(process.pid);
  if (!process.name.empty()) reading.label += " (" + std::string(process.name) + ")";
  sink.reading(reading, {}, time);
}

void emit_capacity(EventSink& sink, const Card& card, i64 number, std::string_view unit) {
  if (number <= 0) return;
  const std::string text = std::to_string(number) + ' ' + std::string(unit);
  if (card.alone) sink.setting("capacity", text);
  if (const std::string name = card_name(card); !name.empty()) sink.setting("capacity/" + name, text);
}

}  // namespace oomdoctor
