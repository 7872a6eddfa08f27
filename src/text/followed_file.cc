#include "text/followed_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace oomdoctor {
namespace {

constexpr int not_regular = ENXIO;  ///< for every kind of file that has no end to look for

}  // namespace

FollowedFile::FollowedFile(std::string path) : path_(std::move(path)) {}

/// Remembers the error. Always false.
bool FollowedFile::fail(int error) {
  error_ = error;
  return false;
}

/// Opens the file that has the name now: at the place where reading stopped if it is the same file, else at its
/// beginning.
bool FollowedFile::open_named() {
  // To open a pipe would start its writer, and to open a device may have any effect, so look first.
  struct stat about {};
  if (stat(path_.c_str(), &about) != 0) return fail(errno);
  if (!S_ISREG(about.st_mode)) return fail(not_regular);
  Descriptor file(uninterrupted([&] { return open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); }));
  if (!file.is_open() || fstat(file.number(), &about) != 0) return fail(errno);
  if (!S_ISREG(about.st_mode)) return fail(not_regular);
  if (about.st_dev != device_ || about.st_ino != inode_) {
    may_lack_end_ = may_lack_end_ || (inode_ != 0 && !file_.is_open());
    at_ = 0;
  }
  device_ = about.st_dev;
  inode_ = about.st_ino;
  file_ = std::move(file);
  return true;
}

/// After the last byte of the file: goes on with the file that has its name by now, or at the beginning if it was
/// emptied. False if neither happened.
bool FollowedFile::turn() {
  if (!file_.is_open()) return open_named();
  struct stat own {
  }, named{};
  if (fstat(file_.number(), &own) != 0) return fail(errno);
  if (own.st_size < at_) {
    at_ = 0;
    return true;
  }
  const bool other = stat(path_.c_str(), &named) == 0 && (own.st_ino != named.st_ino || own.st_dev != named.st_dev);
  return other && open_named();
}

std::size_t FollowedFile::take(std::size_t most) {
  constexpr std::size_t piece = 1 << 16;
  while (waiting_.size() < most) {
    const std::size_t before = waiting_.size();
    waiting_.resize(before + piece);
    const std::size_t got = read_file(waiting_.data() + before, piece);
    waiting_.resize(before + got);
    if (got == 0) break;
  }
  return waiting_.size();
}

std::size_t FollowedFile::read(char* buffer, std::size_t size) {
  if (waiting_.empty()) return read_file(buffer, size);
  const std::size_t got = std::min(size, waiting_.size());
  std::memcpy(buffer, waiting_.data(), got);
  waiting_.erase(0, got);
  return got;
}

std::size_t FollowedFile::read_file(char* buffer, std::size_t size) {
  if (sealed_) return 0;
  error_ = 0;
  do {
    if (!file_.is_open()) continue;
    const ssize_t got = uninterrupted([&] { return pread(file_.number(), buffer, size, static_cast<off_t>(at_)); });
    if (got < 0) {
      error_ = errno;
      file_.close();  // a stale handle of a network file system stays stale
      return 0;
    }
    at_ += got;
    bytes_ += got;
    if (got > 0) return static_cast<std::size_t>(got);
  } while (turn());
  return 0;
}

void FollowedFile::leave_waiting() {
  const i64 size = static_cast<i64>(waiting_.size());
  left_ += size;
  bytes_ -= size;
  waiting_.clear();
}

i64 FollowedFile::untaken() const {
  struct stat about {};
  const bool known = file_.is_open() ? fstat(file_.number(), &about) == 0 : stat(path_.c_str(), &about) == 0;
  if (!known || !S_ISREG(about.st_mode)) return left_;
  const bool same = about.st_dev == device_ && about.st_ino == inode_;
  return left_ + std::max<i64>(0, static_cast<i64>(about.st_size) - (same ? at_ : 0));
}

std::string FollowedFile::problem() const {
  if (error_ == not_regular) return "it is not a regular file";
  return error_ == 0 ? "" : std::strerror(error_);
}

bool FollowedFile::is_missing() const { return error_ == ENOENT; }
bool FollowedFile::lacks_descriptor() const { return error_ == EMFILE || error_ == ENFILE; }

}  // namespace oomdoctor
