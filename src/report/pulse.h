// The state of a job that still runs, in one line: how full its memory is, how fast it fills, and when it is full.
#pragma once

#include <optional>
#include <string>

#include "oomdoctor/report.h"

namespace oomdoctor {

/// Seconds from now until the memory is full.
struct TimeLeft {
  double middle = 0;           ///< the central estimate
  double low = 0;              ///< with `high`: the interval of 90%
  std::optional<double> high;  ///< absent: it may never be full
};

struct Pulse {
  std::string outcome;         ///< of the report: "no_oom", "at_risk", "oom", …
  std::string headline;        ///< of the verdict
  std::string cause;           ///< id; "" for none
  std::optional<double> step;  ///< the last one
  std::string memory;          ///< the name of the series; "" if the logs have none
  std::string unit;            ///< of its values: "%", or "" for bytes
  std::optional<double> value, capacity;
  std::string rate;  ///< its growth in words; "" if it does not grow
  std::optional<TimeLeft> left;
};

/// The pulse of the series that is full first; without a forecast, of the fullest one. `steps_per_second` turns
/// forecasts in steps into times; without it there are none for such series.
Pulse take_pulse(const Report& report, std::optional<double> steps_per_second);

/// value divided by capacity; nullopt if one is unknown.
std::optional<double> compute_fill(const Pulse& pulse);
/// For example "step 1,240: 18.20 of 23.69 GiB (77%), +14.2 MiB per step, full in 2 h 10 min (90%: 1 h 50 min to 2 h
/// 40 min)"; the headline after a failure.
std::string pulse_line(const Pulse& pulse);

}  // namespace oomdoctor
