// Whether a run fits a GPU and with which batch; if it does not fit, the smallest set of changes that makes it fit. The
// saving of a change is the difference between the whole budgets before and after it, so no byte counts twice.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "estimate/model_memory.h"

namespace oomdoctor {

/// One change of a plan.
struct PlannedChange {
  std::string_view id, title;
  std::string setting;      ///< the setting to write, with this run's numbers
  int cost = 0, risk = 0;   ///< the cost and risk classes of fixes
  i64 saves = 0, peak = 0;  ///< bytes; `peak` is the peak with this change and all earlier ones
};

/// The changes that make a run fit.
struct Plan {
  std::vector<PlannedChange> changes;  ///< in the order in which to make them
  Budget budget;                       ///< with all of them
  bool fits = false;                   ///< false: all known changes together do not suffice
};

/// The memory that must stay free for rounding and jitter.
i64 compute_margin(i64 capacity);
/// True if the budget plus the margin fits. For an incomplete budget it covers the known terms only.
bool fits(const Budget& budget, i64 capacity);

/// The largest micro-batch that fits; 0 if none fits; nullopt if the budget is incomplete or no term depends on it.
std::optional<i64> largest_batch(const ModelShape& model, const RunShape& run, i64 capacity);
/// The same for the tokens of a sample, at the current batch and up to the model's last position.
std::optional<i64> longest_sequence(const ModelShape& model, const RunShape& run, i64 capacity);
/// The number of data-parallel ranks with which ZeRO-3 or FSDP alone makes the run fit; nullopt if no number does.
std::optional<i64> ranks_that_fit(const ModelShape& model, const RunShape& run, i64 capacity);
/// Finds the cheapest set of changes for a run that does not fit. It uses changes that alter the result of the training
/// only if the others do not suffice.
Plan compute_plan(const ModelShape& model, const RunShape& run, i64 capacity);

}  // namespace oomdoctor
