// A container's termination message: what `kubectl describe pod` shows of a container that ended. Kubernetes divides
// 12 KiB among the containers of a pod and cuts off the rest, so it has at most 1,024 bytes, the verdict first.
#pragma once

#include <string>

#include "oomdoctor/report.h"

namespace oomdoctor {

std::string kubernetes_text(const Report& report);

}  // namespace oomdoctor
