// Map: what the lines of a block hold, found by anchors, then by the patterns and gauges behind them; rows of the table
// that is open need no anchor. A pure function of the block and of the table that is open where it begins, so that
// blocks may be mapped in any order and on any thread.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "parse/gauge.h"
#include "parse/line_memo.h"
#include "parse/mention.h"
#include "parse/parser.h"
#include "text/prefilter.h"

namespace oomdoctor {

/// A pattern or gauge with what its anchors stand for.
struct Reader {
  const Parser* parser = nullptr;
  const Pattern* pattern = nullptr;
  std::unique_ptr<GaugeForm> form;
  bool fallback = false;
  bool message = false;     ///< looks at several lines
  bool tells_step = false;  ///< how far the run is, and nothing else
  /// What the digits of a line are to it.
  enum class Digits {
    text,     ///< others make something else of the line
    columns,  ///< nothing but numbers, but how many there are may tell where something stands
    numbers,  ///< nothing but numbers
  };
  Digits digits = Digits::text;
  std::string_view name;
  std::size_t order = 0;  ///< parsers by name, their patterns as listed

  /// The pattern's regex, compiled when its anchor is met first: a log meets few of them, and compiling all takes
  /// longer than reading a short one.
  const Regex& regex() const {
    std::call_once(compiled_, [this] { regex_.emplace(pattern->regex); });
    return *regex_;
  }

 private:
  mutable std::once_flag compiled_;
  mutable std::optional<Regex> regex_;
};

struct InOrder {
  bool operator()(const Reader* a, const Reader* b) const { return a->order < b->order; }
};

/// Lines of one stream with nothing else between them that say how far the run is: told as one, because half of the
/// lines of a log do nothing else.
struct StepRun {
  i64 lines = 1;     ///< each redraw of a bar is one
  i64 more = 0;      ///< lines of the file behind that of the first
  i64 changes = 0;   ///< lines behind the first that name another step than the one before
  i64 advances = 0;  ///< of these, with a higher one
  i64 step = 0;      ///< of the last line
  std::optional<double> epoch;
  Mention last, advanced;  ///< the last line, and the last behind the first that names a higher step
};

/// A table whose header was met, or whose rows showed themselves: the lines behind may be its rows.
struct OpenTable {
  const Table* table = nullptr;
  Layout layout;
  bool operator==(const OpenTable&) const = default;
};

/// The line of a row, in which nothing is peeled off.
struct RowPlace {
  std::size_t begin = 0, end = 0;
  i64 number = 0, last = 0;
  std::string_view text;
};

/// Rows of one table with nothing else between them: told as one finding.
struct RowRun {
  const Table* table = nullptr;
  Rows* rows = nullptr;                          ///< that holds them
  std::size_t first = 0;                         ///< in `rows`
  std::size_t places_begin = 0, places_end = 0;  ///< in Findings::places
};

/// What one line holds for one reader, the header of a table, or rows.
struct Found : Mention {
  const Reader* by = nullptr;
  std::string_view text = {};                    ///< what the reader was tried on: the line, or the joined message
  const Parts* parts = nullptr;                  ///< of a regex, in `text`
  Printed* printed = nullptr;                    ///< of a pattern that reads one: see Findings::printed_of()
  std::size_t values_begin = 0, values_end = 0;  ///< in Findings::values
  bool again = false;                            ///< the reader took something of this line before
  bool given_up = false;                         ///< a user's regex is too costly on this line: nothing was taken
  StepRun* steps = nullptr;                      ///< of which this is the first line
  const std::shared_ptr<const OpenTable>* header = nullptr;  ///< the line opens this table
  const RowRun* rows = nullptr;                              ///< which begin with this line
};

/// What a block holds, in the order of the lines that led to it. Owns what `all` points to, but for what lines of a
/// known shape have in common: that is the memo's.
struct Findings {
  std::vector<Found> all;
  std::vector<GaugeValue> values;
  std::deque<Parts> parts;
  std::deque<Printed> printed;
  std::deque<std::string> messages;
  std::deque<StepRun> runs;
  std::shared_ptr<const OpenTable> open;  ///< the table that was taken to be open where the block begins
  std::deque<std::shared_ptr<const OpenTable>> headers;
  std::vector<std::unique_ptr<Rows>> rows;
  std::deque<RowRun> row_runs;
  std::vector<RowPlace> places;  ///< of the rows

  void clear();
  std::span<const GaugeValue> values_of(const Found& found) const {
    return std::span(values).subspan(found.values_begin, found.values_end - found.values_begin);
  }
  /// With the numbers of its own line, until the next one of its shape is asked for.
  const Printed& printed_of(const Found& found) const;
};

/// Of a regex, into Found::text; empty where there is none.
Captures captures_of(const Found& found);

/// Tells a message from others that one reader found at the same line.
std::size_t hash_of_message(const Found& found);

/// All patterns, gauges and tables of a set of parsers, with the anchors that lead to them. Made once, then const.
class ReaderTable {
 public:
  explicit ReaderTable(std::span<const Parser* const> parsers, PrefilterPlan plan = {});

  /// Finds what the lines that begin in [begin, end) hold where `open` is the table that is open at `begin`, or null.
  /// Lines are counted from 1. What it finds does not depend on what the memo knows. Returns how many lines end there.
  i64 map(const Window& window, std::size_t begin, std::size_t end, std::shared_ptr<const OpenTable> open,
          LineMemo& memo, Findings& out) const;
  /// The table whose rows the first lines of an input are, without a header; null when there is none.
  std::shared_ptr<const OpenTable> sniff(const Window& window) const;

 private:
  struct Target {
    const Reader* reader;
    const Table* table;
    bool (*near)(std::string_view block, std::size_t at);
  };
  /// What readers look at beside the text of a line: made once, when the first asks.
  struct Views {
    std::optional<Printed> printed;
    std::optional<Joined> joined;
  };

  /// False where the bytes behind the anchor show that the target will not take the line.
  static bool is_near(const Window& window, const AnchorHit& hit, const Target& target);
  /// What these anchors of one line lead to, in order; false where they lead nowhere.
  bool find_wanted(const Window& window, std::span<const AnchorHit> hits, std::vector<const Reader*>& wanted) const;
  /// Whether the line is the header of a table: then the last finding, and the last of the headers.
  bool find_header(const Window& window, Line& line, std::span<const AnchorHit> hits, Findings& out) const;
  static bool try_reader(const Reader& reader, const Window& window, const Line& line, Views& views, Findings& out);
  static bool try_gauge(const Reader& reader, const Line& line, Findings& out);
  static bool try_message(const Reader& reader, const Window& window, const Line& line, Views& views, Findings& out);
  static Lengths lengths_of(const Line& line, std::span<const Reader* const> wanted, const Views& views,
                            const DigitRuns* runs);
  static void read_line(const Window& window, const Line& line, std::span<const Reader* const> wanted, LineMemo* memo,
                        Findings& out);

  std::vector<std::unique_ptr<Reader>> readers_;
  std::vector<const Table*> tables_;
  std::vector<std::vector<Target>> behind_;  ///< anchor → what it leads to
  std::vector<char> plain_;                  ///< by anchor: it holds no digit
  std::unique_ptr<Prefilter> prefilter_;
};

}  // namespace oomdoctor
