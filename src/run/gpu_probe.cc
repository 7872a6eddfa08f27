#include "run/gpu_probe.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <vector>

#include "base/descriptor.h"
#include "run/local_time.h"
#include "run/nvml.h"
#include "run/process.h"

namespace oomdoctor {
namespace {

constexpr std::string_view driver_header = "timestamp, index, name, memory.total [MiB], memory.used [MiB]\n";

/// Programs that print rows of all GPUs every second.
const std::vector<std::vector<const char*>>& monitors() {
  static const std::vector<std::vector<const char*>> all{
      {"nvidia-smi", "--query-gpu=timestamp,index,name,memory.total,memory.used,utilization.gpu", "--format=csv", "-l",
       "1"},
      {"xpu-smi", "dump", "-d", "-1", "-m", "18", "-i", "1"}};
  return all;
}

bool is_on_path(std::string_view program) {
  const char* path = std::getenv("PATH");
  for (std::string_view rest = path != nullptr ? path : ""; !rest.empty();) {
    const std::string folder(rest.substr(0, rest.find(':')));
    rest.remove_prefix(std::min(folder.size() + 1, rest.size()));
    if (!folder.empty() && access((folder + '/' + std::string(program)).c_str(), X_OK) == 0) return true;
  }
  return false;
}

/// A whole number in a file of the driver; negative if there is none.
long long number_in(const std::string& path) {
  std::ifstream file(path);
  long long value = -1;
  return file >> value ? value : -1;
}

/// Becomes the first monitor that is installed. Returns if none is.
void become_monitor() {
  for (const auto& monitor : monitors()) {
    if (!is_on_path(monitor[0])) continue;
    std::vector<char*> words;
    for (const char* word : monitor) words.push_back(const_cast<char*>(word));
    words.push_back(nullptr);
    std::signal(SIGPIPE, SIG_DFL);
    execvp(words[0], words.data());
  }
}

/// The folders of the amdgpu driver, one for each GPU.
std::vector<std::string> amd_folders(const std::string& root) {
  std::vector<std::string> folders;
  std::error_code error;
  for (auto card = std::filesystem::directory_iterator(root + "/sys/class/drm", error);
       !error && card != std::filesystem::directory_iterator(); card.increment(error))
    if (const std::string device = card->path().string() + "/device";
        access((device + "/mem_info_vram_used").c_str(), R_OK) == 0 &&
        card->path().filename().string().find('-') == std::string::npos)  // not a connector: card0-DP-1
      folders.push_back(device);
  std::sort(folders.begin(), folders.end());
  return folders;
}

std::string make_row(const Nvml::Gpu& card, const std::string& time) {
  constexpr std::uint64_t mebibyte = 1 << 20;
  return time + ", " + std::to_string(card.index) + ", " + card.name + ", " + std::to_string(card.total / mebibyte) +
         " MiB, " + std::to_string(card.used / mebibyte) + " MiB\n";
}

std::vector<Nvml::Gpu> read_amd(const std::vector<std::string>& folders) {
  std::vector<Nvml::Gpu> cards;
  for (std::size_t i = 0; i < folders.size(); ++i) {
    const long long used = number_in(folders[i] + "/mem_info_vram_used");
    const long long total = number_in(folders[i] + "/mem_info_vram_total");
    if (used >= 0 && total >= 0)
      cards.push_back(
          {static_cast<unsigned>(i), "AMD GPU", static_cast<std::uint64_t>(used), static_cast<std::uint64_t>(total)});
  }
  return cards;
}

}  // namespace

int print_gpu_rows(const std::string& root) {
  const auto nvml = Nvml::load();
  if (!nvml) become_monitor();
  const std::vector<std::string> folders = nvml ? std::vector<std::string>{} : amd_folders(root);
  if (!nvml && folders.empty()) return 0;
  if (!write_all(STDOUT_FILENO, driver_header)) return 0;
  constexpr timespec second{1, 0};
  for (;;) {
    std::string rows;
    const std::string time = local_time();
    for (const Nvml::Gpu& card : nvml ? nvml->read() : read_amd(folders)) rows += make_row(card, time);
    if (!write_all(STDOUT_FILENO, rows)) return 0;
    nanosleep(&second, nullptr);
  }
}

GpuColumns GpuColumns::of(std::string_view header) {
  // The rows of NVIDIA's programs and of our own: time, index, name, total, used. Those of xpu-smi: time, device, used.
  return header.starts_with("timestamp, index") ? GpuColumns{1, 4} : GpuColumns{1, 2};
}

std::string_view find_cell(std::string_view row, std::size_t column) {
  for (; column > 0; --column) {
    const std::size_t comma = row.find(',');
    if (comma == row.npos) return {};
    row.remove_prefix(comma + 1);
  }
  row = row.substr(0, row.find(','));
  while (row.starts_with(' ')) row.remove_prefix(1);
  return row;
}

}  // namespace oomdoctor
