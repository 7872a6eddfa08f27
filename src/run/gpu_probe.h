// The GPUs while a command runs, as rows of a CSV: by NVIDIA's library, else by nvidia-smi or xpu-smi, else by the
// files of the amdgpu driver. A driver may hang or crash its caller, so this is for a process of its own.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace oomdoctor {

/// Prints a header and then rows of all GPUs each second to standard output; for ever, or as long as somebody reads it.
/// Returns at once if there is no GPU. `root` is prepended to /sys.
int print_gpu_rows(const std::string& root = "");

/// What a row of a known header is about.
struct GpuColumns {
  std::size_t key = 0, used = 0;  ///< indices of the columns with the GPU and its memory in use
  /// Of a header that print_gpu_rows() prints.
  static GpuColumns of(std::string_view header);
};
/// The cell of a row, without blanks in front.
std::string_view find_cell(std::string_view row, std::size_t column);

}  // namespace oomdoctor
