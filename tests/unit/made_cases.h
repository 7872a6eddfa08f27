// Cases without a log: series of a known shape, a failure at a known line.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "facts/analysis.h"

namespace oomdoctor::testing {

inline constexpr double gib = static_cast<double>(GiB);

inline Evidence at_line(i64 line) { return {{0, line, line, 0, 0}, "test", ""}; }

/// One value for each step and line: first, first + by, …
inline Series ramp(Metric metric, double first, double by, int n, i64 line = 1) {
  Series s;
  s.metric = metric;
  s.has_steps = true;
  s.quantum = gib / 1000;
  for (int i = 0; i < n; ++i) s.add(i, 0, first + by * i);
  s.first_evidence = at_line(line);
  s.last_evidence = at_line(line + n - 1);
  return s;
}

inline ScanResult failed_at(i64 line, std::vector<Series> series) {
  ScanResult scan;
  Incident incident;
  incident.evidence = at_line(line);
  incident.when.order = line;
  incident.oom.capacity = Bytes{24 * GiB, 0};
  scan.incidents.push_back(incident);
  scan.series = std::move(series);
  return scan;
}

inline Analysis trends_of(ScanResult& scan, AnalysisOptions options = {}) {
  resolve_units(scan, options);
  Analysis analysis;
  if (!scan.incidents.empty()) analysis.primary = 0;
  trend_facts(scan, options, analysis);
  return analysis;
}

inline bool is_false(const Facts& facts, std::string_view name) {
  return facts.find(name) != nullptr && !facts.is_true(name);
}

}  // namespace oomdoctor::testing
