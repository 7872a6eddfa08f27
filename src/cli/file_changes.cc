#include "cli/file_changes.h"

#include <sys/inotify.h>

#include <array>
#include <filesystem>

namespace oomdoctor::cli {

FileChanges::FileChanges(const std::vector<std::string>& paths)
    : inotify_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)), complete_(inotify_.is_open()) {
  if (!inotify_.is_open()) return;
  for (const std::string& path : paths) {
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    const int watch = inotify_add_watch(inotify_.number(), folder.empty() ? "." : folder.c_str(),
                                        IN_MODIFY | IN_CREATE | IN_MOVED_TO);
    complete_ = complete_ && watch >= 0;
  }
}

void FileChanges::clear() {
  std::array<char, 4096> events;
  while (::read(inotify_.number(), events.data(), events.size()) > 0) continue;
}

}  // namespace oomdoctor::cli
