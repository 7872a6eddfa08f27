// Refuses what no estimate can be right for. A size out of its own range never gets here.
#pragma once

#include "estimate/model_memory.h"

namespace oomdoctor::cli {

/// Throws Error if sizes that are possible one by one describe an impossible model or job.
void check_products(const ModelShape& model, const RunShape& run);

/// Throws Error if a number of the budget is only a lower bound, because the formulas end at max_budget_bytes.
void check_range(const Budget& budget);

}  // namespace oomdoctor::cli
