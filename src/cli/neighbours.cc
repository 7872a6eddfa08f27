#include "cli/neighbours.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <fstream>
#include <map>
#include <string>

#include "base/bytes.h"
#include "model/evidence.h"
#include "report/utf8.h"
#include "text/lines.h"

namespace oomdoctor::cli {
namespace {

constexpr std::size_t max_causes = 2, max_cited = 24;
constexpr std::int64_t lines_beside = 3;
constexpr i64 max_read = 64 * MiB;

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

/// The lines of one file next to its cited ones.
void add_of_file(const std::string& path, const CitedLines& cited, std::vector<Location>& to) {
  if (!is_plain_file(path)) return;
  std::ifstream file(path, std::ios::binary);
  std::map<std::int64_t, std::string> lines;
  const std::int64_t last = cited.rbegin()->first + lines_beside;
  i64 bytes = 0;
  std::string raw;
  for (std::int64_t number = 1; number <= last && bytes < max_read && std::getline(file, raw); ++number) {
    bytes += static_cast<i64>(raw.size()) + 1;
    const auto next = cited.lower_bound(number - lines_beside);
    if (next == cited.end() || next->first > number + lines_beside) continue;
    const std::string clean = clean_line(raw.substr(0, raw.find('\r')));
    lines[number] = utf8_prefix(clean, Evidence::max_excerpt);
  }
  for (const auto& [number, excerpt] : cited) {
    const auto same = lines.find(number);
    if (same == lines.end() || same->second != excerpt) continue;  // packed, cut, or written anew since
    for (std::int64_t near = number - lines_beside; near <= number + lines_beside; ++near)
      if (const auto found = lines.find(near); found != lines.end() && !cited.contains(near)) {
        to.push_back({path, near, near, found->second});
        lines.erase(found);  // once, also between two cited lines
      }
  }
}

}  // namespace

void add_neighbours(Report& report) {
  report.neighbours.clear();
  for (const auto& [path, cited] : find_cited(report)) add_of_file(path, cited, report.neighbours);
}

}  // namespace oomdoctor::cli
