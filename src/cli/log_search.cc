#include "cli/log_search.h"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "base/error.h"
#include "base/natural_order.h"
#include "cli/file_kinds.h"

namespace oomdoctor::cli {
namespace {

namespace fs = std::filesystem;

// Bounds for huge folders: the number of logs and of visited entries, and the depth below a known folder.
constexpr std::size_t max_logs = 256, max_entries = 100000;
constexpr int max_depth = 8;
/// Logs of one run were last written within this time.
constexpr auto max_age_difference = std::chrono::minutes(10);

struct FoundLog {
  std::string path;
  fs::file_time_type written;
};

/// The content of a folder, sorted by name; empty if the folder cannot be read.
std::vector<fs::directory_entry> list_entries(const fs::path& folder) {
  std::vector<fs::directory_entry> entries;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end && entries.size() < max_entries;
       it.increment(error))
    entries.push_back(*it);
  std::sort(entries.begin(), entries.end());
  return entries;
}

class LogSearch {
 public:
  std::vector<FoundLog> found;

  /// Collects the logs of a folder, and of its subfolders down to `depth` levels.
  void visit(const fs::path& folder, int depth) {
    for (const auto& entry : list_entries(folder)) {
      if (++seen_ > max_entries) return;
      std::error_code error;
      if (entry.is_symlink(error) && entry.is_directory(error)) continue;  // a link may lead anywhere
      if (entry.is_directory(error) && depth > 0 && !is_foreign_folder(entry.path().filename().string()))
        visit(entry.path(), depth - 1);
      else if (entry.is_regular_file(error) && kind_of_name(entry.path().filename().string()) == FileKind::log)
        add(entry);
    }
  }

 private:
  void add(const fs::directory_entry& entry) {
    std::error_code error;
    const auto written = entry.last_write_time(error);
    if (!error && entry.file_size(error) > 0) found.push_back({entry.path().lexically_normal().string(), written});
  }

  std::size_t seen_ = 0;
};

bool is_attempt(const fs::directory_entry& entry) { return entry.path().filename().string().starts_with("attempt_"); }

/// torchrun --log-dir DIR creates DIR/attempt_0 or DIR/RUN/attempt_0.
bool is_of_torchrun(const fs::path& folder) {
  const auto entries = list_entries(folder);
  if (std::any_of(entries.begin(), entries.end(), is_attempt)) return true;
  return std::any_of(entries.begin(), entries.end(), [](const fs::directory_entry& entry) {
    std::error_code error;
    if (entry.is_symlink(error) || !entry.is_directory(error)) return false;
    const auto below = list_entries(entry.path());
    return std::any_of(below.begin(), below.end(), is_attempt);
  });
}

}  // namespace

std::vector<std::string> find_logs() {
  constexpr const char* usual[] = {"log", "logs", "slurm_logs", "lightning_logs", "outputs", "wandb/latest-run/files"};
  LogSearch search;
  search.visit(".", 0);
  for (const char* folder : usual)
    if (std::error_code error; !fs::is_symlink(folder, error)) search.visit(folder, max_depth);
  for (const auto& entry : list_entries(".")) {
    const std::string name = entry.path().filename().string();
    const bool known = std::find(std::begin(usual), std::end(usual), name) != std::end(usual);
    std::error_code error;
    if (!known && name.front() != '.' && !entry.is_symlink(error) && entry.is_directory(error) &&
        is_of_torchrun(entry.path()))
      search.visit(entry.path(), max_depth);
  }
  auto& found = search.found;
  if (found.empty())
    throw Error(
        "no log found", "",
        "searched for *.log, *.out, *.err and outputs of schedulers here, in log/, logs/ and torchrun's folders; pass "
        "one: oomdoctor ci train.log");
  std::sort(found.begin(), found.end(), [](const FoundLog& a, const FoundLog& b) {
    return a.written != b.written ? a.written > b.written : natural_less(a.path, b.path);
  });
  std::vector<std::string> paths;
  for (const auto& candidate : found)
    if (candidate.written >= found.front().written - max_age_difference && paths.size() < max_logs)
      paths.push_back(candidate.path);
  return paths;
}

}  // namespace oomdoctor::cli
