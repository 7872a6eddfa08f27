#include "cli/inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>

#include "base/error.h"
#include "base/natural_order.h"
#include "cli/ci_system.h"
#include "cli/console.h"
#include "parse/user_formats.h"

namespace oomdoctor::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 9> log_suffixes = {".log",  ".out",   ".err", ".txt", ".csv",
                                                          ".json", ".jsonl", ".gz",  ".zst"};

bool has_log_suffix(const fs::path& path) {
  return std::find(log_suffixes.begin(), log_suffixes.end(), path.extension().string()) != log_suffixes.end();
}

/// Finds the logs below a folder. It does not follow links to folders, which may lead to a loop or a foreign tree. It
/// skips oomdoctor-out, the reports of an earlier run.
std::vector<std::string> find_logs_in(const fs::path& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  const auto options = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator it(folder, options, error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename() == "oomdoctor-out")
      it.disable_recursion_pending();
    else if (it->is_regular_file(error) && has_log_suffix(it->path()))
      paths.push_back(it->path().string());
  }
  if (error) throw Error(fmt::format("cannot read the folder {}: {}", folder.string(), error.message()));
  if (paths.empty())
    throw Error(fmt::format("no log found in the folder {}", folder.string()), "",
                fmt::format("searched for *{}; pass other files by name", fmt::join(log_suffixes, " ")));
  return paths;
}

/// Expands a pattern that the shell did not expand, because it was quoted or came from a script.
std::vector<std::string> expand_pattern(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> paths;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0)
    for (std::size_t i = 0; i < found.gl_pathc; ++i) paths.emplace_back(found.gl_pathv[i]);
  globfree(&found);
  return paths;
}

/// Throws an Error that suggests a similar name in the same folder.
[[noreturn]] void refuse_missing(const fs::path& path) {
  std::vector<std::string> neighbours;
  std::error_code error;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  for (fs::directory_iterator it(folder, error), end; !error && it != end && neighbours.size() < 10000;
       it.increment(error))
    neighbours.push_back((path.has_parent_path() ? it->path() : it->path().filename()).string());
  std::sort(neighbours.begin(), neighbours.end());
  throw Error(fmt::format("file not found: {}", path.string()), "", suggestion(path.string(), neighbours));
}

/// True for a pipe, a file or a socket; false for a terminal and /dev/null.
bool standard_input_has_text() {
  struct stat status {};
  return fstat(STDIN_FILENO, &status) == 0 &&
         (S_ISFIFO(status.st_mode) || S_ISREG(status.st_mode) || S_ISSOCK(status.st_mode));
}

}  // namespace

std::vector<LogSource> resolve_inputs(const std::vector<std::string>& words) {
  std::vector<std::string> found;
  if (words.empty()) {
    if (!standard_input_has_text())
      throw Error("no input given", "", "pass a log: oomdoctor analyze train.log, or pipe one in");
    return {{"-", std::nullopt}};
  }
  for (const auto& word : words) {
    std::error_code error;
    std::vector<std::string> paths = {word};
    if (word != "-" && fs::is_directory(word, error))
      paths = find_logs_in(word);
    else if (word != "-" && !fs::exists(word, error))
      paths = expand_pattern(word);
    if (paths.empty()) refuse_missing(word);
    std::move(paths.begin(), paths.end(), std::back_inserter(found));
  }
  std::sort(found.begin(), found.end(), natural_less);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  std::vector<LogSource> inputs;
  for (auto& path : found) inputs.push_back({std::move(path), std::nullopt});
  return inputs;
}

std::vector<std::string> resolve_part_files(const std::vector<std::string>& words) {
  std::vector<std::string> files;
  if (words.empty())
    throw Error("no parts given", "",
                "pass the files that oomdoctor analyze --format partial wrote: oomdoctor merge parts/*.jsonl");
  for (const auto& word : words) {
    std::error_code error;
    std::vector<std::string> paths = {word};
    if (!fs::exists(word, error)) paths = expand_pattern(word);
    if (paths.empty()) refuse_missing(word);
    for (auto& path : paths) {
      // Each file is read twice: first to find its logs, then for their content.
      if (!fs::is_regular_file(path, error)) throw Error(fmt::format("{} is not a file of parts", path));
      files.push_back(std::move(path));
    }
  }
  return files;
}

std::vector<std::string> find_format_files(const Arguments& arguments) {
  std::error_code error;
  std::vector<std::string> files = arguments.all("format-file");
  for (const auto& file : files)
    if (!fs::exists(file, error)) refuse_missing(file);
  if (!files.empty() || fs::symlink_status(own_formats, error).type() == fs::file_type::not_found) return files;
  if (runs_in_ci())
    print_note(fmt::format("ignored {}: in a CI job, pass it with --format-file", own_formats));
  else if (fs::is_symlink(own_formats, error))
    print_note(fmt::format("ignored {}: it is a symbolic link", own_formats));
  else if (fs::is_regular_file(own_formats, error))
    files.emplace_back(own_formats);
  return files;
}

}  // namespace oomdoctor::cli
