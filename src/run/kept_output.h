// The output of a command, on disk in bounded space: its beginning and its end. A run prints its settings first and its
// failure last; what lies between is dropped if it is very long.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/descriptor.h"

namespace oomdoctor {

class KeptOutput {
 public:
  /// Bytes of the beginning, and of each half of the end: together more than most runs print, and less than a checkpoint.
  static constexpr std::int64_t usual_part = 16 << 20;

  /// The file is `path`; while the command runs, its end is in `path`.1 and `path`.2. Throws Error if `path` cannot be
  /// created.
  explicit KeptOutput(std::string path, std::int64_t part = usual_part);

  /// Appends output. If a write fails, for example on a full disk, nothing more is kept; the command goes on.
  void add(std::string_view text);
  /// Joins the parts into the one file, with a line that counts the dropped bytes between them. Afterwards add() appends
  /// to that file.
  void join();

  std::int64_t dropped() const { return dropped_; }  ///< bytes between the beginning and the end, after join()
  bool failed() const { return failed_; }            ///< something could not be written

 private:
  /// One half of the end. The older half goes when the newer one is full.
  struct Half {
    std::string path;
    Descriptor file{-1};
    std::int64_t bytes = 0;
  };
  void begin_half();
  void append(const Half& half);

  std::string path_;
  std::int64_t part_;
  Descriptor head_;
  std::int64_t head_bytes_ = 0;
  std::array<Half, 2> halves_;
  std::size_t newer_ = 0;        ///< the half that is being filled
  std::int64_t all_ = 0;         ///< bytes of the command so far
  std::int64_t dropped_ = 0;
  bool joined_ = false, failed_ = false;
};

}  // namespace oomdoctor
