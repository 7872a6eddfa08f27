#include "model/scan_result.h"

#include <algorithm>
#include <utility>

namespace oomdoctor {

void ScanResult::lose(LostEvidence evidence) {
  if (std::find(lost.begin(), lost.end(), evidence) != lost.end()) return;
  if (lost.size() < ScanLimits::lost)
    lost.push_back(std::move(evidence));
  else
    ++more_lost;
}

}  // namespace oomdoctor
