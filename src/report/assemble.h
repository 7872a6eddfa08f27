// Case, analysis and diagnosis become the report: the last place that knows the inside types.
#pragma once

#include "analysis/analysis.h"
#include "judge/diagnosis.h"
#include "oomdoctor/report.h"

namespace oomdoctor {

struct AssembleOptions {
  std::string why_not;
  bool trace = false;
};

Report assemble(const ScanResult& scan, const Analysis& analysis, const Diagnosis& diagnosis,
                const AssembleOptions& options = {});

}  // namespace oomdoctor
