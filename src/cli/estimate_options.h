// The options of oomdoctor estimate: their groups, and the model, run and GPU that they describe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/options.h"
#include "estimate/estimate.h"

namespace oomdoctor::cli {

/// The options that only estimate has.
const std::vector<OptionGroup>& estimate_option_groups();

/// The parsed command line.
struct EstimateRequest {
  ModelShape model;
  RunShape run;
  MemoryEstimate said;  ///< words, GPU and capacity of the request; the budget is still empty
};

/// Reads --config first; other options override its fields. Fills defaults, and notes each in `said.assumed`. Throws
/// Error for invalid or contradictory options.
EstimateRequest parse_estimate_request(const Arguments& arguments);

}  // namespace oomdoctor::cli
