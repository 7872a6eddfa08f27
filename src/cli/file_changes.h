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
  /// Forgets the changes so far.
  void clear();

 private:
  Descriptor inotify_;
};

}  // namespace oomdoctor::cli
