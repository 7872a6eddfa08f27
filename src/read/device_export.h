// Common parts of device monitor exports: GPUs with their memory in use, a total, and a date on some line above. An
// amount in use is that of the whole GPU at an arbitrary time. A total is a fact about the machine, never a reading.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "read/parser.h"
#include "read/table_cells.h"

namespace oomdoctor {

/// One GPU of an export. `device` is its number if the tool prints one; else `label` (a bus id) identifies it.
struct Card {
  std::optional<int> device;
  std::string_view label = {};
  bool alone = false;             ///< the export lists only this GPU
  std::string_view machine = {};  ///< its machine, in an export of several: their GPUs have the same numbers
};

/// Finds a date anywhere in `text`. Reads nvidia-smi's form "Tue Oct 29 19:00:23 2024" and the forms of `date`: with a
/// time zone, a 12-hour clock, the day before the month. Returns seconds since 1970; the time zone counts as UTC.
std::optional<double> read_calendar_time(std::string_view text);

/// The date of a line that contains nothing else. A script printed it before its rows.
std::optional<double> parse_date_line(std::string_view line);

/// The cells between commas, each trimmed as above.
std::vector<std::string_view> split_at_commas(std::string_view line);
/// The cells between blanks.
std::vector<std::string_view> split_at_blanks(std::string_view line);

/// One memory amount of a whole GPU: `number` times `unit_bytes` bytes. The series' quantum is one unit, less the
/// printed decimals.
struct GpuAmount {
  Metric metric = Metric::used;
  double number = 0;
  double unit_bytes = static_cast<double>(MiB);
  std::string_view unit = "MiB";
  int decimals = 0;
};
/// `time` is in seconds since 1970.
void emit_gpu_reading(EventSink& sink, const Card& card, const GpuAmount& amount, std::optional<double> time = {});

/// A process on a GPU. A monitor may print its name and its GPU.
struct GpuProcess {
  i64 pid = 0;
  std::string_view name = {};
  std::optional<int> device = {};
};

/// GPU memory of one process, as a series per process: "process 4711", or "process 4711 (python)".
void emit_process_memory(EventSink& sink, const GpuProcess& process, double number, double unit_bytes,
                         std::optional<double> time = {});

/// The name of a MIG instance: "MIG 0/2/0" is GPU 0, GPU instance 2, compute instance 0.
std::string instance_name(std::string_view card, std::string_view gpu_instance, std::string_view compute_instance);

/// The total of a GPU, as the setting `capacity/<GPU>`, and as `capacity` if it is the only GPU.
void emit_capacity(EventSink& sink, const Card& card, i64 number, std::string_view unit);

}  // namespace oomdoctor
