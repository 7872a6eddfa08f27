#include "cli/neighbours.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "model/evidence.h"
#include "render/html_sections.h"
#include "report/utf8.h"
#include "text/lines.h"
#include "text/source.h"

namespace oomdoctor::cli {
namespace {

constexpr std::size_t max_cited = 256;       ///< bounds the memory: each has six lines next to it
constexpr std::int64_t lines_beside = 3;     ///< on each side, as next to a failure
constexpr i64 max_read = 64 * MiB;           ///< of the beginning and of the end of each file: a tenth of a second
constexpr std::size_t max_line = 64 * 1024;  ///< of a line; more than any excerpt keeps

/// The excerpts of the cited lines of one file, by their numbers.
using CitedLines = std::map<std::int64_t, std::string>;

std::map<std::string, CitedLines> find_cited(const Report& report) {
  std::map<std::string, CitedLines> cited;
  std::size_t count = 0;
  const html::Citations citations(report);
  for (const Location* at : citations.lines())
    if (at->line > 0 && count < max_cited) count += cited[at->path].emplace(at->line, at->excerpt).second;
  return cited;
}

bool is_plain_file(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

bool is_near(const CitedLines& cited, std::int64_t line) {
  const auto next = cited.lower_bound(line - lines_beside);
  return next != cited.end() && next->first <= line + lines_beside;
}

/// Lines of a file by their numbers: those near to a cited one.
class NearLines {
 public:
  explicit NearLines(const CitedLines& cited) : cited_(cited), last_(cited.rbegin()->first + lines_beside) {}

  /// Why lines are missing, or "". Throws Error if the file cannot be opened or read at all.
  std::string read(const std::string& path) {
    Source source = Source::open(path);
    TextBuffer buffer;
    bool ended = false;
    for (i64 bytes = 0; number_ <= last_ && bytes < max_read && !ended; buffer.restart("")) {
      ended = !source.read(buffer, piece);
      bytes += static_cast<i64>(buffer.size());
      add(buffer.text());
    }
    whole_ = ended || number_ > last_;
    const bool missing = number_ <= last_ && source.truncated();
    if (ended && !raw_.empty()) end_line();  // of a text without a line break at its end
    return missing ? source.missing_because() : "";
  }

  bool is_whole() const { return whole_; }  ///< whether read() has read all lines

  /// Reads the end of a file that is not an archive and has this many lines.
  void read_end(const std::string& path, std::int64_t lines) {
    std::error_code error;
    const auto size = std::filesystem::file_size(path, error);
    const Descriptor file(uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); }));
    if (error || static_cast<i64>(size) <= max_read || !file.is_open()) return;
    raw_.clear();
    const i64 begin = static_cast<i64>(size) - max_read;
    std::int64_t breaks = 0;
    bool ends_with_break = true;
    read_pieces(file, begin, [&](std::string_view text) {
      breaks += std::count(text.begin(), text.end(), '\n');
      ends_with_break = text.back() == '\n';
    });
    number_ = lines - breaks + (ends_with_break ? 1 : 0);  // of the line that the end begins in
    const std::int64_t begun = number_;
    read_pieces(file, begin, [&](std::string_view text) {
      if (number_ == begun) {  // only a part of this line
        const std::size_t end = text.find('\n');
        if (end == text.npos) return;
        text.remove_prefix(end + 1);
        ++number_;
      }
      add(text);
    });
    if (!raw_.empty()) end_line();
  }

  std::map<std::int64_t, std::string>& lines() { return lines_; }

 private:
  static constexpr std::size_t piece = 256 * 1024;

  /// In few calls: in a browser, each one makes an object that lives until the end.
  static void read_pieces(const Descriptor& file, i64 begin, auto take) {
    if (::lseek(file.number(), begin, SEEK_SET) < 0) return;
    std::string buffer(piece, '\0');
    while (true) {
      const ssize_t got = uninterrupted([&] { return ::read(file.number(), buffer.data(), buffer.size()); });
      if (got <= 0) return;
      take(std::string_view(buffer.data(), static_cast<std::size_t>(got)));
    }
  }

  void add(std::string_view text) {
    while (!text.empty() && number_ <= last_) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      if (is_near(cited_, number_) && raw_.size() < max_line)
        raw_.append(text.substr(0, std::min(end, max_line - raw_.size())));
      if (end == text.size()) return;
      end_line();
      text.remove_prefix(end + 1);
    }
  }

  void end_line() {
    if (is_near(cited_, number_))
      lines_[number_] = utf8_prefix(clean_line(raw_.substr(0, raw_.find('\r'))), Evidence::max_excerpt);
    raw_.clear();
    ++number_;
  }

  const CitedLines& cited_;
  const std::int64_t last_;
  std::int64_t number_ = 1;
  bool whole_ = false;
  std::string raw_;  ///< the beginning of the current line
  std::map<std::int64_t, std::string> lines_;
};

/// Adds the lines around failures, which the scan keeps, if they are next to a cited line.
void add_kept_lines(const Report& report, const std::string& path, const CitedLines& cited, std::vector<Location>& to) {
  std::map<std::int64_t, Location> kept;
  for (const ReportIncident& of : report.incidents) {
    for (const Location& near : of.context)
      if (near.path == path) kept.emplace(near.line, near);
    if (of.location.path == path) kept.emplace(of.location.line, of.location);
  }
  for (const auto& [line, at] : kept)
    if (is_near(cited, line) && !cited.contains(line)) to.push_back({path, line, line, at.excerpt});
}

/// Adds the lines of one file next to its cited ones. Returns why some are missing, or "".
std::string add_of_file(const std::string& path, const ReportInput* input, const CitedLines& cited,
                        std::vector<Location>& to) {
  NearLines near(cited);
  std::string lost = near.read(path);
  if (lost.empty() && !near.is_whole()) {
    if (input != nullptr && input->compression.empty()) near.read_end(path, input->lines);
    const bool all =
        std::all_of(cited.begin(), cited.end(), [&](const auto& at) { return near.lines().contains(at.first); });
    if (!all) lost = "the log is too large to read all of it twice";
  }
  for (const auto& [number, excerpt] : cited) {
    const auto same = near.lines().find(number);
    if (same == near.lines().end() || same->second != excerpt) continue;  // cut, or written anew since
    for (std::int64_t beside = number - lines_beside; beside <= number + lines_beside; ++beside)
      if (const auto found = near.lines().find(beside); found != near.lines().end() && !cited.contains(beside)) {
        to.push_back({path, beside, beside, found->second});
        near.lines().erase(found);  // once, also between two cited lines
      }
  }
  return lost;
}

}  // namespace

void add_neighbours(Report& report) {
  report.neighbours.clear();
  report.neighbours_lost.clear();
  const auto add = [&](const std::string& path, const CitedLines& cited) -> std::string {
    if (!is_plain_file(path)) {
      add_kept_lines(report, path, cited, report.neighbours);
      return "standard input, a pipe or a member of an archive is not read twice";
    }
    const auto input = std::find_if(report.inputs.begin(), report.inputs.end(),
                                    [&](const ReportInput& of) { return of.path == path; });
    try {
      return add_of_file(path, input == report.inputs.end() ? nullptr : &*input, cited, report.neighbours);
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  for (const auto& [path, cited] : find_cited(report))
    if (std::string lost = add(path, cited); !lost.empty()) report.neighbours_lost = std::move(lost);
}

}  // namespace oomdoctor::cli
