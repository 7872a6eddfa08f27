// The logs of a folder that the user names: all text in it, at any depth. What is not a log is left out without a word
// if its kind is known; everything else that is not read is listed, with the reason.
#pragma once

#include <string>
#include <vector>

#include "cli/options.h"
#include "oomdoctor/report.h"

namespace oomdoctor::cli {

struct FolderLogs {
  std::vector<std::string> paths;        ///< in no order
  std::vector<ReportLostEvidence> lost;  ///< folders that could not be listed, and what is beyond the bounds
  std::vector<std::string> left_out;     ///< "core.4711 (binary)": no text, so no evidence
};

/// Searches the folder within bounds. Opens regular files only. It does not follow links to folders, which may lead to
/// a loop or a foreign tree. A link to a file that the scope forbids is lost evidence, and never opened.
FolderLogs find_logs_in(const std::string& folder, const InputScope& scope);

/// The files that continue the log at `path`, in order: while oomdoctor run keeps the output of a command, the end of
/// output.log is in output.log.1 and output.log.2, the older half first. Empty for any other log. The caller
/// must check the scope of each.
std::vector<std::string> find_continuations(const std::string& path, const InputScope& scope);

}  // namespace oomdoctor::cli
