#include "text/sparse_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace oomdoctor {

SparseFile::SparseFile(int file) {
  constexpr i64 bytes_of_block = 512;  // the unit of st_blocks on every file system
  struct stat status {};
  if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) return;
  if (i64{status.st_blocks} * bytes_of_block >= status.st_size) return;
  const off_t here = ::lseek(file, 0, SEEK_CUR);
  if (here < 0) return;
  file_ = file;
  position_ = data_end_ = here;
}

/// Goes on as in a file without holes.
void SparseFile::stop() {
  ::lseek(file_, position_, SEEK_SET);
  file_ = -1;
  data_end_ = i64{1} << 62;
}

i64 SparseFile::skip_hole() {
  if (file_ < 0 || position_ < data_end_) return 0;
  i64 data = ::lseek(file_, position_, SEEK_DATA);
  const bool at_end = data < 0 && errno == ENXIO;
  if (at_end) data = std::max<i64>(::lseek(file_, 0, SEEK_END), position_);  // the rest of the file is a hole
  const i64 end = at_end ? data : data < 0 ? data : ::lseek(file_, data, SEEK_HOLE);
  if (data < 0 || end < 0) return stop(), 0;
  const i64 skipped = data - position_;
  position_ = data;
  data_end_ = end;
  if (::lseek(file_, position_, SEEK_SET) < 0) return stop(), 0;
  if (at_end) data_end_ = position_ + 1;  // a read then finds the end, or what was written since
  return skipped;
}

}  // namespace oomdoctor
