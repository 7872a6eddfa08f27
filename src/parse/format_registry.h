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

#include "parse/line_format.h"
#include "parse/line_ref.h"
#include "parse/parser.h"
#include "parse/template_cache.h"
#include "text/prefilter.h"

namespace oomdoctor {

/// A pattern or gauge with what its anchors stand for.
struct CompiledFormat {
  const Parser* parser = nullptr;
  const Pattern* pattern = nullptr;
  std::unique_ptr<CompiledLineFormat> form;
  bool fallback = false;
  bool message = false;       ///< looks at several lines
  bool is_step_only = false;  ///< how far the run is, and nothing else
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
  bool operator()(const CompiledFormat* a, const CompiledFormat* b) const { return a->order < b->order; }
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
  LineRef last, advanced;  ///< the last line, and the last behind the first that names a higher step
};

/// A table whose header was met, or whose rows showed themselves: the lines behind may be its rows.
struct OpenTable {
  const Table* table = nullptr;
  Layout layout;
  bool operator==(const OpenTable&) const = default;
};

/// The line of a row, in which nothing is peeled off.
struct RowLocation {
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
struct LineMatch : LineRef {
  const CompiledFormat* by = nullptr;
  std::string_view text = {};                    ///< what the reader was tried on: the line, or the joined message
  const Parts* parts = nullptr;                  ///< of a regex, in `text`
  FreeformLine* printed = nullptr;               ///< of a pattern that reads one: see Findings::printed_of()
  std::size_t values_begin = 0, values_end = 0;  ///< in Findings::values
  bool again = false;                            ///< the reader took something of this line before
  bool given_up = false;                         ///< a user's regex is too costly on this line: nothing was taken
  StepRun* steps = nullptr;                      ///< of which this is the first line
  const std::shared_ptr<const OpenTable>* header = nullptr;  ///< the line opens this table
  const RowRun* rows = nullptr;                              ///< which begin with this line
};

/// What a block holds, in the order of the lines that led to it. Owns what `all` points to, but for what lines of a
/// known shape have in common: that is the memo's.
struct BlockMatches {
  std::vector<LineMatch> all;
  std::vector<GaugeValue> values;
  std::deque<Parts> parts;
  std::deque<FreeformLine> printed;
  std::deque<std::string> messages;
  std::deque<StepRun> runs;
  std::shared_ptr<const OpenTable> open;  ///< the table that was taken to be open where the block begins
  std::deque<std::shared_ptr<const OpenTable>> headers;
  std::vector<std::unique_ptr<Rows>> rows;
  std::deque<RowRun> row_runs;
  std::vector<RowLocation> places;  ///< of the rows

  void clear();
  std::span<const GaugeValue> values_of(const LineMatch& found) const {
    return std::span(values).subspan(found.values_begin, found.values_end - found.values_begin);
  }
  /// With the numbers of its own line, until the next one of its shape is asked for.
  const FreeformLine& printed_of(const LineMatch& found) const;
};

/// Of a regex, into Found::text; empty where there is none.
Captures captures_of(const LineMatch& found);

/// Tells a message from others that one reader found at the same line.
std::size_t hash_of_message(const LineMatch& found);

/// All patterns, gauges and tables of a set of parsers, with the anchors that lead to them. Made once, then const.
class FormatRegistry {
 public:
  explicit FormatRegistry(std::span<const Parser* const> parsers, PrefilterPlan plan = {});

  /// Finds what the lines that begin in [begin, end) hold where `open` is the table that is open at `begin`, or null.
  /// Lines are counted from 1. What it finds does not depend on what the memo knows. Returns how many lines end there.
  i64 map(const Window& window, std::size_t begin, std::size_t end, std::shared_ptr<const OpenTable> open,
          TemplateCache& memo, BlockMatches& out) const;
  /// The table whose rows the first lines of an input are, without a header; null when there is none.
  std::shared_ptr<const OpenTable> sniff(const Window& window) const;

 private:
  struct Target {
    const CompiledFormat* reader = nullptr;
    const Table* table = nullptr;
    bool (*quick_reject)(std::string_view block, std::size_t at) = nullptr;
    std::size_t key_size = 0;  ///< of the key that begins at the anchor, see is_key(); 0 for none
  };
  /// What readers look at beside the text of a line: made once, when the first asks.
  struct Views {
    std::optional<FreeformLine> printed;
    std::optional<Joined> joined;
  };

  /// False where the bytes behind the anchor show that the target will not take the line.
  static bool is_near(const Window& window, const AnchorHit& hit, const Target& target);
  /// What these anchors of one line lead to, in order; false where they lead nowhere.
  bool find_wanted(const Window& window, std::span<const AnchorHit> hits,
                   std::vector<const CompiledFormat*>& wanted) const;
  /// Whether the line is the header of a table: then the last finding, and the last of the headers.
  bool find_header(const Window& window, Line& line, std::span<const AnchorHit> hits, BlockMatches& out) const;
  static bool try_format(const CompiledFormat& reader, const Window& window, const Line& line, Views& views,
                         BlockMatches& out);
  static bool try_gauge(const CompiledFormat& reader, const Line& line, BlockMatches& out);
  static bool try_message(const CompiledFormat& reader, const Window& window, const Line& line, Views& views,
                          BlockMatches& out);
  static Lengths lengths_of(const Line& line, std::span<const CompiledFormat* const> wanted, const Views& views,
                            const NumberSpans* runs);
  static void read_line(const Window& window, const Line& line, std::span<const CompiledFormat* const> wanted,
                        TemplateCache* memo, BlockMatches& out);

  std::vector<std::unique_ptr<CompiledFormat>> readers_;
  std::vector<const Table*> tables_;
  std::vector<std::vector<Target>> behind_;  ///< anchor → what it leads to
  std::vector<char> plain_;                  ///< by anchor: it holds no digit
  std::unique_ptr<Prefilter> prefilter_;
};

}  // namespace oomdoctor
