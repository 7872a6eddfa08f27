#include "run/run_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

namespace oomdoctor {

Descriptor RunFolder::create(const std::string& name) const {
  constexpr int how = O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  return Descriptor(uninterrupted([&] { return openat(folder_.number(), name.c_str(), how, 0600); }));
}

bool RunFolder::rename(const std::string& from, const std::string& to) const {
  return renameat(folder_.number(), from.c_str(), folder_.number(), to.c_str()) == 0;
}

void RunFolder::remove(const std::string& name) const { unlinkat(folder_.number(), name.c_str(), 0); }

void RunFolder::remove_all(const std::vector<std::string>& names) const {
  for (const std::string& name : names) remove(name);
  // By its name, but only if that is still this folder, and only if it is empty.
  struct stat own {
  }, named{};
  if (fstat(folder_.number(), &own) == 0 && lstat(path_.c_str(), &named) == 0 && own.st_dev == named.st_dev &&
      own.st_ino == named.st_ino)
    rmdir(path_.c_str());
}

bool RunFolder::link(const std::string& name, const std::string& target) const {
  struct stat old {};
  if (fstatat(folder_.number(), name.c_str(), &old, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISLNK(old.st_mode)) return false;
  const std::string beside = name + ".new-" + target;
  if (symlinkat(target.c_str(), folder_.number(), beside.c_str()) != 0) return false;
  if (rename(beside, name)) return true;
  remove(beside);
  return false;
}

}  // namespace oomdoctor
