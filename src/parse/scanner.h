// Reads sources and makes the Case. Map: the anchors of all parsers are looked up in a block of bytes, and the patterns
// and gauges behind them are tried on that line; a pure function of the block. Fold: what was found is told to the
// ResultBuilder in the order of the input.
#pragma once

#include <vector>

#include "model/scan_result.h"
#include "parse/parser.h"
#include "text/prefilter_plan.h"
#include "text/source.h"

namespace oomdoctor {

struct ScanOptions {
  std::size_t jobs = 1;               ///< threads for one source
  std::size_t block_bytes = 1 << 20;  ///< about what a thread takes at a time; nothing that is found depends on it
};

/// Anchors, compiled regexes and forms of a set of parsers. Made once, then const.
class Scanner {
 public:
  /// `plan`: where to look for their anchors; it is about speed alone.
  explicit Scanner(std::span<const Parser* const> parsers, PrefilterPlan plan = {});
  ~Scanner();

  /// Reads one source to its end: a case to be joined, alone or with others (result_merger.h). Input is never an error:
  /// damage becomes notes. Throws Error when reading itself fails.
  ScanResult scan(Source& source, const ScanOptions& options = {}) const;
  /// The same for each source in turn, joined.
  ScanResult scan(std::vector<Source>& sources, const ScanOptions& options = {}) const;

  /// Names of all patterns and gauges that take `line` (a law: each example is taken by exactly one).
  std::vector<std::string> takers(std::string_view text) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace oomdoctor
