#include "cli/risks.h"

namespace oomdoctor::cli {
namespace {

/// A warning is over when the estimate is this much better again, so that it does not come and go.
constexpr double time_hysteresis = 1.5, fill_hysteresis = 0.05;

bool begins(bool& known, bool now, bool ceased) {
  const bool first = now && !known;
  known = now || (known && !ceased);
  return first;
}

}  // namespace

std::vector<Risk> Risks::begun(const Pulse& pulse, bool job_has_ended) {
  const bool failed = pulse.outcome == "oom";
  const auto fill = failed ? std::nullopt : compute_fill(pulse);
  const auto left = failed || job_has_ended ? std::nullopt : pulse.left;
  std::vector<Risk> found;
  if (begins(failed_, failed, !failed)) found.push_back({"failed", pulse.headline});
  if (begins(nearly_full_, fill && *fill >= warn_at_, !fill || *fill < warn_at_ - fill_hysteresis))
    found.push_back({"nearly_full", pulse_line(pulse)});
  if (begins(full_soon_, left && left->middle <= warn_before_, !left || left->middle > time_hysteresis * warn_before_))
    found.push_back({"full_soon", pulse_line(pulse)});
  return found;
}

}  // namespace oomdoctor::cli
