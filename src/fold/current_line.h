// The line whose events a parser reports: its place, its text, and who printed it.
#pragma once

#include <algorithm>
#include <compare>
#include <optional>

#include "model/evidence.h"
#include "read/line_ref.h"
#include "read/window.h"

namespace oomdoctor {

/// Who printed a line: a rank, a process, or an untagged source.
struct StreamId {
  enum class StreamKind { untagged, rank, process } kind = StreamKind::untagged;
  i64 number = 0;
  auto operator<=>(const StreamId&) const = default;
};

/// The latest line of its kind. settle() copies it into evidence before its block is freed.
struct LatestLine {
  const LineRef* line = nullptr;
  std::optional<Evidence> evidence;

  void settle() {
    if (line != nullptr) evidence = line->evidence();
    line = nullptr;
  }
};

class CurrentLine {
 public:
  /// Keeps pointers to both arguments, which must live until the next call.
  void begin(const Cursor& cursor, const LineRef& line);
  /// Adds what the parser knows about the origin of the following events.
  void at(const Origin& origin);
  /// 0: not even this line was understood.
  void claim_through(i64 line) { claimed_through_ = line; }
  void cite(const Line& line);

  const Cursor& cursor() const { return *cursor_; }
  const LineRef& ref() const { return *line_; }
  i64 number() const { return line_->first_line; }
  const Origin& origin() const { return origin_; }
  StreamId stream() const;
  /// The stream that the tag of the line names: a program may print the failure of another process, its worker.
  StreamId printer() const;
  /// Made at the first call.
  const Evidence& evidence() const;
  /// The line that the parser cites; else evidence().
  const Evidence& cited() const { return cited_ ? *cited_ : evidence(); }
  /// The last line that the parser claimed, counted from 1.
  i64 claimed_through() const { return claimed_through_; }
  /// The last line of the event.
  i64 last() const { return std::max(number(), claimed_through_); }

 private:
  const Cursor* cursor_ = nullptr;
  const LineRef* line_ = nullptr;
  mutable std::optional<Evidence> evidence_;
  std::optional<Evidence> cited_;
  Origin origin_;
  i64 claimed_through_ = 0;
};

}  // namespace oomdoctor
