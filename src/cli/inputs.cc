#include "cli/inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/natural_order.h"
#include "cli/archive_logs.h"
#include "cli/ci_system.h"
#include "cli/console.h"
#include "cli/file_kinds.h"
#include "cli/input_scope.h"
#include "cli/log_folder.h"
#include "evidence/evidence_reader.h"
#include "formats/user_formats.h"
#include "text/members.h"
#include "text/source.h"

namespace oomdoctor::cli {
namespace {

namespace fs = std::filesystem;

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

/// Turns words into logs. What cannot become one is added to the options.
class InputSearch {
 public:
  InputSearch(Options& options, const InputScope& scope) : options_(options), scope_(scope) {}

  void add(const std::string& word) {
    if (const std::string why = find_refusal(word, scope_); !why.empty()) throw FileError("cannot read " + word, why);
    std::error_code error;
    const auto type = word == "-" ? fs::file_type::fifo : fs::status(word, error).type();
    if (type == fs::file_type::directory) return add_folder(word);
    if (type != fs::file_type::not_found) return found_.push_back(word);  // opening it shows every other problem
    const std::vector<std::string> paths = expand_pattern(word);
    if (paths.empty()) missing_.push_back(word);
    found_.insert(found_.end(), paths.begin(), paths.end());
  }

  /// Throws Error if no word led to a log.
  std::vector<LogSource> take() {
    std::erase_if(found_, [&](const std::string& path) { return is_refused(path); });
    if (found_.empty()) refuse();
    for (const std::string& word : missing_) options_.lost.push_back({"the log", "no such file", word, std::nullopt});
    keep_one_name();
    std::vector<LogSource> logs;
    std::set<FileId> continued;
    for (const std::string& path : found_) {
      if (holds_logs(path)) {
        add_archive(path, logs);
        continue;
      }
      logs.push_back({path, std::nullopt, find_continuations(path, scope_)});
      std::erase_if(logs.back().continued, [&](const std::string& more) { return is_refused(more); });
      for (const std::string& more : logs.back().continued)
        if (const auto id = read_file_id(more)) continued.insert(*id);
    }
    for (const std::string& place : empty_) options_.notes.push_back("no log in " + place);
    list_left_out();
    if (logs.empty()) refuse();
    std::erase_if(logs, [&](const LogSource& log) {
      const auto id = log.member ? std::nullopt : read_file_id(log.path);
      return id && continued.contains(*id);
    });
    for (const LogSource& log : logs)
      if (!log.continued.empty())
        options_.notes.push_back(fmt::format("{} and {} were read as one log; its line numbers go on from file to file",
                                             log.path, fmt::join(log.continued, ", ")));
    return logs;
  }

 private:
  using FileId = std::pair<dev_t, ino_t>;

  /// A link in a folder may lead out of the scope: then its log is lost.
  bool is_refused(const std::string& path) {
    const std::string why = find_refusal(path, scope_);
    if (!why.empty()) options_.lost.push_back({"the log", why, path, std::nullopt});
    return !why.empty();
  }

  /// Of regular files only: two names of a pipe may be two readers.
  static std::optional<FileId> read_file_id(const std::string& path) {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
    return FileId{status.st_dev, status.st_ino};
  }

  void add_folder(const std::string& folder) {
    FolderLogs logs = find_logs_in(folder, scope_);
    if (logs.paths.empty()) empty_.push_back("the folder " + folder);
    std::move(logs.paths.begin(), logs.paths.end(), std::back_inserter(found_));
    std::sort(logs.lost.begin(), logs.lost.end(),
              [](const auto& a, const auto& b) { return natural_less(a.path, b.path); });
    std::move(logs.lost.begin(), logs.lost.end(), std::back_inserter(options_.lost));
    std::move(logs.left_out.begin(), logs.left_out.end(), std::back_inserter(left_out_));
  }

  /// True for an archive with members. Most logs have names that spare looking into them. torch.save() writes a
  /// checkpoint as an archive as well.
  static bool holds_logs(const std::string& path) {
    const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
    return (kind_of_name(name) != FileKind::log || is_packed_name(name)) && is_archive(path) &&
           !is_evidence(Source::open(path).peek());
  }

