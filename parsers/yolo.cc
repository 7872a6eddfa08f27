// YOLOv5, YOLOv7 and ultralytics: the column GPU_mem of the training table.
//
// The column is the allocator's reserved memory at that batch, not a maximum. YOLOv5 and YOLOv7 divide by 10^9,
// ultralytics by 2^30 (before 8.3 by 10^9). The columns distinguish them, because only YOLOv5 and YOLOv7 print an
// objectness loss. The program redraws the line during an epoch. Each printed state is a sample, at its batch if the
// bar shows one.
#include <algorithm>

#include "base/ascii.h"
#include "read/first_lines.h"
#include "read/line_format.h"
#include "read/parser.h"
#include "read/recorded_rows.h"

namespace oomdoctor::parsers::yolo {
namespace {

constexpr std::size_t max_prefix = 120;  ///< bytes before the table that launchers and loggers may print

/// Reads the words of a header; false if it is not the header of a training table.
bool read_header(std::string_view line, std::string_view column, Layout& layout) {
  std::vector<std::string> words;
  for (std::size_t at = line.find("Epoch "); at != line.npos && at < max_prefix && words.size() < 24;) {
    const std::size_t end = std::min(line.find_first_of(" \t", at), line.size());
    words.emplace_back(line.substr(at, end - at));
    at = line.find_first_not_of(" \t", end);
  }
  if (words.size() < 4 || words[0] != "Epoch" || words[1] != column) return false;
  bool yolo = false, ultralytics = false;
  for (const std::string& word : words) {
    yolo |= word == "obj" || word == "obj_loss" || word == "labels" || word == "train_loss";
    ultralytics |= word == "Instances" || word == "loss";
  }
  if (!yolo && !ultralytics) return false;
  layout.columns = std::move(words);
  layout.roles = {yolo ? 1 : 0};
  layout.kind = "yolo_table";
  return true;
}

/// Parses the position in a bar, "640: 100% 8/8 [", into done and total; zeros if the row has no bar.
std::pair<double, double> parse_bar(std::string_view rest) {
  const std::size_t percent = rest.find('%');
  if (percent == rest.npos) return {};
  for (std::size_t slash = rest.find('/', percent); slash != rest.npos; slash = rest.find('/', slash + 1)) {
    std::size_t begin = slash, after = slash + 1;
    while (begin > percent && is_digit(rest[begin - 1])) --begin;
    const auto done = read_number(rest, begin);
    const auto total = read_number(rest, after);
    if (done && total && total->value > 0) return {done->value, total->value};
  }
  return {};
}

/// The leading columns of a row.
struct RowStart {
  GaugeValue epoch, memory;
  std::size_t end = 0;  ///< offset after the memory
};

/// Parses "0/299      6.3G " at offset `at`.
std::optional<RowStart> parse_row_start(std::string_view line, std::size_t at) {
  const auto epoch = read_number(line, at);
  if (!epoch || at >= line.size() || line[at] != '/') return std::nullopt;
  const auto epochs = read_number(line, ++at);
  if (!epochs || at >= line.size() || !is_blank(line[at])) return std::nullopt;
  at = std::min(line.find_first_not_of(" \t", at), line.size());
  const auto memory = read_number(line, at);
  if (!memory || at >= line.size() || line[at] != 'G' || memory->value < 0 || memory->value > 1e5) return std::nullopt;
  return RowStart{*epoch, *memory, at};
}

}  // namespace

bool new_header(std::string_view line, Layout& layout) { return read_header(line, "GPU_mem", layout); }
bool old_header(std::string_view line, Layout& layout) { return read_header(line, "gpu_mem", layout); }

/// Counts the numbers in a text; nullopt if it contains anything else.
std::optional<std::size_t> count_numbers(std::string_view text) {
  std::size_t numbers = 0;
  for (std::size_t at = text.find_first_not_of(' '); at < text.size(); at = text.find_first_not_of(' ', at), ++numbers)
    if (!read_number(text, at)) return std::nullopt;
  return numbers;
}

/// The rows of results.txt, which YOLOv5 writes without a header: epochs that go up, each with its memory, and nothing
/// but numbers after it. A console may have broken the rows.
bool results_file(const FirstLines& first, Layout& layout) {
  constexpr std::size_t min_rows = 3, min_numbers = 8;  // numbers of one row
  std::optional<double> before;
  std::size_t rows = 0, numbers = 0;
  for (const std::string& line : first.lines()) {
    const auto row_start = parse_row_start(line, std::min(line.find_first_not_of(' '), line.size()));
    if (!row_start && rows == 0) return false;
    if (row_start && before && row_start->epoch.value != *before + 1) return false;
    if (row_start) before = row_start->epoch.value, ++rows;
    const auto more = count_numbers(std::string_view(line).substr(row_start ? row_start->end + 1 : 0));
    if (!more) return false;
    numbers += *more;
  }
  layout = {};
  layout.roles = {1};
  layout.kind = "yolo_table";
  return rows >= min_rows && numbers >= rows * min_numbers;
}

/// "      0/299      6.3G    0.1131 ...", possibly after a tag or a time: the epoch, then the memory. YOLOv5 and YOLOv7
/// count epochs from 0, ultralytics from 1.
bool row(std::string_view line, const Layout& layout, EventSink& sink) {
  std::optional<RowStart> row_start;
  for (std::size_t i = 0; i < std::min(line.size(), max_prefix) && !row_start; ++i)
    if (is_digit(line[i]) && (i == 0 || is_blank(line[i - 1]) || line[i - 1] == ':'))
      row_start = parse_row_start(line, i);
  if (!row_start) return false;
  const GaugeValue *epoch = &row_start->epoch, *memory = &row_start->memory;
  const std::size_t at = row_start->end;
  if (line.find("Error", at) != line.npos) return false;  // a message after the bar, without a line break
  const bool decimal = layout.roles[0] == 1;
  const auto [done, total] = parse_bar(line.substr(at));
  const double first = decimal ? 0 : 1;
  const double step = total > 0 ? std::max(0.0, epoch->value - first) * total + done : epoch->value;
  if (total > 0 && step < 1e15)
    sink.step({static_cast<i64>(step), {}, epoch->value, static_cast<i64>(step - done)});
  else
    sink.step({{}, {}, epoch->value});
  Reading r;
  r.metric = Metric::reserved;
  const double unit = decimal ? 1e9 : static_cast<double>(GiB);
  r.value = memory->value * unit;
  r.quantum = unit;
  for (int i = 0; i < memory->decimals; ++i) r.quantum /= 10;
  r.unit = "G";
  r.ambiguous_unit = !decimal;
  r.label = "GPU_mem";
  sink.reading(r, step);
  return true;
}

}  // namespace oomdoctor::parsers::yolo
