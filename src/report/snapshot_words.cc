#include "report/snapshot_words.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <tuple>
#include <type_traits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/bytes.h"
#include "model/memory_snapshot.h"
#include "report/words.h"

namespace oomdoctor {
namespace {

/// The last two folders of a path are enough to find the file.
std::string_view end_of_path(std::string_view path) {
  const auto name = path.find_last_of("/\\");
  if (name == path.npos || name == 0) return path;
  const auto folder = path.find_last_of("/\\", name - 1);
  return folder == path.npos ? path : path.substr(folder + 1);
}

std::string code_line_words(const CodeLine& at) {
  std::string text = fmt::format("{}:{}", end_of_path(*at.file), at.line.value_or(0));
  if (at.function && !at.function->empty()) text += " in " + *at.function;
  return text;
}

std::string memory_words(const ReportSnapshot& of) {
  std::string text = fmt::format("{} reserved, {} live", bytes_text(of.reserved_bytes), bytes_text(of.live_bytes));
  if (of.pending_bytes > 0) text += fmt::format(", {} freed but in use by streams", bytes_text(of.pending_bytes));
  if (of.free_cached_bytes) text += fmt::format(", {} free in the cache", bytes_text(*of.free_cached_bytes));
  if (of.device_free_bytes) text += fmt::format(", {} free on the GPU", bytes_text(*of.device_free_bytes));
  return text;
}

std::string failure_words(const ReportSnapshot& of) {
  std::string text = fmt::format("{} refused", bytes_text(*of.request_bytes));
  if (of.largest_free_bytes) text += fmt::format("; the largest free block has {}", bytes_text(*of.largest_free_bytes));
  switch (of.failure) {
    case SnapshotFailure::fragmentation:
      return text + "; enough is free, but in pieces";
    case SnapshotFailure::stream_pending:
      return text + "; enough is free only with the blocks of other streams";
    case SnapshotFailure::private_pool:
      return text + "; enough is free only with the blocks of private pools";
    case SnapshotFailure::capacity:
      return text + "; all free memory together is less";
    default:
      return text;
  }
}

/// The earlier snapshot of the same device, else the next one; else of the others that with the least live memory.
const ReportSnapshot* find_other(const Report& report, const ReportSnapshot& main) {
  const ReportSnapshot *before = nullptr, *behind = nullptr, *least = nullptr;
  for (const ReportSnapshot& one : report.snapshots) {
    if (&one == &main) continue;
    if (one.rank == main.rank && one.device == main.device && one.path != main.path) {
      if (&one < &main) before = &one;
      if (&one > &main && behind == nullptr) behind = &one;
    }
    if (least == nullptr || one.live_bytes < least->live_bytes) least = &one;
  }
  return before != nullptr ? before : behind != nullptr ? behind : least;
}

struct LineDifference {
  const ReportHolder* holder = nullptr;
  std::int64_t bytes = 0;
};

/// The lines that have more or less in the second one, the largest difference first. Small ones say nothing.
std::vector<LineDifference> differences(const ReportSnapshot& first, const ReportSnapshot& second) {
  constexpr std::int64_t least_share = 100;  // of the live memory: a hundredth
  const auto key = [](const ReportHolder& of) {
    return std::tuple(of.at.file, of.at.line, of.at.function, of.at.file ? std::string() : of.category);
  };
  std::map<std::invoke_result_t<decltype(key), const ReportHolder&>, LineDifference> by_line;
  for (const ReportHolder& holder : first.holders) by_line[key(holder)] = {&holder, -holder.live_bytes};
  for (const ReportHolder& holder : second.holders) {
    LineDifference& line = by_line[key(holder)];
    line.holder = &holder;
    line.bytes += holder.live_bytes;
  }
  std::vector<LineDifference> lines;
  for (const auto& [at, line] : by_line)
    if (line.bytes != 0 && std::abs(line.bytes) >= second.live_bytes / least_share) lines.push_back(line);
  std::stable_sort(lines.begin(), lines.end(),
                   [](const auto& a, const auto& b) { return std::abs(a.bytes) > std::abs(b.bytes); });
  return lines;
}

/// What distinguishes a snapshot from another one.
std::string name_beside(const ReportSnapshot& of, const ReportSnapshot& other) {
  if (of.rank && other.rank && of.rank != other.rank) return fmt::format("rank {}", *of.rank);
  return of.path != other.path ? of.path : fmt::format("GPU {}", of.device);
}

std::string what_if_words(const ReportSnapshot& of) {
  std::vector<std::string> fits, fails;
  for (const ReportWhatIf& one : of.what_if)
    if (one.fits) (*one.fits ? fits : fails).push_back(one.setting);
  if (fits.empty()) return "the request fits with none of " + fmt::format("{}", fmt::join(fails, ", "));
  std::string text = "the request fits with " + fmt::format("{}", fmt::join(fits, ", "));
  if (!fails.empty()) text += "; not with " + fmt::format("{}", fmt::join(fails, ", "));
  return text;
}

}  // namespace

const ReportSnapshot* main_snapshot(const Report& report) {
  const ReportSnapshot* first = report.snapshots.empty() ? nullptr : &report.snapshots.front();
  const ReportSnapshot* grows = nullptr;
  for (const ReportSnapshot& one : report.snapshots) {
    if (report.verdict.incident &&
        (one.own_incident == report.verdict.incident || one.joined_incident == report.verdict.incident))
      return &one;
    if (fastest_growth(one) > (grows != nullptr ? fastest_growth(*grows) : 0)) grows = &one;
  }
  return grows != nullptr ? grows : first;
}

std::string owner_words(const CodeLine& at, std::string_view category) {
  if (at.file) return code_line_words(at);
  if (category == "unrecorded") return "before the recording began";
  if (category == "earlier") return "before the trace begins";
  if (category == "others") return "all other lines";
  return fmt::format("no line of the user's code ({})", category_words(category));
}

std::string holder_words(const ReportHolder& of) { return owner_words(of.at, of.category); }

std::string category_words(std::string_view category) {
  if (category == "unrecorded") return "not recorded";
  std::string words(category);
  std::replace(words.begin(), words.end(), '_', ' ');
  return words.starts_with("kv ") ? "KV " + words.substr(3) : words;
}

std::string when_words(const ReportSnapshot& of) {
  return of.at == "end" ? "at the end of the file" : "at the failure";
}

std::vector<SnapshotLine> snapshot_lines(const ReportSnapshot& of, SnapshotLines which) {
  constexpr std::size_t holders_shown = 3;
  const bool alone = which == SnapshotLines::alone;
  std::vector<SnapshotLine> lines;
  lines.push_back(
      {"Snapshot", fmt::format("{}, GPU {}, {}: {}", of.path, of.device, when_words(of), memory_words(of))});
  std::vector<std::string> holders;
  for (const ReportHolder& holder : of.holders) {
    if (holders.size() == holders_shown) break;
    holders.push_back(fmt::format("{} {} ({})", bytes_text(holder.live_bytes), holder_words(holder),
                                  plural(holder.blocks, "block", "blocks")));
  }
  if (alone && !holders.empty()) lines.push_back({"Most memory", fmt::format("{}", fmt::join(holders, "; "))});
  if (of.at != "end" && of.request_bytes) lines.push_back({"Request", failure_words(of)});
  if (of.failure == SnapshotFailure::fragmentation && !of.pinners.empty()) {
    const ReportPinner& pinner = of.pinners.front();
    lines.push_back({"Between free blocks",
                     fmt::format("{} of {} keep {} of free memory in pieces", plural(pinner.blocks, "block", "blocks"),
                                 code_line_words(pinner.at), bytes_text(pinner.stranded_bytes))});
  }
  if (of.growth && !of.growth->empty()) {
    const ReportGrowth& line = of.growth->front();
    lines.push_back(
        {"Grows", fmt::format("{} keeps {} more {}", code_line_words(line.at), bytes_text(line.bytes_per_step),
                              line.unit == "step" ? "each step" : "than in the snapshot before")});
  }
  const bool judged =
      std::any_of(of.what_if.begin(), of.what_if.end(), [](const ReportWhatIf& one) { return one.fits.has_value(); });
  if (judged && alone) lines.push_back({"Other settings", what_if_words(of)});
  if (!alone && !of.what_if_unavailable.empty())
    lines.push_back({"Other settings", "not replayed: " + of.what_if_unavailable});
  return lines;
}

std::optional<SnapshotLine> snapshot_difference(const Report& report) {
  const ReportSnapshot* const main = main_snapshot(report);
  const ReportSnapshot* const other = main == nullptr ? nullptr : find_other(report, *main);
  if (other == nullptr) return std::nullopt;
  const ReportSnapshot& less = main->live_bytes < other->live_bytes ? *main : *other;
  const ReportSnapshot& more = &less == main ? *other : *main;
  const std::vector<LineDifference> lines = differences(less, more);
  if (lines.empty()) return std::nullopt;
  constexpr std::size_t lines_shown = 5;
  std::vector<std::string> words;
  for (std::size_t i = 0; i < std::min(lines.size(), lines_shown); ++i)
    words.push_back(fmt::format("{}{} {}", lines[i].bytes > 0 ? "+" : "", bytes_text(lines[i].bytes),
                                holder_words(*lines[i].holder)));
  return SnapshotLine{"Differs", fmt::format("{} has {} more live memory than {}: {}", name_beside(more, less),
                                             bytes_text(more.live_bytes - less.live_bytes), name_beside(less, more),
                                             fmt::join(words, "; "))};
}

}  // namespace oomdoctor
