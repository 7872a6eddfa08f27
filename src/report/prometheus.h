// Gauges for the textfile collector of Prometheus' node exporter: the verdict, the numbers of each root cause and the
// memory series. There are no timestamps, because the collector adds its own.
#pragma once

#include <string>

#include "oomdoctor/report.h"

namespace oomdoctor {

std::string prometheus_text(const Report& report);

}  // namespace oomdoctor
