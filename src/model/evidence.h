// The position of a statement in the input. Every statement that oomdoctor makes carries one of these.
#pragma once

#include <optional>
#include <string>

#include "base/bytes.h"

namespace oomdoctor {

/// A place in an input. Of a file that is not text, an event of its trace or a byte; it has no lines.
///
/// Lines are 1-based and end at '\n' or '\r' ("\r\n" is one end). Columns are 0-based bytes of the cleaned line.
struct Span {
  int source = 0;  ///< index into ScanResult::inputs
  i64 first_line = 0;
  i64 last_line = 0;
  int column = 0;
  int end_column = 0;
  std::optional<i64> event = {};   ///< of the trace of a snapshot, from 0
  std::optional<i64> offset = {};  ///< of the unpacked file, from 0

  friend bool operator==(const Span&, const Span&) = default;
};

/// One place in the input, and its text. The text is bounded (see max_excerpt) because a ScanResult must stay small
/// however long the log is, and standard input cannot be read twice.
struct Evidence {
  static constexpr std::size_t max_excerpt = 600, max_lead = 512;

  Span span;
  std::string reader;   ///< the pattern's name, "torch_oom/request"
  std::string excerpt;  ///< the cleaned line, cut to max_excerpt bytes
  std::string lead{};   ///< the bytes cut off before the excerpt, at most max_lead; they may show that a secret follows
};

/// The sender of a line. A log of one process carries no tags, so each field may be unknown.
struct Origin {
  std::optional<int> rank = {};
  std::optional<int> device = {};
  std::optional<i64> pid = {};
  std::string host = {};

  friend bool operator==(const Origin&, const Origin&) = default;
};

/// A smaller time value has no date: it is the time of day, or the seconds since a start.
inline constexpr double first_dated_time = 1e8;
inline constexpr double end_of_dates = 32503680000;  ///< the year 3000: no log is from then
inline bool is_dated(double time) { return time >= first_dated_time && time < end_of_dates; }

/// The time that the dated lines cover, in seconds since the Unix epoch. Both ends are absent if no line has a date.
struct Period {
  std::optional<double> first, last;

  /// Ignores a time without a date.
  void add(double time) {
    if (!(time >= first_dated_time)) return;
    if (!first || time < *first) first = time;
    if (!last || time > *last) last = time;
  }
  void add(const Period& more) {
    if (!more.first || !more.last) return;
    add(*more.first);
    add(*more.last);
  }
  bool overlaps(const Period& other) const {
    return first && last && other.first && other.last && *first <= *other.last && *other.first <= *last;
  }
};

/// The time of a line. `order` is a total order (source, then line). The other fields are known if the log prints them.
struct When {
  i64 order = 0;
  std::optional<double> time;  ///< seconds since the Unix epoch, or since midnight if the log prints no date
  std::optional<i64> step;
  std::optional<double> epoch;
  i64 before = 0;           ///< steps of earlier epochs in `step`: the log prints step − before
  bool epoch_over = false;  ///< `epoch` is one whose end was printed
  bool bar_full = false;    ///< `step` is the end of the longest bar, and the log counts no epochs
  std::optional<i64> bar;  ///< what the bar that printed `step` counts to, if the bar of the training counts to another
};

}  // namespace oomdoctor
