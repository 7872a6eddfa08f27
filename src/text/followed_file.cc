#include "text/followed_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace oomdoctor {
namespace {

/// The size of a regular file; 0 for anything else, which has no end to look for.
i64 size_of(const struct stat& about) { return S_ISREG(about.st_mode) ? static_cast<i64>(about.st_size) : 0; }

}  // namespace

FollowedFile::FollowedFile(std::string path) : path_(std::move(path)) { open_new(); }

/// Opens the file of this name from its beginning. Without blocking: a pipe is not followed.
bool FollowedFile::open_new() {
  Descriptor file(
      uninterrupted([&] { return open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); }));
  struct stat about {};
  if (!file.is_open() || fstat(file.number(), &about) != 0 || !S_ISREG(about.st_mode)) return false;
  file_ = std::move(file);
  at_ = 0;
  return true;
}

/// After the last byte of the file: goes on with the file that has its name by now, or at the beginning if it was
/// emptied. False if neither happened.
bool FollowedFile::turn() {
  struct stat own {}, named {};
  if (!file_.is_open()) return open_new();
  if (fstat(file_.number(), &own) != 0) return false;
  if (size_of(own) < at_) {
    at_ = 0;
    return true;
  }
  const bool other = stat(path_.c_str(), &named) == 0 && (own.st_ino != named.st_ino || own.st_dev != named.st_dev);
  return other && open_new();
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
  do {
    if (!file_.is_open()) continue;
    const ssize_t got =
        uninterrupted([&] { return pread(file_.number(), buffer, size, static_cast<off_t>(at_)); });
    if (got < 0) throw Error("cannot read '" + path_ + "': " + std::strerror(errno));
    at_ += got;
    bytes_ += got;
    if (got > 0) return static_cast<std::size_t>(got);
  } while (turn());
  return 0;
}

}  // namespace oomdoctor
