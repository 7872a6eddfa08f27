// The plug of a format. One file parsers/foo.cc defines `const Parser oomdoctor::parsers::foo`; the build finds it by
// its name and makes the table. A parser is data: patterns for messages and settings, gauges for step lines, tables for
// CSV-like exports. Gauges and settings come from parsers/foo.toml.
//
// Each pattern stands behind an anchor, a literal of at least four bytes that must occur in the text, so that quiet
// lines cost next to nothing. The example is part of the pattern: the compiler checks that it holds the anchor, laws
// check the rest.
#pragma once

#include <any>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/event.h"
#include "parse/window.h"
#include "text/pattern.h"

namespace oomdoctor {

/// Where a parser puts what it read. Place, rank, step and time of the line are filled in by the scanner; `origin`
/// overrides.
class EventSink {
 public:
  virtual ~EventSink() = default;
  /// The next things said belong to this rank or device (until the end of this emit).
  virtual void at(const Origin& where) = 0;
  virtual void oom(Oom oom) = 0;
  /// `step`: the step that the line itself names; otherwise the stream's current step counts.
  virtual void reading(const Reading& reading, std::optional<double> step = {}, std::optional<double> time = {}) = 0;
  virtual void step(const Step& step) = 0;
  virtual void setting(std::string_view name, std::string_view value) = 0;
  virtual void exit(const Exit& exit) = 0;
  /// An id of model/remark_ids.h.
  virtual void remark(std::string_view id, std::optional<double> number = {}) = 0;
  /// Lines up to this one belong to what was read, too.
  virtual void claim_through(i64 line) = 0;
};

/// What a pattern is tried on.
enum class Reach {
  line,     ///< the cleaned line
  message,  ///< the line and its neighbours joined without any blank: survives wrapping at any column
};

struct FreeformLine;

/// One match of a pattern.
struct Match {
  std::string_view text;     ///< the cleaned line, or the joined text
  const Captures& captures;  ///< into `text`
  const Cursor& cursor;
  const FreeformLine* printed = nullptr;  ///< of a pattern with `accepts_parsed`

