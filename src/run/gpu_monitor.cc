#include "run/gpu_monitor.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace oomdoctor {
namespace {

constexpr std::size_t max_rows = 16384;      ///< half an hour of eight GPUs in full; about 2 MB
constexpr std::size_t max_line = 4096;       ///< bytes; a longer line is no row of a monitor
constexpr std::string_view driver_header = "timestamp, index, name, memory.total [MiB], memory.used [MiB]";

/// A program that prints rows of all GPUs every second.
struct Monitor {
  std::vector<const char*> words;
  std::size_t key_column, used_column;
};
const std::array<Monitor, 2>& monitors() {
  static const std::array<Monitor, 2> all{
      {{{"nvidia-smi", "--query-gpu=timestamp,index,name,memory.total,memory.used,utilization.gpu", "--format=csv",
         "-l", "1"},
        1,
        4},
       {{"xpu-smi", "dump", "-d", "-1", "-m", "18", "-i", "1"}, 1, 2}}};
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

/// The cell of a row, without blanks around it.
std::string_view cell(std::string_view row, std::size_t column) {
  for (; column > 0; --column) {
    const std::size_t comma = row.find(',');
    if (comma == row.npos) return {};
    row.remove_prefix(comma + 1);
  }
  row = row.substr(0, row.find(','));
  while (row.starts_with(' ')) row.remove_prefix(1);
  return row;
}

double number_at_front(std::string_view text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// A whole number in a file of the driver; negative if there is none.
long long number_in(const std::string& path) {
  std::ifstream file(path);
  long long value = -1;
  return file >> value ? value : -1;
}

}  // namespace

GpuMonitor::GpuMonitor(std::string path, std::string root) : path_(std::move(path)), nvml_(Nvml::load()) {
  if (nvml_) return;
  start();
  if (output_.is_open()) return;
  std::error_code error;
  for (auto card = std::filesystem::directory_iterator(root + "/sys/class/drm", error);
       !error && card != std::filesystem::directory_iterator(); card.increment(error))
    if (const std::string device = card->path().string() + "/device";
        access((device + "/mem_info_vram_used").c_str(), R_OK) == 0 &&
        card->path().filename().string().find('-') == std::string::npos)  // not a connector: card0-DP-1
      cards_.push_back(device);
  std::sort(cards_.begin(), cards_.end());
}

/// The monitor is in a process group of its own, because signals from the terminal are not for it, and dies with us.
void GpuMonitor::start() {
  const auto found =
      std::find_if(monitors().begin(), monitors().end(), [](const Monitor& m) { return is_on_path(m.words[0]); });
  std::array<int, 2> ends{};
  if (found == monitors().end() || pipe2(ends.data(), O_CLOEXEC) != 0) return;
  Descriptor read(ends[0]), write(ends[1]);
  std::vector<char*> words;
  for (const char* word : found->words) words.push_back(const_cast<char*>(word));
  words.push_back(nullptr);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    const int none = open("/dev/null", O_RDWR);
    dup2(none, STDIN_FILENO);
    dup2(write.number(), STDOUT_FILENO);
    dup2(none, STDERR_FILENO);
    sigset_t all;
    sigemptyset(&all);
    sigprocmask(SIG_SETMASK, &all, nullptr);
    execvp(words[0], words.data());
    _exit(1);
  }
  if (pid_ < 0) return;
  key_column_ = found->key_column;
  used_column_ = found->used_column;
  fcntl(read.number(), F_SETFL, O_NONBLOCK);
  output_ = std::move(read);
}

GpuMonitor::~GpuMonitor() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  uninterrupted([&] { return waitpid(pid_, nullptr, 0); });
}

void GpuMonitor::read() {
  std::array<char, 1 << 14> buffer;
  const ssize_t got = uninterrupted([&] { return ::read(output_.number(), buffer.data(), buffer.size()); });
  if (got <= 0) {
    if (got == 0 || errno != EAGAIN) output_.close();
    return;
  }
  rest_.append(buffer.data(), static_cast<std::size_t>(got));
  std::size_t begin = 0;
  for (std::size_t end = rest_.find('\n'); end != rest_.npos; end = rest_.find('\n', begin)) {
    std::string_view line = std::string_view(rest_).substr(begin, end - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    take_line(line);
    begin = end + 1;
  }
  rest_.erase(0, begin);
  if (rest_.size() > max_line) rest_.clear();
}

/// A monitor without a GPU prints a sentence instead of a header and rows.
void GpuMonitor::take_line(std::string_view line) {
  if (line.size() > max_line) return;
  if (header_.empty())
    header_ = line;
  else if (const std::string_view used = cell(line, used_column_); !used.empty())
    add(line, cell(line, key_column_), number_at_front(used));
}

void GpuMonitor::add(std::string_view row, std::string_view key, double level) {
  if (!rows_) rows_.emplace(path_, header_, max_rows);
  rows_->add(row, key, level);
}

void GpuMonitor::sample(std::string_view time) {
  if (nvml_)
    for (const Nvml::Card& card : nvml_->read()) add_card(time, card.index, card.name, card.used, card.total);
  for (std::size_t i = 0; i < cards_.size(); ++i) {
    const long long used = number_in(cards_[i] + "/mem_info_vram_used");
    const long long total = number_in(cards_[i] + "/mem_info_vram_total");
    if (used >= 0 && total >= 0)
      add_card(time, i, "AMD GPU", static_cast<std::uint64_t>(used), static_cast<std::uint64_t>(total));
  }
}

void GpuMonitor::add_card(std::string_view time, std::size_t index, std::string_view name, std::uint64_t used,
                          std::uint64_t total) {
  constexpr std::uint64_t mebibyte = 1 << 20;
  header_ = driver_header;
  std::string row(time);
  row += ", " + std::to_string(index) + ", " + std::string(name) + ", " + std::to_string(total / mebibyte) + " MiB, " +
         std::to_string(used / mebibyte) + " MiB";
  add(row, std::to_string(index), static_cast<double>(used));
}

}  // namespace oomdoctor