  void add_archive(const std::string& path, std::vector<LogSource>& logs) {
    ArchiveLogs inside = find_logs_in_archive(path);
    if (inside.logs.empty() && inside.lost.empty()) empty_.push_back("the archive " + path);
    std::stable_sort(inside.logs.begin(), inside.logs.end(),
                     [](const LogSource& a, const LogSource& b) { return natural_less(a.path, b.path); });
    std::move(inside.logs.begin(), inside.logs.end(), std::back_inserter(logs));
    std::move(inside.lost.begin(), inside.lost.end(), std::back_inserter(options_.lost));
    std::move(inside.left_out.begin(), inside.left_out.end(), std::back_inserter(left_out_));
  }

  void list_left_out() {
    if (left_out_.empty()) return;
    constexpr std::size_t max_listed = 8;
    std::sort(left_out_.begin(), left_out_.end(), natural_less);
    const std::size_t listed = std::min(left_out_.size(), max_listed), more = left_out_.size() - listed;
    left_out_.resize(listed);
    options_.notes.push_back(
        fmt::format("left out: {}{}", fmt::join(left_out_, ", "), more > 0 ? fmt::format(" and {} more", more) : ""));
  }

  /// A log by two names, links or spellings counts once: by the first name that is not a link, else by the first one.
  void keep_one_name() {
    std::sort(found_.begin(), found_.end(), natural_less);
    found_.erase(std::unique(found_.begin(), found_.end()), found_.end());
    std::map<FileId, std::string> names;
    std::error_code error;
    for (const bool links : {false, true})
      for (const std::string& path : found_)
        if (const auto id = read_file_id(path); id && fs::is_symlink(path, error) == links)
          names.try_emplace(*id, path);
    std::erase_if(found_, [&](const std::string& path) {
      const auto id = read_file_id(path);
      const auto name = id ? names.find(*id) : names.end();
      return name != names.end() && name->second != path;
    });
  }

  [[noreturn]] void refuse() const {
    if (!missing_.empty()) refuse_missing(missing_.front());
    if (!options_.lost.empty())
      throw FileError("cannot read " + options_.lost.front().what + " " + options_.lost.front().path,
                      options_.lost.front().why);
    throw Error(fmt::format("no log found in {}", empty_.front()), "",
                "it contains no text except source code, settings and documents; pass such a file by its name");
  }

  Options& options_;
  const InputScope& scope_;
  std::vector<std::string> found_, missing_, empty_, left_out_;
};

}  // namespace

std::vector<LogSource> resolve_inputs(const std::vector<std::string>& words, Options& options,
                                      const InputScope& scope) {
  if (words.empty()) {
    if (!standard_input_has_text())
      throw Error("no input given", "", "pass a log: oomdoctor analyze train.log, or pipe one in");
    return {LogSource{"-"}};
  }
  InputSearch search(options, scope);
  std::vector<LogSource> logs;
  bool searches = false;
  for (const auto& word : words) {
    const auto text = scope.texts.find(word);
    if (text != scope.texts.end())
      logs.push_back({word, text->second});
    else
      search.add(word), searches = true;
  }
  if (!searches) return logs;
  std::vector<LogSource> files = search.take();
  std::move(files.begin(), files.end(), std::back_inserter(logs));
  return logs;
}

std::vector<std::string> resolve_part_files(const std::vector<std::string>& words) {
  std::vector<std::string> files, missing;
  if (words.empty())
    throw Error("no parts given", "",
                "pass the files that oomdoctor analyze --format partial wrote: oomdoctor merge parts/*.jsonl");
  for (const auto& word : words) {
    std::error_code error;
    std::vector<std::string> paths = {word};
    if (!fs::exists(word, error)) paths = expand_pattern(word);
    if (paths.empty()) {
      missing.push_back(word);
      continue;
    }
    for (auto& path : paths) {
      // Each file is read twice: first to find its logs, then for their content.
      if (!fs::is_regular_file(path, error)) throw Error(fmt::format("{} is not a file of parts", path));
      files.push_back(std::move(path));
    }
  }
  if (files.empty()) refuse_missing(missing.front());
  files.insert(files.end(), missing.begin(), missing.end());  // the reader of the parts says that they are missing
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
