// Finds logs if the user names none: recently written files below the working directory that look like logs.
#pragma once

#include <string>
#include <vector>

namespace oomdoctor::cli {

/// The logs, newest first; never empty. Searches files with the name of a log (FileKind::log): in the working
/// directory, below log/, logs/, slurm_logs/, lightning_logs/, outputs/ and wandb/latest-run/files/, and below folders
/// of torchrun, which contain attempt_N. Returns the newest log and those written at most ten minutes before it, at
/// most 256, because older logs belong to other runs. Throws Error if there is none.
std::vector<std::string> find_logs();

}  // namespace oomdoctor::cli
