// Growth without a failure, and whether it is a risk. A trend says how memory grew. A risk needs more: memory that has
// an end, a record that is long enough, and a program that grows.
#pragma once

#include <cstddef>
#include <optional>

#include "facts/series_trends.h"
#include "growth/runs.h"
#include "model/scan_result.h"

namespace oomdoctor {

/// The series that will fill its memory in a run without a failure: by the order of the metrics, then the one that will
/// be full first. Series of unknown capacity come last.
std::optional<std::size_t> find_series_at_risk(const ScanResult& scan, const Runs& runs, const Trends& trends);

/// A machine that grows while its listed processes do not.
struct UnexplainedGrowth {
  std::size_t series = 0;   ///< of the machine
  std::size_t listed = 0;   ///< number of processes
  double of_machine = 0;    ///< bytes
  double of_processes = 0;  ///< bytes, of all listed processes together; negative if they shrank
  double listed_first = 0;  ///< bytes that the processes of the first list held
};

/// The growth of a machine that its listed processes do not explain; nullopt if there is none.
std::optional<UnexplainedGrowth> find_unexplained_growth(const ScanResult& scan, const Runs& runs,
                                                         const Trends& trends);

/// The place of a metric in the order of preference: tensors before caches, gauges before maxima. nullopt for a metric
/// without a place, which is never the main one.
std::optional<std::size_t> metric_rank(Metric metric);

/// The length of the working stage, in units of x; at least 1.
double working_length(const Trend& trend);
/// The growth per x at the end of the working stage.
double last_slope(const Trend& trend);

/// Whether the lines of the series show progress about as often as a value: epochs without steps, for example.
bool shows_progress(const ScanResult& scan, const Series& series);

}  // namespace oomdoctor
