// Wakes up when a file may have changed. Network file systems report no changes, so nobody may rely on it.
#pragma once

#include <string>
#include <vector>

#include "base/descriptor.h"

namespace oomdoctor::cli {

class FileChanges {
 public:
  /// Watches the folders of these files, because the files may not exist yet.
  explicit FileChanges(const std::vector<std::string>& paths);

  /// Can be read after a change; negative if the system does not report changes.
  int descriptor() const { return inotify_.number(); }
  /// Whether the changes of all folders are reported. A folder that does not exist yet, for example, is not watched.
  bool are_complete() const { return complete_; }
  /// Forgets the changes so far.
  void clear();

 private:
  Descriptor inotify_;
  bool complete_;
};

}  // namespace oomdoctor::cli
