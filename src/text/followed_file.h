// A file that somebody else writes, as one endless text: it may not exist yet, grow, be replaced by a new file of its
// name, or start again at its beginning. A failure to read is never final: problem() names it, and the next call opens
// the file again and goes on after the last byte.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>

#include "base/bytes.h"
#include "base/descriptor.h"

namespace oomdoctor {

class FollowedFile {
 public:
  /// Opens nothing yet.
  explicit FollowedFile(std::string path);

  /// Takes what has been written, before somebody empties the file, as long as less than `most` bytes wait for read().
  /// Returns how many wait.
  std::size_t take(std::size_t most);
  /// Passes on up to `size` bytes: those that wait, then the file's; 0 if there are none for now.
  std::size_t read(char* buffer, std::size_t size);
  /// From now on, read() passes on only the bytes that wait.
  void seal() { sealed_ = true; }
  /// Puts the bytes that wait back: they count as untaken.
  void leave_waiting();
  /// Gives the descriptor back until the next byte is needed. A file that is replaced until then may lose its end.
  void close() { file_.close(); }

  const std::string& path() const { return path_; }
  /// Bytes taken from the files so far.
  i64 bytes() const { return bytes_; }
  /// Bytes that the file has after those.
  i64 untaken() const;
  /// Why the last call could not read on: "Permission denied", "it is not a regular file"; "" if it could.
  std::string problem() const;
  /// The problem is only that there is no such file yet.
  bool is_missing() const;
  /// The problem is that this process or the machine has no descriptor left.
  bool lacks_descriptor() const;
  /// The file was replaced while it was not open, so that the end of the old one may not have been read.
  bool may_lack_end() const { return may_lack_end_; }

 private:
  std::size_t read_file(char* buffer, std::size_t size);
  bool turn();
  bool open_named();
  bool fail(int error);

  std::string path_;
  Descriptor file_{-1};
  dev_t device_ = 0;  ///< of the file that is or was open last,
  ino_t inode_ = 0;   ///< 0: none was
  i64 at_ = 0;        ///< offset of the next byte in it
  i64 bytes_ = 0;
  i64 left_ = 0;   ///< taken, and put back
  int error_ = 0;  ///< of the last call
  bool sealed_ = false, may_lack_end_ = false;
  std::string waiting_;
};

}  // namespace oomdoctor
