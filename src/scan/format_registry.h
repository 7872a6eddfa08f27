// The map step: finds everything that the lines of a block contain. Anchors select the lines, then their patterns and
// gauges are tried. Rows of the open table need no anchor. The result depends only on the block and on the table open
// at its start, so blocks may be mapped in any order and on any thread.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/lazy.h"
#include "read/line_format.h"
#include "read/line_ref.h"
#include "read/parser.h"
#include "scan/template_cache.h"
#include "text/prefilter.h"

namespace oomdoctor {

/// A pattern or gauge, ready to match. Immutable; shared by all threads. What a match needs is made at the first one: a
/// log meets few formats.
struct CompiledFormat {
  const Parser* parser = nullptr;
  /// Null for a gauge.
  const Pattern* pattern = nullptr;
  /// Null for a pattern.
  const LineFormat* gauge = nullptr;
  /// Tried only if no other format matched the line.
  bool fallback = false;
  bool message = false;       ///< reads several lines
  bool is_step_only = false;  ///< reads only the progress of the run
  std::string_view name;
  std::size_t order = 0;  ///< sort key: parsers by name, then their patterns as listed

  /// Of a pattern.
  const Regex& regex() const {
    return regex_.get([this] { return Regex(pattern->regex); });
  }
  /// Of a gauge.
  const CompiledLineFormat& form() const {
    return form_.get([this] { return CompiledLineFormat(*gauge); });
  }
  /// How the match depends on the digits of a line. Decides whether a template may be reused.
  enum class Digits {
    text,     ///< other digits may give another match
    columns,  ///< digits are only numbers, but their lengths may move a column
    numbers,  ///< digits are only numbers
  };
  Digits digits() const {
    return digits_.get([this] { return classify_digits(); });
  }

 private:
  Digits classify_digits() const;

  Lazy<Regex> regex_;
  Lazy<CompiledLineFormat> form_;
  Lazy<Digits> digits_;
};

struct InOrder {
  bool operator()(const CompiledFormat* a, const CompiledFormat* b) const { return a->order < b->order; }
};

/// Consecutive step lines of one stream, merged into one match. Half of the lines of a typical log are such lines.
struct StepRun {
  i64 lines = 1;     ///< redraws of a bar count separately
  i64 more = 0;      ///< lines of the file after the first one
  i64 changes = 0;   ///< lines after the first whose step differs from the one before
  i64 advances = 0;  ///< of these, with a higher step
  i64 step = 0;      ///< of the last line
  i64 before = 0;    ///< of the last line: Step::before
  std::optional<double> epoch;
  std::optional<double> first_time, last_time;  ///< of the lines after the first one that print a time
  Period period;                                ///< of these
  LineRef last, advanced;                       ///< the last line, and the last line with a higher step
};

/// A table after its header, or after sniff(). The next lines may be its rows.
struct OpenTable {
  const Table* table = nullptr;
  Layout layout;
  std::shared_ptr<const OpenTable> below = {};  ///< the next one of the first lines, if its rows are known as well
  bool operator==(const OpenTable&) const = default;
};

/// The line of a row. Its tags are not peeled off.
struct RowLocation {
  std::size_t begin = 0, end = 0;
  i64 number = 0, last = 0;
  std::string_view text;
};

/// Consecutive rows of one table, merged into one match.
struct RowRun {
  const Table* table = nullptr;
  Rows* rows = nullptr;                          ///< the reader that read them
  std::size_t first = 0;                         ///< index of the first one in `rows`
  std::size_t places_begin = 0, places_end = 0;  ///< in BlockMatches::places
};

/// The match of one format on one line, the header of a table, or a run of rows.
struct LineMatch : LineRef {
  /// Null for headers and rows.
  const CompiledFormat* by = nullptr;
  std::string_view text = {};             ///< the text that was tried: the line, or the joined message
  const GroupPositions* parts = nullptr;  ///< groups of a regex, in `text`
  FreeformLine* printed = nullptr;        ///< of a pattern with `accepts_parsed`: see BlockMatches::fill_printed()
  std::size_t values_begin = 0, values_end = 0;  ///< in BlockMatches::values
  bool again = false;                            ///< the same format has an earlier match on this line
  bool given_up = false;                         ///< a user's regex took too many steps on this line: no match
  bool begins_run = false;                       ///< a step alone on its line: the next one may make it a run
  StepRun* steps = nullptr;                      ///< the run of step lines that begins here, or null
  const std::shared_ptr<const OpenTable>* header = nullptr;  ///< the table that this line opens, or null
  const RowRun* rows = nullptr;                              ///< the rows that begin here, or null
};

/// The matches of a block, in the order of their lines. Owns everything that `all` points to, except the templates:
/// they belong to the TemplateCache.
struct BlockMatches {
  std::vector<LineMatch> all;
  std::vector<GaugeValue> values;
  std::deque<GroupPositions> parts;
  std::deque<FreeformLine> printed;
  std::deque<std::string> messages;
  std::deque<StepRun> runs;
  std::shared_ptr<const OpenTable> open;  ///< the table assumed to be open at the start of the block
  std::deque<std::shared_ptr<const OpenTable>> headers;
  std::vector<std::unique_ptr<Rows>> rows;
  std::deque<RowRun> row_runs;
  std::vector<RowLocation> places;  ///< one for each row

