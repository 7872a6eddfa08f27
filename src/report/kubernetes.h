// The termination message of a container, which `kubectl describe pod` shows. Kubernetes divides 12 KiB among the
// containers of a pod and truncates the rest, so the text has at most 1,024 bytes, the verdict first.
#pragma once

#include <string>

#include "oomdoctor/report.h"

namespace oomdoctor {

std::string kubernetes_text(const Report& report);

}  // namespace oomdoctor
