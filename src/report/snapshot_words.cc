#include "report/snapshot_words.h"

#include <algorithm>
#include <string_view>

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

std::string holder_words(const ReportHolder& of) {
  if (of.at.file) return code_line_words(of.at);
  return of.category == "unrecorded" ? "before the recording began"
                                     : fmt::format("no line of the user's code ({})", of.category);
}

std::vector<SnapshotLine> snapshot_lines(const ReportSnapshot& of) {
  constexpr std::size_t holders_shown = 3;
  std::vector<SnapshotLine> lines;
  const std::string when = of.at == "end" ? "at the end of the file" : "at the failure";
  lines.push_back({"Snapshot", fmt::format("{}, GPU {}, {}: {}", of.path, of.device, when, memory_words(of))});
  std::vector<std::string> holders;
  for (const ReportHolder& holder : of.holders) {
    if (holders.size() == holders_shown) break;
    holders.push_back(fmt::format("{} {} ({})", bytes_text(holder.live_bytes), holder_words(holder),
                                  plural(holder.blocks, "block", "blocks")));
  }
  if (!holders.empty()) lines.push_back({"Most memory", fmt::format("{}", fmt::join(holders, "; "))});
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
  if (judged) lines.push_back({"Other settings", what_if_words(of)});
  return lines;
}

}  // namespace oomdoctor