  /// Empties all members and keeps their memory.
  void clear();
  std::span<const GaugeValue> values_of(const LineMatch& found) const {
    return std::span(values).subspan(found.values_begin, found.values_end - found.values_begin);
  }
  /// The parsed free-form line, with this line's numbers. Valid until the next call for a line of the same template.
  const FreeformLine& fill_printed(const LineMatch& found) const;
};

/// The groups of a match, as views into LineMatch::text; empty without a regex.
Captures make_captures(const LineMatch& found);

/// Distinguishes several messages that one format finds on the same line.
std::size_t hash_message(const LineMatch& found);

/// All patterns, gauges and tables of a set of parsers, with their anchors. Immutable after construction.
class FormatRegistry {
 public:
  explicit FormatRegistry(std::span<const Parser* const> parsers, const PrefilterPlan& plan = {});

  /// Maps the lines that begin in [begin, end). `open` is the table open at `begin`, or null. Lines are numbered from
  /// 1. The result does not depend on the state of `memo`. Returns the number of line ends in the range.
  i64 map(const Window& window, std::size_t begin, std::size_t end, std::shared_ptr<const OpenTable> open,
          TemplateCache& memo, BlockMatches& out) const;
  /// The table whose rows the first lines of an input are, without a header; null if there is none.
  std::shared_ptr<const OpenTable> sniff(const Window& window) const;

 private:
  std::shared_ptr<const OpenTable> sniff(std::span<const std::string> head) const;

  class BlockMapping;

  /// A format or a table that an anchor leads to.
  struct Target {
    const CompiledFormat* reader = nullptr;
    const Table* table = nullptr;
    bool (*may_match)(std::string_view block, std::size_t at) = nullptr;
    std::size_t key_size = 0;  ///< of the key that begins at the anchor, see is_key(); 0 for none
  };
  std::span<const Target> behind(std::uint32_t anchor) const {
    return std::span(targets_).subspan(first_target_[anchor], first_target_[anchor + 1] - first_target_[anchor]);
  }
  /// Parsed views of one line, shared by its formats. Each is made on first use.
  struct Views {
    std::optional<FreeformLine> printed;
    std::optional<Joined> joined;
  };

  /// False if the bytes around the anchor show that the target cannot match.
  static bool may_lead_to_match(const Window& window, const AnchorHit& hit, const Target& target);
  /// Sets `wanted` to the formats that the anchors of a line lead to, in order. False if no format and no table is
  /// left.
  bool find_wanted(const Window& window, std::span<const AnchorHit> hits,
                   std::vector<const CompiledFormat*>& wanted) const;
  /// True if one of the anchors is that of a table.
  bool has_table(std::span<const AnchorHit> hits) const;
  /// True if the line is the header of a table. Appends the match and the header to `out`.
  bool find_header(const Window& window, const Line& line, std::span<const AnchorHit> hits, BlockMatches& out) const;
  /// Tries one format on a line. Appends its matches and returns true if there is one.
  static bool try_format(const CompiledFormat& reader, const Window& window, const Line& line, Views& views,
                         BlockMatches& out);
  static bool try_gauge(const CompiledFormat& reader, const Line& line, BlockMatches& out);
  static bool try_message(const CompiledFormat& reader, const Window& window, const Line& line, Views& views,
                          BlockMatches& out);
  /// Whether a template of this line fits lines with numbers of other lengths.
  static Lengths classify_lengths(const Line& line, std::span<const CompiledFormat* const> wanted, const Views& views,
                                  const NumberSpans* runs);
  /// Tries all formats on a line, fallbacks last, and offers the result to the cache.
  void read_line(const Window& window, const Line& line, std::span<const CompiledFormat* const> wanted,
                 TemplateCache* memo, BlockMatches& out) const;
  /// True if an anchor may appear in the line with other digits, or with more of them.
  bool may_gain_anchor(std::string_view line) const;

  std::deque<CompiledFormat> readers_;
  std::vector<const Table*> tables_;
  std::vector<Target> targets_;            ///< those of one anchor are adjacent
  std::vector<std::size_t> first_target_;  ///< by anchor, and one more: the targets end where the next ones begin
  std::vector<char> plain_;                ///< by anchor: true if it contains no digit
  std::vector<std::string> numbered_;      ///< the other anchors, as with_runs_joined() writes them
  std::unique_ptr<Prefilter> prefilter_;
};

}  // namespace oomdoctor
