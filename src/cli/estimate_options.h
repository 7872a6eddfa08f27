// The options of oomdoctor estimate: their groups, and what they say about a model, a run and a card.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/options.h"
#include "report/estimate.h"

namespace oomdoctor::cli {

/// Options that estimate alone has.
const std::vector<OptionGroup>& estimate_option_groups();

struct EstimateRequest {
  ModelShape model;
  RunShape run;
  MemoryEstimate said;  ///< its words, card and capacity; the budget is not computed yet
};

/// Reads --config first; an option beside it has the last word. Throws Error.
EstimateRequest estimate_request_of(const Arguments& arguments);

}  // namespace oomdoctor::cli
