// What oomdoctor estimate says: the budget of a run that has not been started, as a screen for people or as JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/model_plan.h"
#include "report/terminal.h"

namespace oomdoctor {

struct MemoryEstimate {
  std::string model, run;            ///< in words
  std::vector<std::string> assumed;  ///< in words, of what the user left open
  std::vector<std::string> notes;
  std::string card;             ///< "A100-80GB", or "the card" where a size was given
  std::optional<i64> capacity;  ///< absent: no card was named
  std::vector<std::string> cards_that_hold;
  Budget budget;
  std::optional<i64> largest_batch;     ///< that fits; 0: none
  std::optional<i64> longest_sequence;  ///< tokens, with the batch as it is; 0: none
  std::optional<i64> ranks;             ///< over which it fits, with nothing else changed
  std::optional<Plan> plan;             ///< where it does not fit
};

/// fits, probably_fits, probably_not (within the error of the formulas), does_not_fit, unknown: an incomplete budget
/// that fits so far, or no card.
std::string_view outcome_of(const MemoryEstimate& estimate);

std::string estimate_screen(const MemoryEstimate& estimate, const RenderOptions& view);
/// One indented object that ends with a line end; sizes are integers in bytes, what is not known is absent.
std::string estimate_json(const MemoryEstimate& estimate);

}  // namespace oomdoctor
