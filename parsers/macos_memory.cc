// Host memory of macOS in pages: one report, a report again and again, or a table with a row per interval and its
// heading every 20 rows; and in the head of top's samples. Available is what psutil calls so: the free and the inactive
// pages.
#include <algorithm>
#include <string>
#include <vector>

#include "base/ascii.h"
#include "read/context.h"
#include "read/device_export.h"
#include "read/line_format.h"
#include "read/parser.h"
#include "read/table_cells.h"

namespace oomdoctor::parsers::macos_memory {
namespace {

void emit(double pages, double page, double whole, EventSink& sink) {
  Reading r = sampled_reading(Metric::host_available, pages * page, page, "pages", "vm_stat");
  if (whole > 0) r.capacity = whole;
  sink.reading(r);
}

/// Reads "Pages free:   51122." and its like below, in any order, or the rows of a table.
void read_pages(const Match& m, double page, double whole, EventSink& sink) {
  constexpr int most_lines = 24;
  std::optional<double> free, inactive;
  std::vector<std::string_view> names;
  std::string heading;  // the line is valid only during its visit
  constexpr std::size_t free_at = 0;
  std::size_t inactive_at = 0;
  i64 last = m.cursor.line().number;
  m.cursor.forward(most_lines, [&](const Line& line) {
    const std::string_view text = trimmed(line.text);
    const auto pages_of = [&](std::string_view label) -> std::optional<double> {
      if (!text.starts_with(label)) return std::nullopt;
      return leading_number(trimmed(text.substr(label.size())));
    };
    if (const auto pages = pages_of("Pages free:")) free = pages, last = line.number;
    if (const auto pages = pages_of("Pages inactive:")) inactive = pages, last = line.number;
    if (free && inactive) return false;
    if (heading.empty() && text.starts_with("free ") && text.find("inactive") != text.npos) {
      heading = text;
      names = split_at_blanks(heading);
      inactive_at = static_cast<std::size_t>(std::find(names.begin(), names.end(), "inactive") - names.begin());
      return inactive_at < names.size();
    }
    if (heading.empty()) return true;
    const auto cells = split_at_blanks(text);
    if (cells.size() != names.size() || !only_digits(cells[free_at]) || !only_digits(cells[inactive_at])) return false;
    emit(leading_number(cells[free_at]) + leading_number(cells[inactive_at]), page, whole, sink);
    last = line.number;
    return true;
  });
  if (free && inactive) emit(*free + *inactive, page, whole, sink);
  sink.claim_through(last);
}

}  // namespace

void vm_stat(const Match& m, EventSink& sink) { read_pages(m, leading_number(m[1]), 0, sink); }
void pressure(const Match& m, EventSink& sink) { read_pages(m, leading_number(m[2]), leading_number(m[1]), sink); }

/// The line "PhysMem:" of each sample of top -l. What is used contains the cache of files, so only the rest is read.
void top(const Match& m, EventSink& sink) {
  constexpr int most_lines = 6;  // up to the clock
  const auto bytes_at = [&](std::size_t number) {
    return leading_number(m[number]) * static_cast<double>(unit_bytes(m[number + 1]).value_or(1));
  };
  const double unused = bytes_at(3), unit = static_cast<double>(unit_bytes(m[4]).value_or(1));
  Reading r = sampled_reading(Metric::host_free, unused, unit, m[4], "top");
  r.capacity = bytes_at(1) + unused;
  std::optional<double> time;
  m.cursor.backward_texts(most_lines, [&](std::string_view text) {
    time = read_cell_time(trimmed(text));
    return !time;
  });
  sink.reading(r, {}, time);
}

}  // namespace oomdoctor::parsers::macos_memory
