#include "text/lines.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

#include "base/ascii.h"
#include "text/number_spans.h"

namespace oomdoctor {
namespace {

/// Reads exactly `width` digits at `at`; -1 if there are fewer.
int fixed_number(std::string_view s, std::size_t at, std::size_t width) {
  if (at + width > s.size()) return -1;
  int value = 0;
  for (std::size_t i = at; i < at + width; ++i) {
    if (!is_digit(s[i])) return -1;
    value = value * 10 + (s[i] - '0');
  }
  return value;
}

/// The length of the escape sequence that begins with the ESC at `at`.
std::size_t escape_length(std::string_view s, std::size_t at) {
  if (at + 1 >= s.size()) return 1;
  const char kind = s[at + 1];
  std::size_t i = at + 2;
  if (kind == '[') {  // CSI: parameters, then one final byte
    while (i < s.size() && (s[i] < 0x40 || s[i] > 0x7e)) ++i;
    return std::min(i + 1, s.size()) - at;
  }
  if (kind == ']') {  // OSC: up to BEL or ESC backslash
    while (i < s.size() && s[i] != '\a' && s[i] != '\x1b') ++i;
    if (i < s.size() && s[i] == '\x1b') ++i;
    return std::min(i + 1, s.size()) - at;
  }
  if (kind == '(' || kind == ')') return std::min<std::size_t>(3, s.size() - at);
  return 2;
}

/// Reads a number and moves `at` after it. Digits that overflow mark the prefix as strange.
template <typename Int>
std::optional<Int> read_int(std::string_view s, std::size_t& at, LinePrefix& prefix) {
  Int value = 0;
  if (at >= s.size() || !is_digit(s[at])) return std::nullopt;
  const auto [end, error] = std::from_chars(s.data() + at, s.data() + s.size(), value);
  prefix.strange |= error == std::errc::result_out_of_range;
  if (error != std::errc{}) return std::nullopt;
  at = static_cast<std::size_t>(end - s.data());
  return value;
}

/// The first byte decides nearly always, so compare it first.
bool starts(std::string_view s, std::size_t at, std::string_view what) {
  return at < s.size() && s[at] == what[0] && s.substr(at).starts_with(what);
}

/// The position of `what` in the `most` bytes after `at`. Records how far it looked.
std::size_t find_near(std::string_view s, std::size_t at, std::size_t most, std::string_view what, LinePrefix& prefix) {
  const std::size_t found = s.substr(0, std::min(s.size(), at + most)).find(what, at);
  prefix.bytes_examined = std::max(prefix.bytes_examined, found == s.npos ? at + most : found + what.size());
  return found;
}

/// "[rank3]:", "[default3]:", "[RANK 03]", "default3:", "[1,3]<stderr>:", "3: ". Moves `at` after the tag.
bool peel_rank(std::string_view s, std::size_t& at, LinePrefix& prefix) {
  struct Form {
    std::string_view open, close;
  };
  static constexpr std::array<Form, 7> forms{{{"[rank", "]:"},
                                              {"[rank", "] "},
                                              {"[default", "]:"},
                                              {"[RANK ", "]"},
                                              {"default", ":"},
                                              {"[RANK:", "]"},
                                              {"Rank ", ":"}}};
  for (const Form& form : forms) {
    if (!starts(s, at, form.open)) continue;
    std::size_t i = at + form.open.size();
    const std::size_t digits = i;
    const auto rank = read_int<int>(s, i, prefix);
    if (!rank || !starts(s, i, form.close)) continue;
    prefix.again |= prefix.rank.has_value();
    prefix.rank = rank;
    prefix.rank_at = digits;
    at = i + form.close.size();
    return true;
  }
  if (starts(s, at, "[1,")) {
    std::size_t i = at + 3;
    const auto rank = read_int<int>(s, i, prefix);
    if (rank && starts(s, i, "]<std")) {
      const std::size_t end = s.find(">:", i);
      if (end != s.npos && end - i < 12) {
        prefix.again |= prefix.rank.has_value();
        prefix.rank = rank;
        prefix.rank_at = at + 3;
        at = end + 2;
        return true;
      }
    }
  }
  // srun -l pads the numbers of up to 100 tasks to two columns. With more blanks, the line may be of a listing.
  constexpr std::size_t padded_width = 2, longest_number = 5;
  const std::size_t first = at == 0 ? s.substr(0, padded_width).find_first_not_of(' ') : s.npos;
  if (first != s.npos && is_digit(s[first])) {
    std::size_t i = first;
    const auto rank = read_int<int>(s, i, prefix);
    if (rank && i <= (first > 0 ? padded_width : longest_number) && starts(s, i, ": ")) {
      prefix.again |= prefix.rank.has_value();
      prefix.rank = rank;
      prefix.rank_at = first;
      at = i + 1;
      return true;
    }
  }
  return false;
}

/// "(RayTrainWorker pid=77, ip=…)", "(EngineCore_DP0 pid=413)", "(VllmWorker TP0 pid=9)".
bool peel_actor(std::string_view s, std::size_t& at, LinePrefix& prefix) {
  if (at >= s.size() || s[at] != '(') return false;
  const std::size_t close = find_near(s, at, 100, ")", prefix);
  const std::size_t key = close == s.npos ? s.npos : s.substr(0, close).find("pid=", at);
  if (key == s.npos) return false;
  std::size_t digits = key + 4;
  const auto pid = read_int<i64>(s.substr(0, close), digits, prefix);
  if (!pid) return false;
  prefix.again |= prefix.pid.has_value();
  prefix.pid = pid;
  prefix.pid_at = key + 4;
  at = close + 1;
  return true;
}

/// "service-1  | ", as container tools print it.
bool peel_container(std::string_view s, std::size_t& at, LinePrefix& prefix) {
  constexpr std::size_t longest_name = 48, blanks = 16;
  if (at != 0 || find_near(s, 0, longest_name + blanks, "|", prefix) == s.npos) return false;
  std::size_t i = 0;
  bool dashed = false;
  while (i < s.size() && i < longest_name && (is_dashed_name_char(s[i]) || s[i] == '.')) dashed |= s[i++] == '-';
  const std::size_t name = i;
  while (i < s.size() && s[i] == ' ') ++i;
  if (!dashed || i == name || !starts(s, i, "| ")) return false;
  at = i + 2;
  return true;
}

/// "[2024-10-01 01:17:14,554]", "2024-05-28 07:02:44: ", "ERROR 11-10 12:30:57", "I0706 16:50:15.8 1401 file.py:424]".
bool peel_time(std::string_view s, std::size_t& at, LinePrefix& prefix) {
  const auto keep = [&](const TimeStamp& stamp, std::size_t place) {
    prefix.again |= prefix.time.has_value();
    prefix.time = stamp.seconds;
    prefix.time_at = place;
    prefix.time_length = stamp.length;
  };
  const auto read = [&](std::size_t place) {
    constexpr std::size_t longest_time = 40;
    if (place < s.size() && is_digit(s[place]))
      prefix.bytes_examined = std::max(prefix.bytes_examined, place + longest_time);
    const auto stamp = read_time(s.substr(place));
    prefix.strange |= !stamp && looks_like_time(s.substr(place));
    return stamp;
  };
  std::size_t i = at;
  const bool bracket = i < s.size() && s[i] == '[';
  if (bracket) ++i;
  if (const auto stamp = read(i)) {
    const std::size_t place = i;
    i += stamp->length;
    if (bracket) {
      if (i >= s.size() || s[i] != ']') return false;
      ++i;
      if (starts(s, i, " > ")) i += 2;  // a monitor's mark between its clock and its values
    }
    if (i < s.size() && s[i] == ':') ++i;
    if (!prefix.time || stamp->has_date) keep(*stamp, place);
    at = i;
    return true;
  }
  if (bracket) return false;
  static constexpr std::array<std::string_view, 7> levels{"INFO",     "WARNING", "ERROR", "DEBUG",
                                                          "CRITICAL", "WARN",    "FATAL"};
  for (const auto level : levels)
    if (starts(s, at, level) && fixed_number(s, at + level.size() + 1, 2) >= 0 &&
        starts(s, at + level.size() + 3, "-")) {
      const std::size_t space = find_near(s, at + level.size() + 1, 40, " ", prefix);
      if (space == s.npos) return false;
      const auto stamp = read(space + 1);
      if (!stamp) return false;
      keep(*stamp, space + 1);
      at = space + 1 + stamp->length;
      return true;
    }
  // "I 2025-03-01 10:11:12 serve] "
  if (at == 0 && s.size() > 2 && std::string_view("IWEFD").find(s[0]) != std::string_view::npos && s[1] == ' ' &&
      is_digit(s[2])) {
    const auto stamp = read(2);
    if (!stamp || !stamp->has_date) return false;
    keep(*stamp, 2);
    at = 2 + stamp->length;
    return true;
  }
  if (s.size() > at + 6 && std::string_view("IWEF").find(s[at]) != std::string_view::npos &&
      fixed_number(s, at + 1, 4) >= 0 && s[at + 5] == ' ') {
    const auto stamp = read(at + 6);
    const std::size_t close = find_near(s, at, 120, "] ", prefix);
    if (stamp && close != s.npos) {
      keep(*stamp, at + 6);
      at = close + 1;
      return true;
    }
  }
  return false;
}

/// "[INFO]", "[launch.py:319:sigkill_handler]", "W ": the tags of a logger after its time stamp.
bool peel_logger(std::string_view s, std::size_t& at, LinePrefix& prefix, bool behind_time) {
  if (!behind_time || at >= s.size()) return false;
  if (s[at] == '[') {
    const std::size_t close = find_near(s, at, 90, "]", prefix);
    if (close == s.npos) return false;
    const std::string_view inside = s.substr(at + 1, close - at - 1);
    const bool place = inside.find(".py:") != inside.npos || inside.find("ms") != inside.npos;
    static constexpr std::array<std::string_view, 8> levels{"INFO",     "WARNING", "ERROR",   "DEBUG",
                                                            "CRITICAL", "Error",   "Warning", "Info"};
    bool level = false;
    for (const auto l : levels) level |= inside == l;
    if (!place && !level) return false;
    at = close + 1;
    return true;
  }
  if (starts(s, at, "W ") || starts(s, at, "E ") || starts(s, at, "I ") || starts(s, at, "F ")) {
    at += 2;
    return true;
  }
  return false;
}

}  // namespace

std::string clean_line(std::string_view raw) {
  while (!raw.empty() && ends_line(raw.back())) raw.remove_suffix(1);
  std::string out;
  out.reserve(raw.size());
  for (std::size_t i = 0; i < raw.size();) {
    const auto from = raw.begin() + static_cast<std::ptrdiff_t>(i);
    const auto strange = std::find_if(from, raw.end(), [](char c) { return c == '\x1b' || c == '\0'; });
    out.append(from, strange);
    i += static_cast<std::size_t>(strange - from);
    if (i == raw.size()) break;
    if (raw[i] == '\x1b') {
      i += escape_length(raw, i);
      continue;
    }
    const bool hole = (i + 1 < raw.size() && raw[i + 1] == '\0') || (i > 0 && raw[i - 1] == '\0');
    if (!hole) out.push_back('\0');
    ++i;
  }
  return out;
}

bool is_clean(std::string_view raw) { return raw.find('\x1b') == raw.npos && raw.find('\0') == raw.npos; }

// Two calls of memchr per stretch. find_first_of() would call it for each byte, and a stretch without a bound would
// look through the whole text again for each line that ends with the other character.
std::size_t find_line_end(std::string_view text) {
  constexpr std::size_t stretch = 512;
  for (std::size_t at = 0; at < text.size(); at += stretch) {
    const std::string_view piece = text.substr(at, stretch);
    const std::size_t newline = std::min(piece.find('\n'), piece.size());
    if (const std::size_t end = std::min(piece.substr(0, newline).find('\r'), newline); end < piece.size())
      return at + end;
  }
  return text.size();
}

namespace {

/// The seconds from 1970 to midnight of a date; nullopt for an invalid date. It caches the last date, because most
/// lines are from the same day.
std::optional<double> seconds_of_date(int year, int month, int day) {
  thread_local std::array<int, 3> last{-1, -1, -1};
  thread_local double seconds = 0;
  if (last == std::array{year, month, day}) return seconds;
  const std::chrono::year_month_day date{std::chrono::year{year}, std::chrono::month{static_cast<unsigned>(month)},
                                         std::chrono::day{static_cast<unsigned>(day)}};
  if (month < 0 || day < 0 || !date.ok()) return std::nullopt;
  last = {year, month, day};
  seconds = static_cast<double>(std::chrono::sys_days{date}.time_since_epoch().count()) * 86400;
  return seconds;
}

/// A date whose year comes last: "02-21-2026", "21/02/2026", "21.02.2026", "21-Feb-2026", "21 Feb 2026".
struct YearLastDate {
  int month = 0, day = 0, year = 0;
  std::size_t length = 0;
};

/// Any digits may be in the form; nullopt if the text has another one. A month comes first if either number can be a
/// month, but between points the day does.
std::optional<YearLastDate> find_year_last_date(std::string_view s) {
  constexpr std::size_t numbers = 10, named = 11;  // bytes
  if (s.size() <= numbers || fixed_number(s, 0, 2) < 0) return std::nullopt;
  YearLastDate date{fixed_number(s, 0, 2), fixed_number(s, 3, 2), fixed_number(s, 6, 4), numbers};
  if ((s[2] == '-' || s[2] == '/' || s[2] == '.') && s[5] == s[2] && date.day >= 0 && date.year >= 0) {
    if (date.month > 12 || s[2] == '.') std::swap(date.month, date.day);
    return date;
  }
  if ((s[2] != '-' && s[2] != '/' && s[2] != ' ') || s[6] != s[2]) return std::nullopt;
  const auto month = std::find(month_names.begin(), month_names.end(), s.substr(3, 3));
  date = {static_cast<int>(month - month_names.begin()) + 1, fixed_number(s, 0, 2), fixed_number(s, 7, 4), named};
  return month != month_names.end() && date.year >= 0 ? std::optional(date) : std::nullopt;
}

/// The end of what separates a date from its clock: " ", "T", " @ ".
std::size_t end_of_gap(std::string_view s, std::size_t at) {
  return at + (s.substr(at).starts_with(" @ ") ? std::size_t{3} : std::size_t{1});
}

/// Reads such a date: the seconds from 1970 to midnight of that day, and the offset of the clock.
std::optional<std::pair<double, std::size_t>> read_year_last_date(std::string_view s) {
  const auto date = find_year_last_date(s);
  if (!date || date->year < 1970 || s.size() <= date->length) return std::nullopt;
  const char gap = s[date->length];
  if (gap != ' ' && gap != 'T' && gap != '_' && gap != ':') return std::nullopt;
  const auto seconds = seconds_of_date(date->year, date->month, date->day);
  return seconds ? std::optional(std::pair(*seconds, end_of_gap(s, date->length))) : std::nullopt;
}

/// A time as programs of Windows and browsers write it: "3/7/2025, 1:05:00 PM". Without a comma, a half of the day or
/// a number of one digit, it is one of the forms above.
struct WrittenTime {
  int month = 0, day = 0, year = 0, hour = 0, minute = 0, second = 0;
  bool half = false, afternoon = false;
  std::size_t length = 0;
};

/// Any digits may be in the form; nullopt if the text has another one.
std::optional<WrittenTime> find_written_time(std::string_view s) {
  WrittenTime time;
  std::size_t at = 0;
  bool written = false;
  const auto number = [&](std::size_t most, int& out) {
    std::size_t digits = 0;
    for (out = 0; digits < most && at < s.size() && is_digit(s[at]); ++digits, ++at) out = out * 10 + (s[at] - '0');
    written |= digits == 1;
    return digits > 0 && (most < 4 || digits == most);
  };
  const auto mark = [&](char c) { return at < s.size() && s[at] == c ? ++at, true : false; };
  if (!number(2, time.month) || !mark('/') || !number(2, time.day) || !mark('/') || !number(4, time.year))
    return std::nullopt;
  written |= mark(',');
  if (!mark(' ') || !number(2, time.hour) || !mark(':') || !number(2, time.minute) || !mark(':') ||
      !number(2, time.second))
    return std::nullopt;
  for (const std::string_view gap : {" ", "\u202F"}) {  // the narrow blank of Unicode's locales
    const std::string_view rest = s.substr(std::min(at + gap.size(), s.size()), 2);
    if (!s.substr(at).starts_with(gap) || (rest != "AM" && rest != "PM")) continue;
    time.half = written = true;
    time.afternoon = rest == "PM";
    at += gap.size() + 2;
    break;
  }
  time.length = at;
  return written ? std::optional(time) : std::nullopt;
}

/// Looks at two bytes, because most times have another form.
bool may_be_written(std::string_view s) { return s.size() > 2 && (s[1] == '/' || s[2] == '/'); }

std::optional<TimeStamp> read_written_time(const WrittenTime& time) {
  const bool day_first = time.month > 12;
  const auto day = seconds_of_date(time.year, day_first ? time.day : time.month, day_first ? time.month : time.day);
  const int most = time.half ? 12 : 23;
  if (!day || time.year < 1970 || time.hour > most || time.minute > 59 || time.second > 60) return std::nullopt;
  const int hour = (time.half ? time.hour % 12 : time.hour) + (time.afternoon ? 12 : 0);
  return TimeStamp{*day + hour * 3600 + time.minute * 60 + time.second, time.length, true};
}

/// "1764998847.728 ", as Python's time.time() prints the seconds since 1970: with a fraction, unlike a mere number.
std::optional<TimeStamp> find_epoch_seconds(std::string_view s) {
  constexpr std::size_t whole = 10, most_decimals = 9;
  if (s.size() <= whole + 1 || s[whole] != '.' || !only_digits(s.substr(0, whole))) return std::nullopt;
  TimeStamp out{0, whole + 1, true};
  for (std::size_t i = 0; i < whole; ++i) out.seconds = out.seconds * 10 + (s[i] - '0');
  double scale = 0.1;
  for (; out.length < s.size() && is_digit(s[out.length]); ++out.length, scale /= 10)
    out.seconds += (s[out.length] - '0') * scale;
  const std::size_t decimals = out.length - whole - 1;
  if (decimals == 0 || decimals > most_decimals || out.length == s.size()) return std::nullopt;
  return s[out.length] == ' ' || s[out.length] == ':' || s[out.length] == ']' ? std::optional(out) : std::nullopt;
}

}  // namespace

std::optional<TimeStamp> read_time(std::string_view s) {
  if (s.starts_with('1'))  // until 2033
    if (const auto epoch = find_epoch_seconds(s)) return epoch;
  if (may_be_written(s))
    if (const auto written = find_written_time(s)) return read_written_time(*written);
  TimeStamp out;
  std::size_t at = 0;
  double day = 0;
  const int year = fixed_number(s, 0, 4);
  if (year >= 1970 && s.size() > 10 && (s[4] == '-' || s[4] == '/') && s[7] == s[4]) {
    const auto since_epoch = seconds_of_date(year, fixed_number(s, 5, 2), fixed_number(s, 8, 2));
    if (!since_epoch) return std::nullopt;
    day = *since_epoch;
    if (s[10] != ' ' && s[10] != 'T' && s[10] != '_') return std::nullopt;
    out.has_date = true;
    at = 11;
  } else if (const auto date = read_year_last_date(s)) {
    day = date->first;
    at = date->second;
    out.has_date = true;
  }
  const int hour = fixed_number(s, at, 2), minute = fixed_number(s, at + 3, 2), second = fixed_number(s, at + 6, 2);
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60) return std::nullopt;
  if (s[at + 2] != ':' || s[at + 5] != ':') return std::nullopt;
  out.seconds = day + hour * 3600 + minute * 60 + second;
  at += 8;
  if (at + 1 < s.size() && (s[at] == '.' || s[at] == ',') && is_digit(s[at + 1])) {
    double scale = 0.1;
    for (++at; at < s.size() && is_digit(s[at]); ++at, scale /= 10) out.seconds += (s[at] - '0') * scale;
  }
  if (at < s.size() && s[at] == 'Z') ++at;
  out.length = at;
  return out;
}

