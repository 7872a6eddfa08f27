// Files that people write: settings, rules, formats. They are short, and what is not is no such file.
#pragma once

#include <string>

namespace oomdoctor {

enum class Links {
  follow,
  refuse,  ///< a name that leads elsewhere is refused: who made it need not be who runs the program
};

/// The whole text. Throws Error for what is no regular file, cannot be read or is longer than 1 MiB; nothing is read of
/// a device or a pipe.
std::string read_small_file(const std::string& path, Links links = Links::follow);

}  // namespace oomdoctor
