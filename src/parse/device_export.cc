#include "parse/device_export.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <string>

namespace oomdoctor {
namespace {

constexpr std::array<std::string_view, 12> months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                  "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr std::array<std::string_view, 7> weekdays{"Mon ", "Tue ", "Wed ", "Thu ", "Fri ", "Sat ", "Sun "};

/// The word at `at`, which moves behind it and the blanks that follow.
std::string_view word(std::string_view text, std::size_t& at) {
  const std::size_t end = std::min(text.find(' ', at), text.size());
  const std::string_view out = text.substr(at, end - at);
  at = std::min(text.find_first_not_of(' ', end), text.size());
  return out;
}

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

/// What follows the weekday: "Oct 29 19:00:23 2024", "Oct 29 19:00:23 CET 2024".
std::optional<double> behind_weekday(std::string_view text) {
  std::size_t at = std::min(text.find_first_not_of(' '), text.size());
  const auto month = std::find(months.begin(), months.end(), word(text, at));
  const auto day = number(word(text, at));
  if (month == months.end() || !day) return std::nullopt;
  const auto clock = read_time(word(text, at));
  if (!clock) return std::nullopt;
  auto year = number(word(text, at).substr(0, 5));
  if (!year) year = number(word(text, at).substr(0, 5));
  if (!year || *year < 1970 || *year > 9999) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year{*year},
                                         std::chrono::month{static_cast<unsigned>(month - months.begin()) + 1},
                                         std::chrono::day{static_cast<unsigned>(*day)}};
  if (!date.ok()) return std::nullopt;
  return static_cast<double>(std::chrono::sys_days{date}.time_since_epoch().count()) * 86400 + clock->seconds;
}

std::string name_of(const Card& card) { return card.device ? std::to_string(*card.device) : std::string(card.label); }

}  // namespace

std::optional<double> read_calendar_time(std::string_view text) {
  for (const std::string_view weekday : weekdays) {
    const std::size_t at = text.find(weekday);
    if (at == text.npos) continue;
    if (const auto time = behind_weekday(text.substr(at + weekday.size()))) return time;
  }
  return std::nullopt;
}

void tell_amount(Sink& sink, const Card& card, const CardAmount& amount, std::optional<double> time) {
  Where where;
  where.device = card.device;
  sink.at(where);
  Reading reading;
  reading.metric = amount.metric;
  reading.kind = SeriesKind::sampled_gauge;
  reading.value = amount.number * amount.unit_bytes;
  reading.quantum = std::max(1.0, amount.unit_bytes / std::pow(10.0, amount.decimals));
  reading.unit = std::string(amount.unit);
  if (!card.device && !card.alone) reading.label = std::string(card.label);
  sink.reading(reading, {}, time);
}

void tell_capacity(Sink& sink, const Card& card, i64 number, std::string_view unit) {
  if (number <= 0) return;
  const std::string text = std::to_string(number) + ' ' + std::string(unit);
  if (card.alone) sink.setting("capacity", text);
  if (const std::string name = name_of(card); !name.empty()) sink.setting("capacity/" + name, text);
}

}  // namespace oomdoctor
