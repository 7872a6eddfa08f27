// MaxText: bytes in use on each device at named points of the run, in units of 2^30 bytes.
//
// A heading above the rows names the point: a step or another phase. The heading may lack the logger's prefix even if
// the rows have one.
#include "base/ascii.h"
#include "parse/context.h"
#include "parse/line_format.h"
#include "parse/parser.h"

namespace oomdoctor::parsers {
namespace {

/// Takes the step or the phase from the heading above the rows: "Memstats: step 12:", "Memstats: After params
/// initialized:".
void name_moment(const Cursor& cursor, Reading& reading, std::optional<double>& at_step) {
  static constexpr std::string_view label = "Memstats: ";
  static constexpr int max_devices = 64;  // more than any host has
  const auto heading = find_before(cursor, max_devices, label);
  if (!heading) return;
  const std::string_view moment = trimmed(heading->text.substr(heading->text.find(label) + label.size()));
  std::size_t at = std::string_view("step ").size();
  const auto number = moment.starts_with("step ") ? read_number(moment, at) : std::nullopt;
  if (number)
    at_step = number->value;
  else
    reading.phase = moment.substr(0, moment.find(':'));
}

void using_memory(const Match& m, EventSink& sink) {
  std::size_t at = 0, device_at = 0;
  const auto used = read_number(m[1], at);
  const auto device = read_number(m[3], device_at);
  if (!used) return;
  constexpr double gibibyte = static_cast<double>(GiB);
  Origin where;
  if (device) where.device = static_cast<int>(device->value);
  sink.at(where);
  Reading r;
  r.metric = Metric::allocated;
  r.value = used->value * gibibyte;
  r.quantum = gibibyte / 100;
  r.unit = "GB";
  std::optional<double> at_step;
  name_moment(m.cursor, r, at_step);
  sink.reading(r, at_step);
  sink.setting("capacity", std::string(m[2]) + " GiB");
}

void step(const Match& m, EventSink& sink) {
  std::size_t at = 0;
  if (const auto number = read_number(m[1], at)) sink.step({static_cast<i64>(number->value), {}, {}});
}

constexpr Pattern patterns[] = {
    checked(
        {.name = "jax_training/memstats",
         .anchor = "Using (GB) ",
         .regex =
             R"(Using \(GB\) (\d{1,6}(?:\.\d{1,3})?) / (\d{1,6}(?:\.\d{1,3})?) \([\d.naif]{1,12}%\) on [A-Za-z]{2,12}[_:]?(\d{1,6})\b)",
         .captures = 3,
         .example = "\tUsing (GB) 3.42 / 31.25 (10.944%) on TPU_2(process=0,(0,1,0,0))",
         .emit = using_memory}),
    checked({.name = "jax_training/step",
             .anchor = "completed step: ",
             .regex = R"(completed step: (\d{1,9}), seconds: )",
             .captures = 1,
             .example = "completed step: 12, seconds: 5.402, TFLOP/s/device: 141.5, total_weights: 4096",
             .emit = step}),
};

}  // namespace

extern const Parser jax_training;
const Parser jax_training{.name = "jax_training",
                          .title = "MaxText",
                          .source = "MaxText: src/maxtext/utils/max_utils.py (print_mem_stats), metric_logger.py",
                          .patterns = patterns};

}  // namespace oomdoctor::parsers
