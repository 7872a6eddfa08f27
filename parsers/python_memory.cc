// Host memory as Python's tools print it: %memit, memory_profiler, tracemalloc, getrusage, and the worker table with
// proportional and unique set sizes.
//
// memory_profiler and %memit divide by 2^20 and print MiB. The rows of memory_profiler's table are source lines, not
// points in time: a table is one value, its peak, under the name of the line that added most.
//
// tracemalloc counts only Python's own objects. The example in its manual divides by 10^6.
//
// ru_maxrss is KiB on Linux and bytes on macOS. A macOS process is never so small that the number could be KiB.
//
// In the worker table the unit is a letter, a power of 2^10. rss counts shared pages in every process; pss divides them
// among the processes.
#include <fmt/format.h>

#include "base/ascii.h"
#include "base/bytes.h"
#include "read/context.h"
#include "read/freeform.h"
#include "read/line_format.h"
#include "read/parser.h"
#include "read/recorded_rows.h"
#include "read/sizes.h"

namespace oomdoctor::parsers::python_memory {
namespace {

constexpr double kib = static_cast<double>(KiB), mib = static_cast<double>(MiB);
constexpr double mac_page = 4096;

/// Distinguishes the two units of ru_maxrss: a multiple of the page size of 1 GiB or more is bytes.
void emit_max_rss(double value, std::optional<double> step, EventSink& sink) {
  const bool bytes = value >= 1024 * mib && value / mac_page == static_cast<double>(whole_number(value / mac_page));
  Reading r = sampled_reading(Metric::host_rss, bytes ? value : value * kib, bytes ? 1 : kib, bytes ? "bytes" : "kB",
                              "ru_maxrss");
  r.kind = SeriesKind::running_maximum;
  if (value > 0) sink.reading(r, step);
}

/// Parses a cell printed as "{:.1f}" and a letter: "3.8G".
std::optional<Reading> parse_cell(std::string_view text, std::string_view label) {
  const auto size = read_size(text);
  if (!size) return std::nullopt;
  return sampled_reading(Metric::host_rss, static_cast<double>(size->count),
                         static_cast<double>(std::max<i64>(1, 2 * size->slack)), text.substr(text.size() - 1), label);
}

std::vector<std::string_view> split_words(std::string_view line) {
  std::vector<std::string_view> out;
  for (std::size_t at = line.find_first_not_of(" \t"); at != line.npos && out.size() < 16;) {
    const std::size_t end = std::min(line.find_first_of(" \t", at), line.size());
    out.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(" \t", end);
  }
  return out;
}

}  // namespace

/// The peak during one statement. Each call of %memit resets it.
void memit(const Match& m, EventSink& sink) {
  Reading r = sampled_reading(Metric::host_rss, leading_number(m[1]) * mib, mib / 100, "MiB", "%memit peak");
  r.kind = SeriesKind::reset_maximum;
  sink.reading(r);
}

/// A row of memory_profiler's table: "    46   3310.7 MiB   2310.7 MiB           4           keep = df.loc[…]".
struct ProfiledLine {
  i64 line = 0;
  double used = 0, added = 0;  ///< MiB
  std::string_view code;
};

std::optional<ProfiledLine> parse_profiled_line(std::string_view text) {
  const auto words = split_words(text);
  if (words.size() < 6 || !only_digits(words[0]) || words[2] != "MiB" || words[4] != "MiB") return std::nullopt;
  ProfiledLine row{leading_integer(words[0]), leading_number(words[1]), 0, {}};
  const bool less = words[3].starts_with('-');
  row.added = leading_number(less ? words[3].substr(1) : words[3]) * (less ? -1 : 1);
  const std::size_t code = only_digits(words[5]) && words.size() > 6 ? 6 : 5;  // without Occurrences in old versions
  row.code = text.substr(static_cast<std::size_t>(words[code].data() - text.data()));
  return row;
}

/// The first row is the call itself: it adds what the program had before.
void profiled_lines(const Match& m, EventSink& sink) {
  constexpr int most_lines = 2000;
  constexpr std::size_t most_code = 60;  // bytes
  std::string file;
  m.cursor.backward_texts(3, [&](std::string_view text) {
    constexpr std::string_view key = "Filename: ";
    if (text.starts_with(key)) file = trimmed(text.substr(key.size()));
    return file.empty();
  });
  if (const std::size_t slash = file.find_last_of("/\\"); slash != file.npos) file.erase(0, slash + 1);
  double peak = 0, most = 0;
  i64 last = 0;
  std::string place;
  m.cursor.forward(most_lines, [&](const Line& line) {
    const std::string_view text = line.body();
    if (last > 0 && trimmed(text).empty()) return false;
    const auto row = parse_profiled_line(text);
    if (!row) return true;
    peak = std::max(peak, row->used);
    if (last > 0 && row->added > most) {
      most = row->added;
      place = fmt::format("{}{} (+{}) {}", file.empty() ? "line " : file + ":", row->line,
                          bytes_text(most * mib, mib / 10), trimmed(row->code.substr(0, most_code)));
    }
    last = line.number;
    return true;
  });
  if (last == 0) return;
  sink.claim_through(last);
  Reading r = sampled_reading(Metric::host_rss, peak * mib, mib / 10, "MiB", place.empty() ? file : place);
  r.kind = SeriesKind::reset_maximum;
  sink.reading(r);
}

void traced(const Match& m, EventSink& sink) {
  const double unit = m[2] == "MiB" ? mib : 1e6;
  Reading r = sampled_reading(Metric::host_rss, leading_number(m[1]) * unit, unit / 1000, m[2], "tracemalloc");
  r.ambiguous_unit = m[2] == "MB";
  sink.reading(r);
}

/// psutil.virtual_memory(), in bytes.
void virtual_memory(const Match& m, EventSink& sink) {
  const FreeformLine printed = read_freeform(m.text);
  report_step(printed, sink);
  for (const auto& [metric, printed_bytes] : {std::pair(Metric::host_used, m[3]), {Metric::host_available, m[2]}}) {
    Reading r = sampled_reading(metric, leading_number(printed_bytes), 1, "bytes", "psutil");
    if (metric == Metric::host_used) r.capacity = leading_number(m[1]);
    sink.reading(r, printed.step);
  }
}

void usage(const Match& m, EventSink& sink) { emit_max_rss(leading_number(m[1]), read_freeform(m.text).step, sink); }

bool worker_header(std::string_view line, Layout& layout) {
  const std::vector<std::string_view> words = split_words(line);
  if (words.size() < 5 || words[0] != "time" || words[1] != "PID" || words[2] != "rss" || words[3] != "pss" ||
      words[4] != "uss")
    return false;
  layout.kind = "worker_memory";
  layout.columns.assign(words.begin(), words.end());
  return true;
}

bool worker_row(std::string_view line, const Layout& layout, EventSink& sink) {
  const std::vector<std::string_view> words = split_words(line);
  const auto is_cell = [](std::string_view w) { return w.size() > 3 && w[w.size() - 3] == '.'; };
  if (words.size() != layout.columns.size() || !is_cell(words[2]) || !is_cell(words[3]) || !is_cell(words[4]))
    return false;
  Origin where;
  where.pid = leading_integer(words[1]);
  if (*where.pid <= 0) return false;
  sink.at(where);
  for (std::size_t i = 2; i < 5; ++i)
    if (const auto r = parse_cell(words[i], layout.columns[i])) sink.reading(*r, {}, leading_number(words[0]));
  return true;
}

}  // namespace oomdoctor::parsers::python_memory
