// When to warn about a running job: a condition warns when it begins, and again only after it has ceased.
#pragma once

#include <string>
#include <vector>

#include "report/pulse.h"

namespace oomdoctor::cli {

struct Risk {
  const char* kind;  ///< "failed", "nearly_full", "full_soon"
  std::string message;
};

class Risks {
 public:
  /// Warns when the memory is full within `warn_before` seconds, or when the share `warn_at` of it is in use.
  Risks(double warn_before, double warn_at) : warn_before_(warn_before), warn_at_(warn_at) {}

  /// The conditions that begin with this pulse. A job that has ended fills nothing any more.
  std::vector<Risk> begun(const Pulse& pulse, bool job_has_ended);

 private:
  double warn_before_, warn_at_;
  bool failed_ = false, nearly_full_ = false, full_soon_ = false;
};

}  // namespace oomdoctor::cli
