// The logs in an archive that the user names: all text in it, as in a folder.
#pragma once

#include <string>
#include <vector>

#include "oomdoctor/diagnose.h"

namespace oomdoctor::cli {

struct ArchiveLogs {
  std::vector<LogSource> logs;           ///< in the order of the archive; "logs.zip/train.log" is the path of one
  std::vector<ReportLostEvidence> lost;  ///< members that cannot be read, the rest of a damaged archive
  std::vector<std::string> left_out;     ///< "logs.zip/core (binary)": no text, so no evidence
};

/// Searches the archive within bounds. Of several members with one name, it takes the last, as unpacking would.
ArchiveLogs find_logs_in_archive(const std::string& path);

}  // namespace oomdoctor::cli
