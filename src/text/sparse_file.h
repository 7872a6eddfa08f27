// The holes of a file: ranges that were never written. A file that was cut while a program wrote on, or that a crash
// left behind, may have a hole of a terabyte, which nobody wants to read byte by byte.
#pragma once

#include "base/bytes.h"

namespace oomdoctor {

/// Moves the reading position of one file over its holes. A file without holes costs one call of fstat.
class SparseFile {
 public:
  SparseFile() = default;
  /// `file` is open; its owner closes it.
  explicit SparseFile(int file);

  /// Call it before reading: moves over a hole. Returns the bytes that were skipped.
  i64 skip_hole();
  /// The bytes that may be read before the next call of skip_hole().
  i64 readable() const { return data_end_ - position_; }
  /// Call it after reading.
  void advance(i64 bytes) { position_ += bytes; }

 private:
  void stop();

  int file_ = -1;                ///< -1 if there is no hole, or none that the file system reports
  i64 position_ = 0;             ///< of the next byte
  i64 data_end_ = i64{1} << 62;  ///< the begin of the next hole
};

}  // namespace oomdoctor
