// What the exports of device monitors have in common: a card with an amount in use, a total, and a date somewhere
// above. An amount is the whole card's, read at an arbitrary time; a total is a fact about the machine, never a
// reading.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "parse/parser.h"

namespace oomdoctor {

/// One card of an export. `device` where the tool numbers its cards, else `label` (a bus id) tells them apart.
struct Card {
  std::optional<int> device;
  std::string_view label = {};
  bool alone = false;             ///< the export lists no other card
  std::string_view machine = {};  ///< of an export of several machines: their cards have the same numbers
};

/// "Tue Oct 29 19:00:23 2024" as nvidia-smi prints it, and the orders of `date`: a zone's name, a clock of twelve
/// hours, the day before the month. Anywhere in `text`. Seconds since 1970, the zone taken as UTC.
std::optional<double> read_calendar_time(std::string_view text);

/// A line that is such a date and nothing else: a script printed it before its rows.
std::optional<double> parse_date_line(std::string_view line);

/// The cell without the blanks, quotes and NULs around it.
std::string_view trimmed_cell(std::string_view cell);
/// Cells between commas, without the blanks, quotes and NULs around them.
std::vector<std::string_view> split_at_commas(std::string_view line);
/// Cells between blanks.
std::vector<std::string_view> split_at_blanks(std::string_view line);
/// A cell without a value: "[N/A]", "N/A", "-", "[Not Supported]", "Unknown Error", nothing at all.
bool is_absent(std::string_view cell);

/// What the columns of comma-separated rows without a header hold, told from their first lines: units, sizes, names.
struct InferredColumns {
  std::size_t count = 0;
  std::optional<std::size_t> time, index, name, uuid, bus, used, total, free;  ///< `used` is always there
};
std::optional<InferredColumns> infer_columns(std::span<const std::string> first_lines);
/// Dates, numbers and names of GPUs in columns, some of them as large as memory in MiB: perhaps an export whose header
/// is missing.
bool are_numeric_rows(std::span<const std::string> first_lines);

/// A reading of a whole card. The print step is one `unit`, or less where decimals are printed.
struct GpuAmount {
  Metric metric = Metric::used;
  double number = 0;
  double unit_bytes = static_cast<double>(MiB);
  std::string_view unit = "MiB";
  int decimals = 0;
};
void emit_gpu_reading(EventSink& sink, const Card& card, const GpuAmount& amount, std::optional<double> time = {});

/// GPU memory of one process, as a series of its own.
void emit_process_memory(EventSink& sink, i64 pid, double number, double unit_bytes, std::optional<double> time);

/// What tells a part of a card, a MIG instance, from the card: "MIG 0/2/0", the numbers of card and instances.
std::string instance_name(std::string_view card, std::string_view gpu_instance, std::string_view compute_instance);

/// The total of a card: `capacity/<card>`, and `capacity` where it is the only one.
void emit_capacity(EventSink& sink, const Card& card, i64 number, std::string_view unit);

}  // namespace oomdoctor
