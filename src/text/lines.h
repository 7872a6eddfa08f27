// Lines as people see them: without terminal codes, and with the tags of launchers and loggers separated from the
// message. Lines end at '\n' or '\r'; "\r\n" is one end.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace oomdoctor {

/// Removes ANSI escapes, trailing line ends and runs of NUL (holes that two writers leave). A single NUL stays: PyTorch
/// 2.2 prints one for device 0. The result is never longer than the input.
std::string clean_line(std::string_view raw);
/// True if clean_line() would change nothing, which is the case for nearly all lines. `raw` has no line end.
bool is_clean(std::string_view raw);
/// The position of the first byte that ends a line; the size of the text if there is none.
std::size_t find_line_end(std::string_view text);

/// The tags before the message.
struct LinePrefix {            ///< length in bytes of the cleaned line
  std::size_t length = 0;      ///< bytes of the cleaned line
  std::optional<int> rank;     ///< "[rank3]:", "default3:", "3: " (srun -l), "[1,3]<stderr>:"
  std::optional<i64> pid;      ///< "(RayTrainWorker pid=77)"
  std::optional<double> time;  ///< seconds since 1970, or since midnight if no date is printed
  std::size_t rank_at = 0, pid_at = 0, time_at = 0, time_length = 0;  ///< positions in the line
  bool strange = false;            ///< something has the form of a time or a number, but is invalid: 31:00:00
  bool again = false;              ///< two tags contain a rank, a pid or a time; these fields have the last one
  std::size_t bytes_examined = 0;  ///< the bytes after these have no influence on the result

  /// True if both have the same tags at the same positions, with any values.
  bool has_same_layout(const LinePrefix& other) const {
    return length == other.length && rank.has_value() == other.rank.has_value() && rank_at == other.rank_at &&
           pid.has_value() == other.pid.has_value() && pid_at == other.pid_at &&
           time.has_value() == other.time.has_value() && time_at == other.time_at && time_length == other.time_length;
  }
};

/// Separates the tags from the message. Never fails: without tags, the length is 0.
LinePrefix peel_prefix(std::string_view line);

/// "ERROR 09-05 05:00:27 engine.py:63] AssertionError": returns the part after the source location that a logger
/// prints; all of it if there is none.
std::string_view skip_location(std::string_view body);
/// Reads the tags of a line that differs from the line of `form` only in its digits. nullopt if these digits change the
/// form, for example with an hour of 31.
std::optional<LinePrefix> read_prefix(const LinePrefix& form, std::string_view line);

/// A time stamp at the front of a text: "2024-05-28 07:02:44.349", "2024/05/28 …", "…T…Z", "28.05.2024 …", "07:02:44".
/// `seconds` assumes UTC if no zone is printed. `length` is the number of bytes read.
struct TimeStamp {
  double seconds = 0;
  std::size_t length = 0;
  bool has_date = false;
};
/// Of logs: in English, whatever the language of the system.
inline constexpr std::array<std::string_view, 12> month_names{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                              "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
/// nullopt if the text does not begin with a valid time.
std::optional<TimeStamp> read_time(std::string_view text);
/// "Mar  4 05:06:07", as syslog and ts(1) print a time: in seconds since midnight, because the year is missing.
std::optional<TimeStamp> read_yearless_time(std::string_view text);
/// True if the text begins with the form of a clock ("03:18:52") or of a time, with any digits.
bool looks_like_clock(std::string_view text);
bool looks_like_time(std::string_view text);

}  // namespace oomdoctor
