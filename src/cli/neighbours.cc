#include "cli/neighbours.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/error.h"
#include "model/evidence.h"
#include "report/utf8.h"
#include "text/lines.h"
#include "text/source.h"

namespace oomdoctor::cli {
namespace {

constexpr std::size_t max_causes = 2;        ///< a reader compares the first with its rival
constexpr std::size_t max_cited = 24;        ///< more would be a page of their own
constexpr std::int64_t lines_beside = 3;     ///< on each side, as beside a failure
constexpr i64 max_read = 64 * MiB;           ///< of each file: a tenth of a second
constexpr std::size_t max_line = 64 * 1024;  ///< of a line; more than any excerpt keeps

/// The excerpts of the cited lines of one file, by their numbers.
using CitedLines = std::map<std::int64_t, std::string>;

std::map<std::string, CitedLines> find_cited(const Report& report) {
  std::map<std::string, CitedLines> cited;
  std::size_t count = 0;
  for (std::size_t i = 0; i < std::min(report.causes.size(), max_causes); ++i)
    for (const auto* reasons : {&report.causes[i].because, &report.causes[i].against})
      for (const Reason& reason : *reasons)
        for (const Location& at : reason.locations)
          if (at.line > 0 && at.path != "-" && !at.excerpt.empty() && count < max_cited)
            count += cited[at.path].emplace(at.line, at.excerpt).second;
  return cited;
}

bool is_plain_file(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

/// Lines of a file by their numbers: those near to a cited one.
class NearLines {
 public:
  explicit NearLines(const CitedLines& cited) : cited_(cited), last_(cited.rbegin()->first + lines_beside) {}

  /// Why lines are missing, or "". Throws Error if the file cannot be opened or read at all.
  std::string read(const std::string& path) {
    Source source = Source::open(path);
    TextBuffer buffer;
    for (i64 bytes = 0; number_ <= last_ && bytes < max_read && source.read(buffer, piece); buffer.restart("")) {
      bytes += static_cast<i64>(buffer.size());
      add(buffer.text());
    }
    const bool missing = number_ <= last_ && source.truncated();
    end_line();  // of a text without a line break at its end
    return missing ? source.missing_because() : "";
  }

  std::map<std::int64_t, std::string>& lines() { return lines_; }

 private:
  static constexpr std::size_t piece = 256 * 1024;

  void add(std::string_view text) {
    while (!text.empty() && number_ <= last_) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      if (is_near() && raw_.size() < max_line) raw_.append(text.substr(0, std::min(end, max_line - raw_.size())));
      if (end == text.size()) return;
      end_line();
      text.remove_prefix(end + 1);
    }
  }

  bool is_near() const {
    const auto next = cited_.lower_bound(number_ - lines_beside);
    return next != cited_.end() && next->first <= number_ + lines_beside;
  }

  void end_line() {
    if (is_near() && !raw_.empty())
      lines_[number_] = utf8_prefix(clean_line(raw_.substr(0, raw_.find('\r'))), Evidence::max_excerpt);
    raw_.clear();
    ++number_;
  }

  const CitedLines& cited_;
  const std::int64_t last_;
  std::int64_t number_ = 1;
  std::string raw_;  ///< the beginning of the current line
  std::map<std::int64_t, std::string> lines_;
};

/// Adds the lines of one file next to its cited ones. Returns why some are missing, or "".
std::string add_of_file(const std::string& path, const CitedLines& cited, std::vector<Location>& to) {
  if (!is_plain_file(path)) return "";
  NearLines near(cited);
  std::string lost = near.read(path);
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
  const auto add = [&](const std::string& path, const CitedLines& cited) {
    try {
      return add_of_file(path, cited, report.neighbours);
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  for (const auto& [path, cited] : find_cited(report))
    if (std::string lost = add(path, cited); !lost.empty()) report.neighbours_lost = std::move(lost);
}

}  // namespace oomdoctor::cli
