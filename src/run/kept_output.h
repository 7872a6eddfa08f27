// The output of a command, on disk in bounded space: its beginning and its end. A run prints its settings first and its
// failure last; what lies between is dropped if it is very long. If the disk takes no more, the newest output is kept
// in memory, so that the report of this run has it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "run/run_folder.h"

namespace oomdoctor {

class KeptOutput {
 public:
  /// Bytes of the beginning, and of each half of the end: together more than most runs print, and less than a
  /// checkpoint.
  static constexpr std::int64_t usual_part = 16 << 20;

  /// The file is `name`; while the command runs, its end is in `name`.1 and `name`.2. `mark` is the beginning of the
  /// lines that this program itself writes.
  KeptOutput(const RunFolder& folder, std::string name, std::string mark, std::int64_t part = usual_part);

  /// Appends output.
  void add(std::string_view text);
  /// Notes that this many bytes of the output never came here. Within the end, what lies before them is dropped as
  /// well.
  void skip(std::int64_t bytes);
  /// True once the beginning is complete: of what follows, only the end is kept.
  bool keeps_end() const { return !joined_ && head_bytes_ >= part_; }
  /// Joins the parts into the one file, with a line that counts the dropped bytes between them. Afterwards add()
  /// appends to that file.
  void join();

  std::int64_t dropped() const {
    return dropped_ + skipped_;
  }                                            ///< bytes between the beginning and the end, after join()
  int error() const { return error_; }         ///< errno of the first write that failed; 0 if none did
  std::int64_t lost() const { return lost_; }  ///< bytes that are neither on disk nor in memory after that failure
  /// After join(), and after the last add(): if a write failed, writes all of it into a new file instead of the parts.
  /// The disk may have room again. False if it has not.
  bool rescue();
  /// The whole text, if it is not all in the one file; after join().
  std::optional<std::string> text() const;

 private:
  /// One half of the end. The older half goes when the newer one is full.
  struct Half {
    std::string name;
    Descriptor file{-1};
    std::int64_t bytes = 0;
  };
  void begin_half();
  void drop(Half& half);
  /// Writes to the disk, or from the first failure on into memory. Returns the bytes that are on disk.
  std::int64_t write(const Descriptor& file, std::string_view text);
  void remember(std::string_view text);
  bool append(const Half& half);
  std::string dropped_line() const;

  const RunFolder& folder_;
  std::string name_, mark_;
  std::int64_t part_;
  Descriptor head_;
  std::int64_t head_bytes_ = 0;
  std::array<Half, 2> halves_;
  std::size_t newer_ = 0;  ///< the half that is being filled
  std::int64_t all_ = 0;   ///< bytes of the command that were written to the disk, or that only its end would hold
  std::int64_t dropped_ = 0, skipped_ = 0, lost_ = 0;
  std::string memory_;  ///< the newest output since the disk failed
  int error_ = 0;
  bool joined_ = false;
};

}  // namespace oomdoctor
