#include "model/event.h"

namespace oomdoctor {

std::string_view to_string(OomKind kind) {
  switch (kind) {
    case OomKind::device:
      return "device";
    case OomKind::host:
      return "host";
    case OomKind::shared_memory:
      return "shared_memory";
    case OomKind::masked:
      return "masked";
    case OomKind::pool:
      return "pool";
  }
  return "";
}

std::string_view to_string(Agent agent) {
  switch (agent) {
    case Agent::cuda_allocator:
      return "cuda_allocator";
    case Agent::hip_allocator:
      return "hip_allocator";
    case Agent::xpu_allocator:
      return "xpu_allocator";
    case Agent::npu_allocator:
      return "npu_allocator";
    case Agent::mps_allocator:
      return "mps_allocator";
    case Agent::cuda_malloc_async:
      return "cuda_malloc_async";
    case Agent::driver:
      return "driver";
    case Agent::tf_bfc:
      return "tf_bfc";
    case Agent::xla:
      return "xla";
    case Agent::library:
      return "library";
    case Agent::serving:
      return "serving";
    case Agent::cpu_allocator:
      return "cpu_allocator";
    case Agent::kernel:
      return "kernel";
    case Agent::cgroup:
      return "cgroup";
    case Agent::slurm:
      return "slurm";
    case Agent::kubernetes:
      return "kubernetes";
    case Agent::scheduler:
      return "scheduler";
    case Agent::daemon:
      return "daemon";
    case Agent::signal:
      return "signal";
    case Agent::worker:
      return "worker";
  }
  return "";
}

}  // namespace oomdoctor
