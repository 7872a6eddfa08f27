// The Hugging Face Trainer: dicts that it prints at every logging step, and the memory prints of the PEFT and
// Accelerate examples.
//
// The Trainer prints {'loss': …, 'learning_rate': …, 'epoch': …}. Callbacks add keys such as 'gpu_mem_gb' and 'step'.
// Newer versions print the numbers as strings. The memory metrics of a stage (train_mem_gpu_alloc_delta, …) are
// differences. They add up to a peak only with the first report, which also contains the memory before the stage.
#include <array>
#include <string>

#include "read/context.h"
#include "read/freeform.h"
#include "read/line_format.h"
#include "read/parser.h"

namespace oomdoctor::parsers::huggingface {
namespace {

/// The fraction in 'epoch': 0.32. The reader of freeform lines reads only whole numbers.
std::optional<double> parse_epoch(std::string_view line) {
  static constexpr std::string_view key = "'epoch': ";
  std::size_t at = line.find(key);
  if (at == line.npos) return std::nullopt;
  at += key.size();
  if (at < line.size() && line[at] == '\'') ++at;
  const auto number = read_number(line, at);
  return number ? std::optional(number->value) : std::nullopt;
}

/// ms-swift's form of the step: 'global_step/max_steps': '10/93'.
std::optional<double> parse_global_step(std::string_view line) {
  static constexpr std::string_view key = "'global_step/max_steps': '";
  std::size_t at = line.find(key);
  if (at == line.npos) return std::nullopt;
  at += key.size();
  const auto number = read_number(line, at);
  return number && number->decimals == 0 ? std::optional(number->value) : std::nullopt;
}

/// The number of a metric on one line: "'init_mem_gpu_alloc_delta': 433047040", "  init_mem_gpu_alloc_delta  =  412MB".
/// Sets `megabytes` if the number has the unit MB.
std::optional<GaugeValue> parse_metric(std::string_view line, std::string_view key, bool& megabytes) {
  std::size_t at = line.find(key);
  if (at == line.npos || (at > 0 && line[at - 1] == '_')) return std::nullopt;
  at += key.size();
  for (int i = 0; i < 40 && at < line.size() && std::string_view("'\" =:|").find(line[at]) != std::string_view::npos;
       ++i)
    ++at;
  const bool negative = line.substr(at).starts_with('-');
  if (negative) ++at;
  auto number = read_number(line, at);
  if (number && negative) number->value = -number->value;
  megabytes = number && line.substr(at).starts_with("MB");
  return number;
}

}  // namespace

bool is_dict(std::string_view line) { return line.find("{'") != line.npos && line.find('}') != line.npos; }

bool accept_any(const FreeformLine&) { return true; }

void log(const Match& m, EventSink& sink) {
  const std::optional<double> step = m.printed->step ? m.printed->step : parse_global_step(m.text);
  sink.step({step ? std::optional(whole_number(*step)) : std::nullopt, {}, parse_epoch(m.text)});
  // ms-swift's own callback prints the maximum reserved memory, in units of 2^30 bytes.
  const bool swift = m.text.find("'memory(GiB)': ") != std::string_view::npos;
  for (const FreeformValue& v : m.printed->values) {
    Origin where;
    where.device = v.device;
    sink.at(where);
    if (swift && v.reading.metric == Metric::memory) {
      Reading peak = v.reading;
      peak.metric = Metric::max_reserved;
      peak.kind = SeriesKind::running_maximum;
      sink.reading(peak, step);
    } else {
      sink.reading(v.reading, step);
    }
  }
}

/// "GPU Total Peak Memory consumed during the train (max): 9404": int(bytes / 2^20) in PEFT, whole GB with a unit in
/// llama-recipes.
void stage_peak(const Match& m, EventSink& sink) {
  std::size_t at = 0;
  const auto number = read_number(m[3], at);
  if (!number) return;
  const double unit = static_cast<double>(m.has(4) ? GiB : MiB);
  Reading r;
  r.metric = m[1] == "CPU" ? Metric::host_rss : Metric::max_allocated;
  r.kind = SeriesKind::reset_maximum;
  r.value = number->value * unit;
  r.quantum = unit;
  r.unit = m.has(4) ? "GB" : "";
  r.phase = std::string(m[2]);
  sink.reading(r);
}

/// "GPU Memory before entering the train : 3212": the memory at the start of the stage, int(bytes / 2^20).
void stage_begin(const Match& m, EventSink& sink) {
  std::size_t at = 0;
  const auto number = read_number(m[3], at);
  if (!number) return;
  Reading r;
  r.metric = m[1] == "CPU" ? Metric::host_rss : Metric::allocated;
  r.value = number->value * static_cast<double>(MiB);
  r.quantum = static_cast<double>(MiB);
  r.phase = "before " + std::string(m[2]);
  sink.reading(r);
}

/// The peak of the first stage is a sum of four parts: the memory before the start, the differences of the start and
/// the stage, and the stage's peak above its end. All four are on one line (a dict) or on separate sorted lines, of
/// which this one is the last.
void stage_differences(const Match& m, EventSink& sink) {
  constexpr int max_block_lines = 40;
  const std::string stage(m[1]), kind(m[2]);
  const std::array<std::string, 4> names{"before_init_mem_" + kind, "init_mem_" + kind + "_alloc_delta",
                                         stage + "_mem_" + kind + "_alloc_delta",
                                         stage + "_mem_" + kind + "_peaked_delta"};
  std::array<std::optional<GaugeValue>, 4> parts;
  bool megabytes = false;
  const auto read = [&](std::string_view line) {
    bool missing = false, unit = false;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (!parts[i]) {
        parts[i] = parse_metric(line, names[i], unit);
        megabytes |= unit;
      }
      missing |= !parts[i];
    }
    return missing;
  };
  const auto starts_block = [](std::string_view line) {  // a dict, a JSON file, "***** train metrics *****"
    return line.find('{') != line.npos || line.find("*****") != line.npos;
  };
  if (read(m.text) && !starts_block(m.text))
    m.cursor.backward(max_block_lines, [&](const Line& line) { return !starts_block(line.text) && read(line.text); });
  Reading r;
  for (const auto& part : parts) {
    if (!part) return;
    r.value += part->value;
  }
  // The block repeats the values of the dict above in whole MB, rounded down.
  if (megabytes && find_before(m.cursor, max_block_lines, "'" + names[0] + "'")) return;
  const double unit = static_cast<double>(megabytes ? MiB : 1);
  r.metric = kind == "cpu" ? Metric::host_rss : Metric::max_allocated;
  r.kind = SeriesKind::reset_maximum;
  r.value *= unit;
  r.quantum = unit * (megabytes ? 4 : 1);
  r.unit = megabytes ? "MB" : "bytes";
  r.label = "summed";
  r.phase = stage;
  if (r.value >= 0) sink.reading(r);
}
void retries(const Match& m, EventSink& sink) {
  std::size_t at = 0;
  const auto number = read_number(m[1], at);
  sink.remark("allocator/retries", number ? std::optional(number->value) : std::nullopt);
}

}  // namespace oomdoctor::parsers::huggingface
