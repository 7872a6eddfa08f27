// The interface of a format. A family of formats is parsers/foo.toml: patterns for messages and settings, formats for
// step lines, tables for CSV-like exports. parsers/foo.cc has the functions that the file names, in the namespace
// oomdoctor::parsers::foo. A program of the build checks the file and makes these structs of it; the functions are the
// only code of a format.
//
// Each pattern has an anchor, a literal of at least four bytes. oomdoctor tries the pattern only on lines that contain
// the anchor, so lines without one cost almost nothing.
#pragma once

#include <any>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/event.h"
#include "read/window.h"
#include "text/pattern.h"

namespace oomdoctor {

/// Receives the events of a parser. The scanner adds place, rank, step and time of the line; at() overrides the
/// origin.
class EventSink {
 public:
  virtual ~EventSink() = default;
  /// Sets the rank or device of the following events, until the end of this emit.
  virtual void at(const Origin& where) = 0;
  /// A report of an out-of-memory failure.
  virtual void oom(Oom oom) = 0;
  /// One value of a series; memory is in bytes. `step` is the step that the line itself prints; without it, the current
  /// step of the stream counts. `time` is in seconds since 1970, or since midnight without a date.
  virtual void reading(const Reading& reading, std::optional<double> step = {}, std::optional<double> time = {}) = 0;
  /// The step or epoch that the run has reached.
  virtual void step(const Step& step) = 0;
  /// A setting of the run, by its name in the settings.
  virtual void setting(std::string_view name, std::string_view value) = 0;
  /// The end of a process with its code or signal.
  virtual void exit(const Exit& exit) = 0;
  /// A remark; `id` is one of model/remark_ids.h.
  virtual void remark(std::string_view id, std::optional<double> number = {}) = 0;
  /// Evidence that the log reports as lost: sink.lost({.what = "9 bytes of output", .why = "No space left on device"}).
  virtual void lost(LostEvidence evidence) = 0;
  /// Marks the lines up to this one as read as well.
  virtual void claim_through(i64 line) = 0;
  /// The next settings, and the memory in use of the next report, are from this line, until the end of this emit.
  virtual void cite(const Line& line) = 0;
};

/// The text that a pattern is tried on.
enum class Reach {
  line,     ///< the cleaned line, at most Window::max_line bytes
  message,  ///< the line and its neighbours, joined without blanks: independent of a console's wrapping
};

struct FreeformLine;

/// One match of a pattern. Valid only during the call of emit.
struct Match {
  std::string_view text;     ///< the cleaned line, or the joined text
  const Captures& captures;  ///< views into `text`
  /// The current line and its neighbours.
  const Cursor& cursor;
  const FreeformLine* printed = nullptr;  ///< null unless the pattern has `accepts_parsed`

