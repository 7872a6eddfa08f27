// Reads sources and builds their ScanResult, in two steps. Map: find the anchors of all parsers in a block, and try
// their patterns and gauges on these lines. This is a pure function of the block, so blocks run in parallel. Fold:
// pass the matches to the ResultBuilder in the order of the input.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/scan_result.h"
#include "read/parser.h"
#include "text/prefilter_plan.h"
#include "text/source.h"

namespace oomdoctor {

struct ScanOptions {
  std::size_t jobs = 1;  ///< threads for one source; the result does not depend on it
  /// Bytes that a thread takes at a time, roughly; the result does not depend on it.
  std::size_t block_bytes = 1 << 20;
};

class GrowingScan;

/// A set of parsers, with their anchors and compiled patterns. Immutable after construction: several threads may call
/// scan().
class Scanner {
 public:
  /// `plan` chooses the prefilter's bytes for the anchors. It affects speed only.
  explicit Scanner(std::span<const Parser* const> parsers, const PrefilterPlan& plan = {});
  ~Scanner();

  /// Reads one source to its end. The result still has to go through ResultMerger (result_merger.h), also a single one.
  /// A damaged input never throws, it gives notes. Throws Error if reading itself fails.
  ScanResult scan(Source& source, const ScanOptions& options = {}) const;
  /// Scans each source in turn and merges the results.
  ScanResult scan(std::vector<Source>& sources, const ScanOptions& options = {}) const;

  /// Names of all patterns, gauges and tables that match `text`. For the tests: exactly one matches each example.
  std::vector<std::string> matching_formats(std::string_view text) const;

 private:
  friend GrowingScan;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The scan of one source that is still being written. Its result is that of Scanner::scan() on the same text, wherever
/// the pieces end. Not thread-safe.
class GrowingScan {
 public:
  /// Bytes that must be there before a block is read: the margin after a block shows whether a message goes on.
  static const std::size_t needed_bytes;

  /// `scanner` must outlive the scan.
  GrowingScan(const Scanner& scanner, Source source);
  ~GrowingScan();
  GrowingScan(GrowingScan&&) noexcept;

  /// Reads the next block. At least needed_bytes must be there to read. Throws Error if reading fails.
  void advance();
  /// Reads what is left and concludes. Call it once; nothing may follow.
  ScanResult finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace oomdoctor