std::optional<TimeStamp> read_yearless_time(std::string_view s) {
  constexpr std::size_t date = 7;  // bytes
  if (s.size() < date || !is_upper(s[0]) || s[3] != ' ' || !is_digit(s[5]) || s[6] != ' ') return std::nullopt;
  auto time = read_time(s.substr(date));
  if (!time || time->has_date) return std::nullopt;
  time->length += date;
  return time;
}

bool looks_like_clock(std::string_view s) {
  return fixed_number(s, 0, 2) >= 0 && s.substr(2, 1) == ":" && fixed_number(s, 3, 2) >= 0 && s.substr(5, 1) == ":" &&
         fixed_number(s, 6, 2) >= 0;
}

bool looks_like_time(std::string_view s) {
  if ((may_be_written(s) && find_written_time(s)) || find_epoch_seconds(s)) return true;
  if (const auto date = find_year_last_date(s)) s.remove_prefix(std::min(s.size(), end_of_gap(s, date->length)));
  if (fixed_number(s, 0, 4) >= 0) s.remove_prefix(std::min<std::size_t>(s.size(), 11));
  return looks_like_clock(s);
}

/// True for a progress bar before a tag. The bar belongs to another process, and the tag to the following message.
bool holds_bar(std::string_view s) { return s.find("it/s") != s.npos || s.find("s/it") != s.npos; }