  std::string_view operator[](std::size_t i) const { return captures.group[i]; }
  bool has(std::size_t i) const { return captures.has(i); }
  std::string_view before() const { return text.substr(0, captures.begin); }
  std::string_view after() const { return text.substr(captures.end); }
};

struct SettingFormat;
struct OomTemplate;

/// The pattern of a message.
struct Pattern {
  std::string_view name;    ///< "torch_oom/request"
  std::string_view anchor;  ///< a literal; without blanks if `reach` is message
  /// Another literal of the same message, in case a wrap cuts the first; may be empty.
  std::string_view second_anchor = {};
  std::span<const std::string_view> more_anchors = {};  ///< further alternatives
  std::string_view regex = {};  ///< without blanks if `reach` is message; empty: the anchor is enough
  Reach reach = Reach::line;
  /// A line that the pattern matches, and no other pattern.
  std::string_view example;
  // Exactly one of these four reports the events of a match.
  void (*emit)(const Match&, EventSink&) = nullptr;
  const OomTemplate* oom = nullptr;        ///< the failure that the message reports
  std::string_view remark = {};            ///< the id of a remark
  const SettingFormat* setting = nullptr;  ///< the setting that the line prints
  bool fallback = false;                   ///< tried only if no other pattern matched the line
  bool fold_case = false;                  ///< the anchor matches in any letter case
  /// A further test that a regex cannot express; only if `reach` is line.
  bool (*accepts)(std::string_view line) = nullptr;
  /// A further test of the parsed free-form line; emit gets the line as Match::printed.
  bool (*accepts_parsed)(const FreeformLine&) = nullptr;
  /// A cheap test of the bytes around the anchor at offset `at` of a block, before the line is cleaned. It returns
  /// false only if this occurrence cannot lead to a match. It looks at the line of the anchor only, and all digits are
  /// alike to it: lines that differ only in their digits may share the answer. Not called if escape sequences or NULs
  /// are near.
  bool (*may_match)(std::string_view block, std::size_t at) = nullptr;
  /// Max bytes of a match before the anchor. The regex is then tried from there only, not on the whole line.
  std::optional<std::size_t> before_anchor = {};
  bool digits_are_numbers = false;  ///< `accepts` treats all digits alike
  bool non_exclusive = false;       ///< fallbacks are still tried: the match is next to the subject of the line
  std::string_view source = {};     ///< the code that prints this form, if it differs from the parser's source
};

/// A step line: numbers between constant texts. `form` is the line with its numbers in braces:
///   "(after {step} iterations) memory (MB) | allocated: {allocated} | max allocated: {max_allocated}"
/// A blank matches any run of blanks, also none. `~` matches any text up to the next piece. A part in <…> is optional.
/// {step}, {epoch}, {epoch0}, {total}, {rank}, {device} and {skip} are not memory; every other name is a Metric. If a
/// line prints {total} and {epoch} (counted from 1; {epoch0}: from 0), its {step} counts within the epoch and becomes
/// a step of the run. A user's format may have a regex instead, with the numbers as named groups:
///   "it=(?<step>\d{1,9}) .{0,80}resident=(?<allocated>[\d.]{1,12})"
struct LineFormat {
  std::string_view name;
  std::string_view anchor;
  std::string_view form = {};
  double unit = 1;                                  ///< bytes of one printed unit
  std::string_view unit_name = {};                  ///< "MiB"
  SeriesKind maxima = SeriesKind::running_maximum;  ///< kind of the max_… values
  SeriesKind current = SeriesKind::gauge;           ///< kind of the other values
  std::string_view example;
  std::string_view label = {};   ///< separates this series from others of its metric; may be empty
  std::string_view source = {};  ///< the code that prints this form, if it differs from the parser's source
  std::string_view regex = {};   ///< instead of `form`
};

/// The columns of a CSV-like export, from its header or inferred.
struct Layout {
  std::vector<std::string> columns;
  std::vector<int> roles;       ///< one for each column; the table defines the numbers
  std::string note;             ///< for the report: what was inferred; may be empty
  std::string header;           ///< the line of the names, if rows below it showed more than they say
  bool at_header = false;       ///< that line has been read
  std::string kind;             ///< kind of the input: "smi_csv"
  char separator = ',';         ///< of its cells; ' ' for runs of blanks
  bool transposed = false;      ///< the columns are times, and each row is a quantity
  bool has_header = true;       ///< false: the columns were inferred from their cells
  bool sure_of_total = true;    ///< false: the column of the total was inferred, and may be of free memory
  bool unread = false;          ///< none of the columns is memory: the note says why
  bool day_first = false;       ///< its dates are "31-12-2025", as its rows show
  std::string quantity;         ///< if each row names what its value is of: the name of the rows that are read …
  std::size_t quantity_at = 0;  ///< … in this column
  bool operator==(const Layout&) const = default;
};

/// Which lines are rows. One without values may also be the header of another table, which comes first.
enum class RowsRead { all, with_values };

/// Reads the rows of a table. read() sees one line only, on any thread. emit() runs later, in the order of the input,
/// and may depend on the rows before.
class Rows {
 public:
  virtual ~Rows() = default;
  /// Reads the next row; false if the line is not one of these rows.
  virtual bool read(std::string_view line, RowsRead wanted) = 0;
  /// Reports the events of row number `i`, counted from 0, after all rows before it. `memory` is the table's own
  /// state: empty when the table opens, then what earlier rows stored in it, also above the same header.
  virtual void emit(std::size_t i, std::any& memory, EventSink& sink) = 0;
};

class FirstLines;

/// A CSV-like export.
struct Table {
  std::string_view name;
  std::string_view anchor;  ///< a literal in the header line
  std::string_view example_header;
  std::string_view example_row = {};
  /// True if `line` is a header of this table. Fills `layout`.
  bool (*header)(std::string_view line, Layout& layout);
  /// True if the first lines of an input are rows without a header. Fills `layout`. May be null.
  bool (*sniff)(const FirstLines& first, Layout& layout) = nullptr;
  /// Makes a reader for rows of this layout. `layout` outlives it.
  std::unique_ptr<Rows> (*rows)(const Layout& layout);
  std::string_view source = {};  ///< the code that prints this form, if it differs from the parser's source
};

/// A family of formats: one TOML file in parsers/.
struct Parser {
  std::string_view name;   ///< the name of the file
  std::string_view title;  ///< the name of the format for people
  /// The code that prints it: "torch: c10/cuda/CUDACachingAllocator.cpp", or "real logs".
  std::string_view source = {};
  std::span<const Pattern> patterns = {};
  std::span<const LineFormat> gauges = {};
  std::span<const Table> tables = {};
  bool declared = false;  ///< declared by the user: overrides the shipped parsers for the memory of its lines
};

/// Every parser of the parsers/ folder, sorted by name; generated by the build.
std::span<const Parser* const> all_parsers();

}  // namespace oomdoctor
