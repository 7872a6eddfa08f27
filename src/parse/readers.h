// Map: what the lines of a block hold, found by anchors, then by the patterns and gauges behind them. A pure function
// of the block, so that blocks may be mapped in any order and on any thread.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "parse/gauge.h"
#include "parse/parser.h"
#include "text/prefilter.h"

namespace oomdoctor {

/// A pattern or gauge with what its anchors stand for.
struct Reader {
  const Parser* parser = nullptr;
  const Pattern* pattern = nullptr;
  std::unique_ptr<GaugeForm> form;
  bool fallback = false;
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
using ReaderSet = std::set<const Reader*, InOrder>;  ///< in a fixed order: the same input gives the same report

/// What one line holds for one reader. Captures point into `text`, which is why both live on the heap together.
struct Found {
  const Reader* reader = nullptr;
  Line line;  ///< where the match begins
  std::unique_ptr<std::string> text;
  Captures captures;
  std::vector<std::vector<GaugeValue>> gauges;  ///< a glued line holds several
  i64 first_line = 0, last_line = 0;
  const Table* header = nullptr;
  Layout layout;
};

/// All patterns, gauges and tables of a set of parsers, with the anchors that lead to them. Made once, then const.
class ReaderTable {
 public:
  explicit ReaderTable(std::span<const Parser* const> parsers);

  /// What the lines that begin in [begin, end) hold, in their order; `first_line` is the number of the line at `begin`.
  std::vector<Found> map(const Window& window, std::size_t begin, std::size_t end, i64 first_line) const;
  /// The table whose rows these first lines of an input are, without a header; nullptr when there is none.
  const Table* sniff(std::span<const std::string> first_lines, Layout& layout) const;

 private:
  struct Target {
    const Reader* reader;
    const Table* table;
  };

  void try_line(const Window& window, const Line& line, const ReaderSet& wanted, std::vector<Found>& out) const;
  bool try_reader(const Reader& reader, const Window& window, const Line& line, std::vector<Found>& out) const;
  bool try_gauge(const Reader& reader, const Line& line, std::vector<Found>& out) const;
  bool try_message(const Reader& reader, const Window& window, const Line& line, std::vector<Found>& out) const;

  std::vector<std::unique_ptr<Reader>> readers_;
  std::vector<const Table*> tables_;
  std::vector<std::vector<Target>> behind_;  ///< anchor → what it leads to
  std::unique_ptr<Prefilter> prefilter_;
};

}  // namespace oomdoctor
