#include "run/kernel_file.h"

#include <fcntl.h>

#include <array>

namespace oomdoctor {
namespace {

/// The kernel hands out a page at a time, and less only where the next entry of the file did not fit. So a piece of at
/// most half a page is the whole file.
constexpr std::size_t half_page = 2048;

}  // namespace

std::string_view KernelFile::read() {
  std::array<char, 16384> buffer;  // /proc/vmstat has 5 KiB
  if (!file_.is_open()) file_ = Descriptor(open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  std::size_t size = 0;
  while (file_.is_open() && size < buffer.size()) {
    const ssize_t got = uninterrupted(
        [&] { return pread(file_.number(), buffer.data() + size, buffer.size() - size, static_cast<off_t>(size)); });
    if (got < 0) file_.close();  // the process or the group is gone
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
    if (static_cast<std::size_t>(got) <= half_page) break;
  }
  text_.assign(buffer.data(), size);
  return text_;
}

}  // namespace oomdoctor
