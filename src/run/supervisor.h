// Runs a command, passes its output, signals and terminal on unchanged, and writes down what it prints and the memory
// that it takes: one thread, one event at a time, in bounded space.
#pragma once

#include <string>
#include <vector>

#include "run/child.h"

namespace oomdoctor {

/// The files of a run, in one folder.
struct RunFiles {
  std::string output;   ///< what the command printed, and how it ended
  std::string samples;  ///< host memory, each second
  std::string gpus;     ///< GPU memory, each second; does not exist without a GPU
};
RunFiles files_of_run(const std::string& folder);

/// Runs the command until it ends. The folder must exist. Throws StartFailure, and Error if a file cannot be created.
CommandEnd supervise(const std::vector<std::string>& words, const RunFiles& files);

}  // namespace oomdoctor
