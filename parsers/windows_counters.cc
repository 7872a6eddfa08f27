// Windows' performance counters: the CSV of typeperf, relog and PowerShell's Export-Counter, and the list that
// Get-Counter prints. A column of the CSV is the path of a counter: \\MACHINE\Object(instance)\Counter. The counter
// defines the unit; its bytes are powers of 2^10.
//
// Windows translates the names. "Dedicated Usage" is the memory on the GPU. A GPU or process is named by its LUID,
// which is not a number of a device.
#include <array>
#include <string>
#include <vector>

#include "base/ascii.h"
#include "read/context.h"
#include "read/line_format.h"
#include "read/parser.h"
#include "read/table_cells.h"
#include "read/table_columns.h"
#include "read/table_rows.h"

namespace oomdoctor::parsers::windows_counters {
namespace {

/// A counter of memory, and how table_columns.h names its column. "*" is the instance.
struct Counter {
  std::string_view object, counter, column;
};
constexpr auto counters =
    std::to_array<Counter>({{"memory", "available bytes", "host memory available (B)"},
                            {"memory", "available kbytes", "host memory available (KiB)"},
                            {"memory", "available mbytes", "host memory available (MiB)"},
                            {"process", "working set", "* rss (B)"},
                            {"process v2", "working set", "* rss (B)"},
                            {"process", "private bytes", "* private process memory (B)"},
                            {"arbeitsspeicher", "verfügbare mb", "host memory available (MiB)"},
                            {"prozess", "arbeitsseiten", "* rss (B)"},
                            {"prozess", "private bytes", "* private process memory (B)"},
                            {"mémoire", "octets disponibles", "host memory available (B)"},
                            {"mémoire", "mégaoctets disponibles", "host memory available (MiB)"},
                            {"processus", "plage de travail", "* rss (B)"},
                            {"memoria", "mbytes disponibles", "host memory available (MiB)"},
                            {"proceso", "espacio de trabajo", "* rss (B)"},
                            {"память", "доступно мб", "host memory available (MiB)"},
                            {"процесс", "рабочий набор", "* rss (B)"},
                            {"process v2", "private bytes", "* private process memory (B)"},
                            {"gpu adapter memory", "dedicated usage", "adapter * - vram in use (B)"},
                            {"gpu process memory", "dedicated usage", "* - vram in use (B)"}});

/// Small letters of one byte each: typeperf writes in the code page of the system, PowerShell in UTF-8. Both pages put
/// 32 bytes between a large and a small letter.
std::string fold_code_page(std::string_view text) {
  constexpr unsigned latin = 0xC0, cyrillic = 0x410, letters = 0x40, between = 0x20;
  std::string out = lower(text);
  std::size_t length = 0;
  for (std::size_t i = 0; i < out.size(); ++i, ++length) {
    unsigned code = static_cast<unsigned char>(out[i]);
    const unsigned next = i + 1 < out.size() ? static_cast<unsigned char>(out[i + 1]) : 0;
    if ((code == 0xC3 || code == 0xD0 || code == 0xD1) && (next & 0xC0) == 0x80) {
      code = (code & 0x1F) << 6 | (next & 0x3F);
      code = code >= cyrillic && code < cyrillic + letters ? code - cyrillic + latin : code;
      ++i;
    }
    out[length] = static_cast<char>(code >= latin && code < latin + between ? code + between : code);
  }
  return out.substr(0, length);
}

/// The name of the column of a counter; that of no memory if it is another counter.
std::string name_column(std::string_view path) {
  const std::size_t last = path.rfind('\\');
  if (last == path.npos || last == 0) return "other";
  const std::string counter = fold_code_page(path.substr(last + 1));
  std::string_view object = path.substr(0, last), instance;
  if (const std::size_t open = object.find('('); open != object.npos && object.ends_with(')')) {
    instance = object.substr(open + 1, object.size() - open - 2);
    object = object.substr(0, open);
  }
  const std::string name = fold_code_page(object.substr(object.rfind('\\') + 1));
  if (instance == "_Total" || instance == "_total") return "other";  // the sum of the others
  for (const Counter& known : counters) {
    if (fold_code_page(known.object) != name || fold_code_page(known.counter) != counter) continue;
    std::string column(known.column);
    if (const std::size_t at = column.find('*'); at != column.npos) column.replace(at, 1, instance);
    return column;
  }
  return "other";
}

/// The time at the front of the list's first line, some counters above: "3/2/2025 9:14:07 AM".
std::optional<double> find_time(const Cursor& cursor) {
  constexpr int most_lines = 120;
  const auto read = [](std::string_view text) {
    const std::string_view front = text.substr(0, text.find("\\\\"));
    return front.empty() || is_blank(front[0]) ? std::nullopt : read_cell_time(trimmed(front));
  };
  std::optional<double> time = read(cursor.line().text);
  if (!time) cursor.backward_texts(most_lines, [&](std::string_view text) { return !(time = read(text)); });
  return time;
}

}  // namespace

void listed(const Match& m, EventSink& sink) {
  const std::string name = name_column(m[1]);
  const std::vector columns = read_columns(std::vector{name}, {});
  if (columns.front().role != ColumnRole::amount) return;
  m.cursor.forward(1, [&](const Line& line) {
    const std::string_view number = trimmed(line.text);
    std::size_t at = 0;
    const auto value = read_number(number, at);
    if (!value || at != number.size()) return false;
    Reading r = columns.front().reading;
    r.value = value->value * columns.front().unit;
    r.quantum = columns.front().unit;
    sink.reading(r, {}, find_time(m.cursor));
    sink.claim_through(line.number + 1);  // an empty line is below it
    return false;
  });
}

bool header(std::string_view line, Layout& layout) {
  std::vector<std::string_view> cells;
  split_table_line(line, ',', cells);
  layout = {};
  layout.kind = "csv_columns";
  if (cells.size() < 2 || !trimmed_cell(cells[0]).starts_with("(PDH-CSV ")) return false;
  layout.columns.emplace_back("time");
  for (std::size_t i = 1; i < cells.size(); ++i) layout.columns.push_back(name_column(trimmed_cell(cells[i])));
  return true;
}

std::unique_ptr<Rows> rows(const Layout& layout) { return table_rows(layout); }

}  // namespace oomdoctor::parsers::windows_counters
