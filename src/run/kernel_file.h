// A small file that the kernel writes anew for each reader, such as /proc/meminfo.
#pragma once

#include <string>
#include <string_view>

#include "base/descriptor.h"

namespace oomdoctor {

class KernelFile {
 public:
  explicit KernelFile(std::string path) : path_(std::move(path)) {}

  /// The beginning of the file as it is now, at most 16 KiB; "" if it cannot be read. Valid until the next read(). The
  /// file stays open: looking it up costs more than reading it.
  std::string_view read();

 private:
  std::string path_;
  Descriptor file_{-1};
  std::string text_;
};

}  // namespace oomdoctor
