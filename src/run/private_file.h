// Files that only their owner may read: the output of a command may contain secrets.
#pragma once

#include <fcntl.h>

#include <string>

#include "base/descriptor.h"

namespace oomdoctor {

/// Creates or empties the file, never through a link. Not open on failure, with the reason in errno.
inline Descriptor create_private_file(const std::string& path) {
  return Descriptor(open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
}

}  // namespace oomdoctor
