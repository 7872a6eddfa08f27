// The logs of a job that named none: files of the working directory that look like logs and were written last.
#pragma once

#include <string>
#include <vector>

namespace oomdoctor::cli {

/// Newest first, at least one. Looks at *.log, *.out and *.err (packed or not) of the working directory; at all such
/// files below log/, logs/, slurm_logs/, lightning_logs/, outputs/ and wandb/latest-run/files/; and below folders of
/// torchrun, which hold attempt_N. Of these it takes the newest and what was written within ten minutes before it, 256
/// files at most: older ones belong to other runs. Throws Error when there is none.
std::vector<std::string> find_logs();

}  // namespace oomdoctor::cli
