// Files that people write: settings, rules, formats. They are short, so a long file is a mistake.
#pragma once

#include <string>

namespace oomdoctor {

/// Whether read_small_file follows a symbolic link.
enum class Links {
  follow,
  refuse,  ///< refuses a symbolic link, because another user may have created it
};

/// Returns the whole text. Throws Error if the file is not a regular file, is unreadable or exceeds 1 MiB. It never
/// reads from a device or a pipe.
std::string read_small_file(const std::string& path, Links links = Links::follow);

}  // namespace oomdoctor
