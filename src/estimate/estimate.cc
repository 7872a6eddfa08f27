#include "estimate/estimate.h"

namespace oomdoctor {

// The margin is kept free. The error of the formulas decides between certain and probable outcomes.
std::string_view judge_outcome(const MemoryEstimate& estimate) {
  if (!estimate.capacity) return "unknown";
  const i64 room = *estimate.capacity - compute_margin(*estimate.capacity);
  const Bytes& total = estimate.budget.total;
  if (total.count > room) return total.count - total.slack > room ? "does_not_fit" : "probably_not";
  if (!estimate.budget.missing.empty()) return "unknown";
  return total.count + total.slack > room ? "probably_fits" : "fits";
}

}  // namespace oomdoctor
