// A file that somebody else writes, as one endless text: it may not exist yet, grow, be replaced by a new file of its
// name, or start again at its beginning.
#pragma once

#include <cstddef>
#include <string>

#include "base/bytes.h"
#include "base/descriptor.h"

namespace oomdoctor {

class FollowedFile {
 public:
  explicit FollowedFile(std::string path);

  /// Takes what has been written, before somebody empties the file, as long as less than `most` bytes wait for read().
  /// Returns how many wait. Throws Error if reading fails.
  std::size_t take(std::size_t most);
  /// Passes on up to `size` bytes: those that wait, then the file's; 0 if there are none for now. Throws Error if reading
  /// fails.
  std::size_t read(char* buffer, std::size_t size);

  /// Bytes taken from the files so far.
  i64 bytes() const { return bytes_; }

 private:
  std::size_t read_file(char* buffer, std::size_t size);
  bool turn();
  bool open_new();

  std::string path_;
  Descriptor file_{-1};
  i64 at_ = 0;  ///< offset of the next byte
  i64 bytes_ = 0;
  std::string waiting_;
};

}  // namespace oomdoctor
