// Writes down what a command prints, the memory that it takes and how it ends, in a process of its own: files and
// probes may block or fail here, and the command does not notice. It says in the files what it could not keep.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "run/bounded_rows.h"
#include "run/child.h"
#include "run/host_memory.h"
#include "run/kept_output.h"
#include "run/probe.h"
#include "run/recorder_link.h"
#include "run/run_folder.h"

namespace oomdoctor {

/// What a run left behind, to be judged. The text of a log is set if its file does not have all of it.
struct RunEvidence {
  struct Log {
    std::string path;
    std::optional<std::string> text;
  };
  std::vector<Log> logs;
  std::string incomplete;  ///< why the file of the output does not have all of it; "" if it has
};

/// The names of the files of a run, in its folder.
struct RunFileNames {
  static constexpr const char* output = "output.log";    ///< what the command printed, and how it ended
  static constexpr const char* samples = "samples.csv";  ///< host memory, each second
  static constexpr const char* gpus = "gpus.csv";        ///< GPU memory, each second; only with a GPU
  /// Those, and the ones that exist while the command runs.
  static std::vector<std::string> all();
};

/// The payload of FrameKind::end.
struct EndFrame {
  CommandEnd end;
  bool report = false;  ///< whether the run is worth a report
};

/// What is to remain of a run. If the relay was killed, its files remain, and nobody waits for a report.
enum class Wanted { nothing, files, report };

class Recorder {
 public:
  /// `socket` is our end of the link. Standard output and error are still those of the command: a regular file is read
  /// next to it. They may change afterwards.
  Recorder(const RunFolder& folder, const std::vector<std::string>& words, Descriptor socket, OutputRing& ring);

  /// Until the command has ended, or the relay has.
  Wanted record();
  RunEvidence evidence() const;

 private:
  /// A regular file that the command writes itself.
  struct Followed {
    Descriptor file{-1};
    std::int64_t at = 0;
    std::size_t stream = 0;
  };

  void follow(int standard);
  bool receive();
  bool take_output();
  void take(FrameKind kind, std::string_view payload);
  void keep(std::size_t stream, std::string_view text, bool at_end);
  void read_followed();
  void read_host();
  void read_gpus();
  void take_gpu_line(std::string_view line);
  void take_sample(std::string_view time, const HostMemory& now);
  void finish();
  void say(const std::string& words);
  void say_memory();
  bool memory_was_free() const;
  void lose(std::string what, std::string why);

  const RunFolder& folder_;
  std::string command_, mark_;
  Descriptor socket_;
  OutputRing& ring_;
  KeptOutput output_;
  BoundedRows rows_;
  std::optional<BoundedRows> gpu_rows_;
  std::vector<Followed> followed_;
  Probe host_, gpus_;
  std::string host_bytes_, gpu_bytes_, gpu_header_;
  std::array<std::string, 4> unfinished_;   ///< of each stream, the beginning of a line
  std::optional<HostMemory> first_, last_;  ///< samples: the first, and the last one with the command's memory
  std::int64_t kills_ = 0;                  ///< of the command's cgroup since the first sample
  std::optional<std::int64_t> machine_kills_, lowest_available_;
  std::optional<std::int64_t> largest_space_;  ///< address space of a process
  std::optional<double> highest_group_share_;  ///< of the limit of the command's cgroup
  std::vector<std::string> lost_;              ///< what could not be had and why: sentences
  std::optional<EndFrame> end_;
  std::int64_t missing_ = 0;  ///< of the ring when it was last looked at
  int failures_ = 0;          ///< of recv() in a row
  bool saved_ = true;         ///< the file of the output has all of it
};

}  // namespace oomdoctor
