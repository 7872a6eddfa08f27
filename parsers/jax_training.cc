// MaxText: bytes in use on each device at named points of the run, in units of 2^30 bytes.
//
// A heading above the rows names the point: a step or another phase. The heading may lack the logger's prefix even if
// the rows have one.
#include "base/ascii.h"
#include "read/context.h"
#include "read/line_format.h"
#include "read/parser.h"

namespace oomdoctor::parsers::jax_training {
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

}  // namespace

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
  if (m[0].find(" on TPU") != std::string_view::npos) sink.setting("vendor", "google");
}

void step(const Match& m, EventSink& sink) {
  std::size_t at = 0;
  if (const auto number = read_number(m[1], at)) sink.step({static_cast<i64>(number->value), {}, {}});
}

}  // namespace oomdoctor::parsers::jax_training
