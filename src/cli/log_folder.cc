#include "cli/log_folder.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <utility>

#include "cli/file_kinds.h"
#include "cli/input_scope.h"
#include "report/words.h"

namespace oomdoctor::cli {
namespace {

namespace fs = std::filesystem;

// Bounds for huge and deep trees, far above a job with thousands of ranks.
constexpr std::size_t max_folder_entries = 200'000;
constexpr int max_folder_depth = 64;

/// Lists one folder after the other, so that a deep tree takes no more descriptors than a flat one.
class FolderSearch {
 public:
  FolderSearch(const std::string& root, const InputScope& scope) : root_(root), scope_(scope) {}

  FolderLogs run() {
    waiting_.push_back({root_, 0});
    while (!waiting_.empty()) {
      const Folder folder = std::move(waiting_.back());
      waiting_.pop_back();
      list(folder);
    }
    if (beyond_ > 0)
      lose(fmt::format("{} of the folder", plural(beyond_, "entry", "entries")),
           fmt::format("more than {}", count_text(static_cast<std::int64_t>(max_folder_entries))), root_);
    return std::move(found_);
  }

 private:
  struct Folder {
    std::string path;
    int depth;
  };

  void lose(std::string what, std::string why, const std::string& path) {
    found_.lost.push_back({std::move(what), std::move(why), path, std::nullopt});
  }

  void leave_out(const std::string& path, std::string_view why) {
    found_.left_out.push_back(fmt::format("{} ({})", path, why));
  }

  void list(const Folder& folder) {
    if (folder.depth > max_folder_depth)
      return lose("the folder", fmt::format("more than {} folders deep", max_folder_depth), folder.path);
    const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(folder.path.c_str()), closedir);
    if (!open) return lose("the folder", std::strerror(errno), folder.path);
    while (true) {
      errno = 0;
      const dirent* entry = readdir(open.get());
      if (entry == nullptr) break;
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") add(folder, name);
    }
    if (errno != 0) lose("the rest of the folder", std::strerror(errno), folder.path);
  }

  void add(const Folder& folder, std::string_view name) {
    if (entries_ == max_folder_entries) {
      ++beyond_;
      return;
    }
    ++entries_;
    const std::string path = (folder.path.ends_with('/') ? folder.path : folder.path + '/') + std::string(name);
    struct stat link {
    }, status{};
    if (lstat(path.c_str(), &link) != 0) {
      if (errno != ENOENT) lose("the file", std::strerror(errno), path);
      return;
    }
    const bool is_link = S_ISLNK(link.st_mode);
    if (is_link && stat(path.c_str(), &status) != 0) return leave_out(path, "a link to nothing");
    if (!is_link) status = link;
    if (S_ISDIR(status.st_mode)) {
      if (is_foreign_folder(name)) return;
      if (!is_link) return waiting_.push_back({path, folder.depth + 1});
      if (!leads_into_root(path)) leave_out(path, "a link to a folder");
    } else if (!S_ISREG(status.st_mode)) {
      leave_out(path, "no regular file");
    } else if (const std::string why = is_link ? find_refusal(path, scope_) : ""; !why.empty()) {
      if (may_name_log(name)) lose("the log", why, path);
    } else {
      add_file(path);
    }
  }

  void add_file(const std::string& path) {
    switch (kind_of_file(path)) {
      case FileKind::log:
      case FileKind::text:
        return found_.paths.push_back(path);
      case FileKind::binary:
        return leave_out(path, "binary");
      default:
        return;
    }
  }

  /// True if the folder is searched anyway.
  bool leads_into_root(const std::string& link) const {
    std::error_code error;
    const std::string root = fs::canonical(root_, error).string() + '/', to = fs::canonical(link, error).string() + '/';
    return !error && to.starts_with(root);
  }

  std::string root_;
  const InputScope& scope_;
  std::vector<Folder> waiting_;
  FolderLogs found_;
  std::size_t entries_ = 0;
  std::int64_t beyond_ = 0;
};

/// True for a folder of oomdoctor run: by its name, or by the header of the samples in it.
bool is_folder_of_run(const fs::path& folder, const InputScope& scope) {
  constexpr std::string_view header = "time,process_tree_rss,";
  std::error_code error;
  const fs::path whole = (fs::current_path(error) / folder).lexically_normal();
  for (const fs::path& part : {whole, whole.parent_path()})  // a run may have a folder of its own in that one
    if (part.filename().string().starts_with("oomdoctor-run")) return true;
  const fs::path samples = folder / "samples.csv";
  if (!fs::is_regular_file(samples, error) || !find_refusal(samples.string(), scope).empty()) return false;
  std::string first(header.size(), '\0');
  std::ifstream(samples, std::ios::binary).read(first.data(), static_cast<std::streamsize>(first.size()));
  return first == header;
}

}  // namespace

FolderLogs find_logs_in(const std::string& folder, const InputScope& scope) {
  return FolderSearch(folder, scope).run();
}

std::vector<std::string> find_continuations(const std::string& path, const InputScope& scope) {
  std::vector<std::pair<fs::file_time_type, std::string>> halves;
  if (fs::path(path).filename() != "output.log") return {};
  for (const char* half : {".2", ".1"}) {  // the one that is filled first, first
    std::error_code error;
    const std::string name = path + half;
    if (!fs::is_regular_file(name, error)) continue;
    halves.emplace_back(fs::last_write_time(name, error), name);
  }
  if (halves.empty() || !is_folder_of_run(fs::path(path).parent_path(), scope)) return {};
  std::stable_sort(halves.begin(), halves.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> paths;
  for (auto& [time, name] : halves) paths.push_back(std::move(name));
  return paths;
}

}  // namespace oomdoctor::cli
