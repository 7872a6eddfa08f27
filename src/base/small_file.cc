#include "base/small_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/descriptor.h"
#include "base/error.h"

namespace oomdoctor {
namespace {

constexpr std::size_t max_bytes = 1 << 20;

[[noreturn]] void refuse(const std::string& path, int error) {
  if (error == ENOENT) throw Error("file not found: " + path);
  if (error == ELOOP) throw Error(path + " is a link, and is not followed");
  throw Error("cannot read " + path + ": " + std::strerror(error));
}

}  // namespace

std::string read_small_file(const std::string& path, Links links) {
  // O_NONBLOCK: open() would wait forever for the writer of a pipe.
  const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | (links == Links::refuse ? O_NOFOLLOW : 0);
  const Descriptor file(uninterrupted([&] { return open(path.c_str(), flags); }));
  if (!file.is_open()) refuse(path, errno);
  struct stat status {};
  if (fstat(file.number(), &status) != 0) refuse(path, errno);
  if (!S_ISREG(status.st_mode)) throw Error(path + " is not a file");
  std::string text;
  char piece[1 << 14];
  while (const ssize_t got = uninterrupted([&] { return read(file.number(), piece, sizeof piece); })) {
    if (got < 0) refuse(path, errno);
    text.append(piece, static_cast<std::size_t>(got));
    if (text.size() > max_bytes) throw Error(path + " is longer than 1 MiB", "", "is it the right file?");
  }
  return text;
}

}  // namespace oomdoctor
