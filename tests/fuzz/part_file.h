// Bytes as a file of parts, for the targets that read parts.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "target.h"

namespace oomdoctor::testing {

/// A file in memory, because parts are read from files.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view text) : file_(memfd_create("part", 0)) {
    demand(file_ >= 0 && write(file_, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }
  ~MemoryFile() { close(file_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }

 private:
  int file_;
};

/// The first bytes of a part.
inline constexpr std::string_view part_front = "{\"oomdoctor_partial\":";

}  // namespace oomdoctor::testing
