// Builds the report from the case, the analysis and the diagnosis. This is the last place that knows the internal
// types.
#pragma once

#include "facts/analysis.h"
#include "judge/judge.h"
#include "oomdoctor/report.h"

namespace oomdoctor {

/// Optional parts of the report.
struct AssembleOptions {
  std::string why_not;  ///< a cause id: fills Report::why_not; "" for none
  bool trace = false;   ///< fills Report::trace
  bool series = true;   ///< false: only the series that the headline may name, without computing other trends
};

/// A pure function of its arguments. `analysis` and `diagnosis` must belong to `scan`: the report uses their indices.
Report assemble(const ScanResult& scan, const Analysis& analysis, const Diagnosis& diagnosis,
                const AssembleOptions& options = {});

}  // namespace oomdoctor