  std::string_view operator[](std::size_t i) const { return captures.group[i]; }
  bool has(std::size_t i) const { return captures.has(i); }
  std::string_view before() const { return text.substr(0, captures.begin); }
  std::string_view after() const { return text.substr(captures.end); }
};

struct SettingFormat;

struct Pattern {
  std::string_view name;    ///< "torch_oom/request"
  std::string_view anchor;  ///< literal; holds no blank where `reach` is message
  std::string_view second_anchor =
      {};  ///< another place of the same message, for when a wrap cuts the first; may be empty
  std::span<const std::string_view> more_anchors = {};  ///< further places; of patterns without a regex
  std::string_view regex = {};  ///< blank-free where `reach` is message; empty: the anchor is enough
  std::size_t captures = 0;     ///< groups that emit reads
  Reach reach = Reach::line;
  std::string_view example;
  void (*emit)(const Match&, EventSink&) = nullptr;
  bool fallback = false;                             ///< tried only where no other pattern took the line
  bool fold_case = false;                            ///< the anchor is meant in any letter case
  bool (*accepts)(std::string_view line) = nullptr;  ///< a further test, for what a regex cannot say; `reach` line only
  bool (*accepts_parsed)(const FreeformLine&) =
      nullptr;  ///< a further test of the line as people print it, which emit gets, too
  /// A cheap test of the bytes around the anchor at `at` of a block, made before anything else is done with the line:
  /// false only where the pattern cannot take the line because of this place. Not asked where colours or holes are
  /// near.
  bool (*quick_reject)(std::string_view block, std::size_t at) = nullptr;
  /// How many bytes of a match may stand in front of the anchor that it begins with: its regex need not look further
  /// left. Else the whole line is searched.
  std::optional<std::size_t> before_anchor = {};
  bool digits_are_numbers = false;  ///< `accepts` takes all digits alike
  bool non_exclusive = false;  ///< says something beside what the line is about: fallbacks are tried on it all the same
  std::string_view source = {};            ///< where this form is printed, when not where the parser says
  const SettingFormat* setting = nullptr;  ///< what the line sets, in place of `emit`
};

/// A step line: numbers between constant texts. `form` is the line with its numbers in braces:
///   "(after {step} iterations) memory (MB) | allocated: {allocated} | max allocated: {max_allocated}"
/// A blank stands for any run of blanks (none, too), `~` for any text up to what follows, <…> for a part that may be
/// absent. {step}, {epoch}, {epoch0}, {total}, {rank}, {device} and {skip} are not memory; every other name is a
/// Metric. With {total} and {epoch} (counted from 1; {epoch0}: from 0) on the line, {step} counts inside the epoch and
/// is made to go on over epochs. A user's format may have a regex instead, whose named groups are the numbers:
///   "it=(?<step>\d{1,9}) .{0,80}resident=(?<allocated>[\d.]{1,12})"
struct LineFormat {
  std::string_view name;
  std::string_view anchor;
  std::string_view form;
  double unit = 1;                                  ///< bytes of one
  std::string_view unit_name;                       ///< "MiB"
  SeriesKind maxima = SeriesKind::running_maximum;  ///< what this tool's max_… values are
  SeriesKind current = SeriesKind::gauge;           ///< what the others are
  std::string_view example;
  std::string_view label = {};   ///< what keeps this series apart from others of its metric; may be empty
  std::string_view source = {};  ///< where this form is printed, when not where the parser says
  std::string_view regex = {};   ///< in place of `form`
};

/// Columns of a CSV-like export, known from its header or inferred.
struct Layout {
  std::vector<std::string> columns;
  std::vector<int> roles;  ///< the table's own numbering
  std::string note;        ///< what was inferred, for the report; "" when a header said it
  std::string kind;        ///< kind of input: "smi_csv"
  bool operator==(const Layout&) const = default;
};

/// Rows of a table. Each is read from its line alone, on any thread; what it means behind the rows before it shows when
/// it is told.
class Rows {
 public:
  virtual ~Rows() = default;
  /// Reads the next row; false when the line is none.
  virtual bool read(std::string_view line) = 0;
  /// Tells the row that was read as number `i`, from 0; the rows before it were told. `memory`: what they left there,
  /// nothing when the table was opened.
  virtual void emit(std::size_t i, std::any& memory, EventSink& sink) = 0;
};

struct Table {
  std::string_view name;
  std::string_view anchor;  ///< in the header line
  std::string_view example_header, example_row;
  /// True when `line` is a header of this table.
  bool (*header)(std::string_view line, Layout& layout);
  /// True when the first lines of an input are rows without a header. May be null.
  bool (*sniff)(std::span<const std::string> first_lines, Layout& layout);
  /// Where rows of this layout are read, which outlives them.
  std::unique_ptr<Rows> (*rows)(const Layout& layout);
  std::string_view source = {};  ///< where this form is printed, when not where the parser says
};

struct Parser {
  std::string_view name;         ///< the file's name
  std::string_view title;        ///< what a person calls the format
  std::string_view source = {};  ///< what prints it: "torch: c10/cuda/CUDACachingAllocator.cpp", "real logs"
  std::span<const Pattern> patterns;
  std::span<const LineFormat> gauges = {};
  std::span<const Table> tables = {};
  bool declared = false;  ///< by the user: what it says about a line's memory counts, and nothing else does
};

/// Every parser of the parsers/ folder, sorted by name; generated by the build.
std::span<const Parser* const> all_parsers();

/// For `list formats` and `explain`.
struct FormatInfo {
  std::string name;
  std::string parser, title;  ///< its family
  std::string kind;           ///< "message", "table", or what kind of series its values are: "running maximum", "step"
  std::string unit;  ///< what one of its numbers means: "MB printed, 2^20 meant"; "" where each message says it
  std::string example;
  std::string source;  ///< where it is printed
};
std::vector<FormatInfo> list_formats(std::span<const Parser* const> parsers);

/// Checked by the compiler: the example holds the anchor, parentheses balance, groups = captures read.
consteval bool balanced(std::string_view regex) {
  int depth = 0;
  bool in_class = false;
  for (std::size_t i = 0; i < regex.size(); ++i) {
    if (regex[i] == '\\') {
      ++i;
      continue;
    }
    if (in_class) {
      in_class = regex[i] != ']';
      continue;
    }
    if (regex[i] == '[') {
      in_class = true;
      if (i + 1 < regex.size() && regex[i + 1] == '^') ++i;
      if (i + 1 < regex.size() && regex[i + 1] == ']') ++i;
    } else if (regex[i] == '(')
      ++depth;
    else if (regex[i] == ')' && --depth < 0)
      return false;
  }
  return depth == 0 && !in_class;
}
consteval std::size_t groups(std::string_view regex) {
  std::size_t n = 0;
  bool in_class = false;
  for (std::size_t i = 0; i < regex.size(); ++i) {
    if (regex[i] == '\\') {
      ++i;
      continue;
    }
    if (in_class) {
      in_class = regex[i] != ']';
      continue;
    }
    if (regex[i] == '[') {
      in_class = true;
      if (i + 1 < regex.size() && regex[i + 1] == '^') ++i;
      if (i + 1 < regex.size() && regex[i + 1] == ']') ++i;
    } else if (regex[i] == '(' && (i + 1 >= regex.size() || regex[i + 1] != '?'))
      ++n;
  }
  return n;
}
consteval bool holds(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }
consteval std::string_view::size_type blanks_in(std::string_view s) { return s.find(' '); }

/// Wraps a pattern so that a broken one does not compile.
consteval Pattern checked(Pattern p) {
  if (p.anchor.size() < 4) throw "an anchor has at least four bytes";
  if (!p.fold_case && !holds(p.example, p.anchor)) throw "the example does not hold the anchor";
  if (!balanced(p.regex)) throw "parentheses or brackets of the regex do not balance";
  if (groups(p.regex) != p.captures) throw "the regex has other groups than emit reads";
  if (p.reach == Reach::message && blanks_in(p.regex) != std::string_view::npos) throw "a message regex holds no blank";
  if (p.emit == nullptr) throw "a pattern without emit says nothing";
  return p;
}

}  // namespace oomdoctor
