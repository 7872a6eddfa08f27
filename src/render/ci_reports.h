// The reports for CI systems and monitoring. All but the gauges are about the findings: see findings.h. Paths below
// `folder`, the working directory, are relative to it. Others become their file name.
#pragma once

#include <string>

#include "oomdoctor/report.h"

namespace oomdoctor {

/// GitHub workflow commands, one per line: an annotation per root cause, on the line in the user's code if the log
/// names it. GitHub silently drops all beyond ten of a kind, so there are at most nine, and a last one with the number
/// of the others.
std::string github_text(const Report& report);

/// GitLab's code quality report: a JSON array with one entry per root cause.
std::string gitlab_text(const Report& report, const std::string& folder);

/// JUnit XML for Jenkins and GitLab: one test case per rank, or per log if no ranks are known; at most 1,000, failed
/// ones first. A root cause fails its case, a consequence skips it, and warnings are the output of the suite.
std::string junit_text(const Report& report);

/// SARIF 2.1.0 for GitHub code scanning and Jenkins' warnings plug-in: one result per root cause, on the line in the
/// user's code if the log names it. The lines of the log are related locations.
std::string sarif_text(const Report& report, const std::string& folder);

/// The termination message of a container, which `kubectl describe pod` shows. Kubernetes divides 12 KiB among the
/// containers of a pod and truncates the rest, so the text has at most 1,024 bytes, the verdict first.
std::string kubernetes_text(const Report& report);

/// Gauges for the textfile collector of Prometheus' node exporter: the verdict, the numbers of each root cause and the
/// memory series. There are no timestamps, because the collector adds its own.
std::string prometheus_text(const Report& report);

}  // namespace oomdoctor
