// The GPUs while a command runs, as rows of a CSV: by NVIDIA's library, else by nvidia-smi or xpu-smi beside the command,
// else by the files of the amdgpu driver.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "run/bounded_rows.h"
#include "run/nvml.h"

namespace oomdoctor {

class GpuMonitor {
 public:
  /// Rows go to the CSV file `path`, which is created with the first row. `root` is prepended to /sys.
  explicit GpuMonitor(std::string path, std::string root = "");
  ~GpuMonitor();
  GpuMonitor(const GpuMonitor&) = delete;

  /// Where the monitor prints; negative if there is none.
  int output() const { return output_.number(); }
  /// Reads what the monitor has printed. Call it when output() can be read.
  void read();
  /// Takes a sample from the library or the driver's files, at this local time: "2024/05/12 03:14:16.582".
  void sample(std::string_view time);

 private:
  void start();
  void take_line(std::string_view line);
  void add_card(std::string_view time, std::size_t index, std::string_view name, std::uint64_t used,
                std::uint64_t total);
  void add(std::string_view row, std::string_view key, double level);

  std::string path_;
  pid_t pid_ = -1;
  Descriptor output_{-1};
  std::size_t key_column_ = 0, used_column_ = 0;
  std::string header_, rest_;  ///< the first line, and a line that has not ended yet
  std::optional<BoundedRows> rows_;
  std::optional<Nvml> nvml_;
  std::vector<std::string> cards_;  ///< folders of the driver, one for each GPU
};

}  // namespace oomdoctor
