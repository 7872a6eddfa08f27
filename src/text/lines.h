// Lines as people mean them: without terminal codes, and with the tags that launchers and loggers put in front told
// apart from what was said. Lines end at '\n' or '\r'; "\r\n" is one end.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace oomdoctor {

/// The line without ANSI escapes, trailing line ends and runs of NUL (holes of two writers). A single NUL stays:
/// PyTorch 2.2 prints one for device 0. Never longer than the input.
std::string clean_line(std::string_view raw);
/// True where clean_line() would change nothing of a line without its end, as with nearly all lines.
bool is_clean(std::string_view raw);

/// What stands in front of the message itself.
struct LinePrefix {
  std::size_t length = 0;      ///< bytes of the cleaned line
  std::optional<int> rank;     ///< "[rank3]:", "default3:", "3: " (srun -l), "[1,3]<stderr>:"
  std::optional<i64> pid;      ///< "(RayTrainWorker pid=77)"
  std::optional<double> time;  ///< seconds since 1970, or since midnight where no date is printed
  std::size_t rank_at = 0, pid_at = 0, time_at = 0, time_length = 0;  ///< where they are printed
  bool strange = false;            ///< there is something of the form of a time or a number that is none: 31:00:00
  bool again = false;              ///< two tags tell a rank, a pid or a time: what is kept here is of the last
  std::size_t bytes_examined = 0;  ///< bytes; whatever stands behind them changes nothing

  /// The same tags at the same places, whatever they say.
  bool has_places_of(const LinePrefix& other) const {
    return length == other.length && rank.has_value() == other.rank.has_value() && rank_at == other.rank_at &&
           pid.has_value() == other.pid.has_value() && pid_at == other.pid_at &&
           time.has_value() == other.time.has_value() && time_at == other.time_at && time_length == other.time_length;
  }
};

LinePrefix peel_prefix(std::string_view line);

/// "ERROR 09-05 05:00:27 engine.py:63] AssertionError": what stands behind the place that logged it; all of it where
/// none is named.
std::string_view behind_place(std::string_view body);
/// The same for a line that differs from the one that `form` was peeled off in its digits only. nullopt where these
/// make something else of it, as an hour of 31 does.
std::optional<LinePrefix> read_prefix(const LinePrefix& form, std::string_view line);

/// Reads "2024-05-28 07:02:44.349", "2024/05/28 …", "…T…Z", "07:02:44" at the front. Seconds (UTC assumed where no zone
/// is printed) and the number of bytes read; nullopt when there is none.
struct TimeStamp {
  double seconds = 0;
  std::size_t length = 0;
  bool has_date = false;
};
std::optional<TimeStamp> read_time(std::string_view text);
/// True where the front has the form of such a time, whatever its digits are.
bool has_form_of_time(std::string_view text);

}  // namespace oomdoctor
