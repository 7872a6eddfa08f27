// Does a run fit a card, with which batch, and if it does not: the smallest set of changes that makes it fit. The
// saving of a change is the difference of two whole budgets, before it and after it, so that no byte is counted twice.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/model_memory.h"

namespace oomdoctor {

struct PlannedChange {
  std::string_view id, title;
  std::string setting;      ///< as it is written down, with this run's numbers
  int cost = 0, risk = 0;   ///< the classes of the rules' fixes
  i64 saves = 0, peak = 0;  ///< bytes; the peak with this change and all before it
};

struct Plan {
  std::vector<PlannedChange> changes;  ///< in the order to make them
  Budget budget;                       ///< with all of them
  bool fits = false;                   ///< false: all that is known does not suffice
};

/// What stays free for rounding and jitter.
i64 margin_of(i64 capacity);
/// With the margin. Of an incomplete budget it says whether what is known fits.
bool fits(const Budget& budget, i64 capacity);

/// The largest micro-batch that fits, 0 when none does; nullopt where the budget is incomplete or no term grows with
/// it.
std::optional<i64> largest_batch(const ModelShape& model, const RunShape& run, i64 capacity);
/// The same for the tokens of a sample, with the batch as it is.
std::optional<i64> longest_sequence(const ModelShape& model, const RunShape& run, i64 capacity);
/// Data-parallel ranks over which ZeRO-3 or FSDP makes the run fit with nothing else changed; nullopt: no number does.
std::optional<i64> ranks_that_fit(const ModelShape& model, const RunShape& run, i64 capacity);
/// The cheapest set of changes for a run that does not fit. Such as change the result are taken only where others do
/// not suffice.
Plan plan_of(const ModelShape& model, const RunShape& run, i64 capacity);

}  // namespace oomdoctor