/// Finds a launcher's tag after the prefix of a collector or an unknown logger: "… stdout F [rank3]: ",
/// "[11/02/2025-08:12:40] [TRT-LLM] [RANK 1] [E] ".
bool find_rank(std::string_view s, std::size_t& at, LinePrefix& prefix) {
  struct Tag {
    std::string_view open, close;
    std::size_t taken;  ///< of `close`
  };
  static constexpr std::array<Tag, 2> tags{{{"[rank", "]:", 2}, {"[RANK ", "] [", 1}}};
  if (prefix.rank) return false;
  for (const Tag& tag : tags) {
    const std::size_t found = s.substr(0, line_front).find(tag.open, at);
    if (found == s.npos || holds_bar(s.substr(at, found - at))) continue;
    std::size_t i = found + tag.open.size();
    const auto rank = read_int<int>(s, i, prefix);
    if (!rank || !starts(s, i, tag.close)) continue;
    prefix.again |= prefix.rank.has_value();
    prefix.rank = rank;
    prefix.rank_at = found + tag.open.size();
    at = i + tag.taken;
    return true;
  }
  return false;
}

// Tags come in any order, so try all kinds in rounds until none matches.
LinePrefix peel_prefix(std::string_view line) {
  LinePrefix prefix;
  std::size_t at = 0;
  bool timed = false;
  for (int round = 0; round < 8; ++round) {
    const std::size_t before = at;
    if (peel_rank(line, at, prefix) || peel_actor(line, at, prefix) || peel_container(line, at, prefix)) {
    } else if (peel_time(line, at, prefix)) {
      timed = true;
    } else if (!peel_logger(line, at, prefix, timed)) {
      break;
    }
    if (at < line.size() && line[at] == ' ' && at > before)
      ++at;  // one blank; more blanks are the indentation of the message
  }
  if (find_rank(line, at, prefix) && at < line.size() && line[at] == ' ') ++at;
  constexpr std::size_t longest_opening = 16;  // of a tag that could begin there
  prefix.length = at;
  prefix.bytes_examined = std::max(prefix.bytes_examined, at + longest_opening);
  return prefix;
}

// With two tags of one kind the positions are not enough, so the line is parsed again.
std::optional<LinePrefix> read_prefix(const LinePrefix& form, std::string_view line) {
  if (form.again) {
    const LinePrefix own = peel_prefix(line);
    return own.strange || !own.has_same_layout(form) ? std::nullopt : std::optional(own);
  }
  LinePrefix prefix = form;
  if (form.time) {
    const auto stamp = read_time(line.substr(form.time_at));
    if (!stamp || stamp->length != form.time_length) return std::nullopt;
    prefix.time = stamp->seconds;
  }
  if (form.rank) {
    std::size_t at = form.rank_at;
    prefix.rank = read_int<int>(line, at, prefix);
    if (!prefix.rank) return std::nullopt;
  }
  if (form.pid) {
    std::size_t at = form.pid_at;
    prefix.pid = read_int<i64>(line, at, prefix);
    if (!prefix.pid) return std::nullopt;
  }
  return prefix;
}

std::string_view skip_location(std::string_view body) {
  constexpr std::size_t longest = 120;
  const std::size_t end = body.substr(0, longest).find("] "), place = body.find(".py:");
  return end != body.npos && place < end && is_digit(body[end - 1]) ? body.substr(end + 2) : body;
}

}  // namespace oomdoctor
