#include "cli/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <random>

#include "base/error.h"

namespace oomdoctor::cli {
namespace {

constexpr mode_t file_mode = 0666;  // minus the umask

/// Blocks SIGTERM, SIGINT and SIGHUP while it exists, so that a stopped program leaves no temporary file.
class SignalPause {
 public:
  SignalPause() {
    sigset_t stops;
    sigemptyset(&stops);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&stops, signal);
    pthread_sigmask(SIG_BLOCK, &stops, &before_);
  }
  SignalPause(const SignalPause&) = delete;
  SignalPause& operator=(const SignalPause&) = delete;
  ~SignalPause() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

[[noreturn]] void refuse(const std::string& path, int error) {
  const char* why = error == ELOOP                          ? "it is a symbolic link"
                    : error == ENXIO || error == EOPNOTSUPP ? "it is not a regular file"
                                                            : std::strerror(error);
  throw Error(fmt::format("cannot write {}: {}", path, why));
}

/// The opened folder of a path, and the file name in it.
struct OutputTarget {
  Descriptor folder;
  std::string name;
};

/// Opens a relative path folder by folder, so that none of them can be a link. The user chose an absolute path
/// explicitly, so its folders may be links.
OutputTarget open_target(const std::string& path) {
  constexpr int only_folders = O_PATH | O_DIRECTORY | O_CLOEXEC;
  const std::size_t slash = path.rfind('/');
  OutputTarget target{Descriptor(uninterrupted([] { return open(".", only_folders); })),
                      slash == std::string::npos ? path : path.substr(slash + 1)};
  if (slash == std::string::npos) return target;
  if (path.front() == '/') {
    const std::string folder = path.substr(0, std::max<std::size_t>(slash, 1));
    target.folder = Descriptor(uninterrupted([&] { return open(folder.c_str(), only_folders); }));
    if (!target.folder.is_open()) refuse(path, errno);
    return target;
  }
  for (std::size_t at = 0; at <= slash;) {
    const std::size_t end = path.find('/', at);
    const std::string name = path.substr(at, end - at);
    at = end + 1;
    if (name.empty()) continue;
    const int below =
        uninterrupted([&] { return openat(target.folder.number(), name.c_str(), only_folders | O_NOFOLLOW); });
    // For a link, O_DIRECTORY fails with ENOTDIR, so check for a link separately.
    struct stat status {};
    const bool link = below < 0 && errno == ENOTDIR &&
                      fstatat(target.folder.number(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                      S_ISLNK(status.st_mode);
    if (below < 0) refuse(path, link ? ELOOP : errno);
    target.folder = Descriptor(below);
  }
  return target;
}

/// O_NONBLOCK keeps open() from waiting for the reader of a pipe.
Descriptor open_file(const std::string& path, const OutputTarget& target, int how) {
  const int flags = O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | how;
  Descriptor file(uninterrupted([&] { return openat(target.folder.number(), target.name.c_str(), flags, file_mode); }));
  struct stat status {};
  if (!file.is_open() || fstat(file.number(), &status) != 0) refuse(path, errno);
  if (!S_ISREG(status.st_mode)) refuse(path, ENXIO);
  return file;
}

/// Creates a new file with a random, unused name in the same folder.
Descriptor make_temporary(const OutputTarget& target, std::string& name) {
  constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
  std::random_device random;
  for (int i = 0; i < 100; ++i) {
    name = fmt::format("{}.{:08x}", target.name, random());
    const int file = uninterrupted([&] { return openat(target.folder.number(), name.c_str(), flags, file_mode); });
    if (file >= 0 || errno != EEXIST) return Descriptor(file);
  }
  return Descriptor(-1);
}

/// Replaces the file by writing a temporary file and renaming it. Returns false, without any change, if that is
/// impossible or would lose a hard link or the owner.
bool replace_file(const std::string& path, const OutputTarget& target, std::string_view text) {
  const int folder = target.folder.number();
  struct stat old {};
  const bool exists = fstatat(folder, target.name.c_str(), &old, AT_SYMLINK_NOFOLLOW) == 0;
  if (exists && S_ISLNK(old.st_mode)) refuse(path, ELOOP);
  if (exists && !S_ISREG(old.st_mode)) refuse(path, S_ISDIR(old.st_mode) ? EISDIR : ENXIO);
  if (exists && (old.st_nlink != 1 || old.st_uid != geteuid() ||
                 faccessat(folder, target.name.c_str(), W_OK, AT_SYMLINK_NOFOLLOW) != 0))
    return false;
  const SignalPause pause;
  std::string temporary;
  Descriptor file = make_temporary(target, temporary);
  if (!file.is_open()) return false;
  const bool permitted = !exists || fchmod(file.number(), old.st_mode & 07777) == 0;
  int failure = write_all(file.number(), text) && uninterrupted([&] { return fsync(file.number()); }) == 0 ? 0 : errno;
  if (failure == EINVAL || failure == EROFS) failure = 0;  // a file system without fsync()
  if (!file.close() && failure == 0) failure = errno;
  const auto rename = [&] { return renameat(folder, temporary.c_str(), folder, target.name.c_str()); };
  if (failure == 0 && permitted && uninterrupted(rename) == 0) return true;
  unlinkat(folder, temporary.c_str(), 0);
  if (failure != 0) refuse(path, failure);
  return false;
}

}  // namespace

void write_file(const std::string& path, std::string_view text) {
  const OutputTarget target = open_target(path);
  if (replace_file(path, target, text)) return;
  Descriptor file = open_file(path, target, O_CREAT | O_TRUNC);
  if (!write_all(file.number(), text) || !file.close()) refuse(path, errno);
}

void append_to_file(const std::string& path, std::string_view text) {
  const OutputTarget target = open_target(path);
  Descriptor file = open_file(path, target, O_CREAT | O_APPEND);
  if (!write_all(file.number(), text) || !file.close()) refuse(path, errno);
}

void make_folder(const std::string& path) {
  const OutputTarget target = open_target(path);
  if (mkdirat(target.folder.number(), target.name.c_str(), 0777) == 0) return;
  const int error = errno;
  struct stat status {};
  if (error != EEXIST || fstatat(target.folder.number(), target.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
    throw Error(fmt::format("cannot create the folder {}: {}", path, std::strerror(error)));
  if (S_ISLNK(status.st_mode)) throw Error(fmt::format("cannot write {}: it is a symbolic link", path));
  if (!S_ISDIR(status.st_mode))
    throw Error(fmt::format("cannot create the folder {}: a file with this name exists", path));
}

std::optional<Descriptor> make_private_folder(const std::string& path) {
  const OutputTarget target = open_target(path);
  if (mkdirat(target.folder.number(), target.name.c_str(), 0700) != 0) {
    if (errno == EEXIST) return std::nullopt;
    throw Error(fmt::format("cannot create the folder {}: {}", path, std::strerror(errno)));
  }
  return open_folder(path);
}

Descriptor open_folder(const std::string& path) {
  const OutputTarget target = open_target(path);
  constexpr int how = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  Descriptor folder(uninterrupted([&] { return openat(target.folder.number(), target.name.c_str(), how); }));
  if (!folder.is_open()) refuse(path, errno);
  return folder;
}

}  // namespace oomdoctor::cli
