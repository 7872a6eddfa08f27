// DeepSpeed: see_memory_usage, and the warning about flushes of the allocator's cache.
//
// see_memory_usage (deepspeed/runtime/utils.py) logs up to four lines: among them the caller's message, the device's
// counters and the host's usage. GB is 2^30 bytes. Max_CA is rounded to whole GB and therefore not read. Both peaks are
// reset after every call. The caller's message is the position in the step ("before forward"). Without its numbers
// ("after step 100") it names the series.
#include <cmath>
#include <string>

#include "base/ascii.h"
#include "read/line_format.h"
#include "read/parser.h"

namespace oomdoctor::parsers::deepspeed {
namespace {

constexpr double gibibyte = static_cast<double>(GiB);
constexpr int message_distance = 40;  ///< lines; warnings of other ranks may separate the message from the numbers
constexpr std::string_view tag = "see_memory_usage]";

/// Finds the caller's message above: "[…] [utils.py:785:see_memory_usage] after step 100 | max seq in batch 400" →
/// "after step 100".
std::optional<std::string> find_message(const Cursor& cursor) {
  std::optional<std::string> message;
  cursor.backward_texts(message_distance, [&](std::string_view text) {
    if (text.find("Max_MA") != text.npos) return false;
    const std::size_t at = text.find(tag);
    if (at == text.npos) return true;
    const std::string_view printed = text.substr(at + tag.size());
    if (printed.find("CPU Virtual Memory") == printed.npos) message = std::string(printed.substr(0, printed.find('|')));
    return false;
  });
  return message;
}

/// The number after "step" or "iteration" in the caller's message.
std::optional<double> parse_step(std::string_view message) {
  for (const std::string_view word : {"step", "iteration", "iter"}) {
    std::size_t at = message.find(word);
    if (at == message.npos) continue;
    at += word.size();
    while (at < message.size() && (message[at] == ' ' || message[at] == ':' || message[at] == '=')) ++at;
    if (at >= message.size() || !is_digit(message[at])) continue;
    if (const auto n = read_number(message, at); n && n->decimals == 0) return n->value;
  }
  return std::nullopt;
}

/// The message without its numbers and repeated blanks, at most 60 characters. Digits of a type stay: "fp16", "bf16",
/// "fp32".
std::string make_phase(std::string_view message) {
  std::string out;
  for (std::size_t i = 0; i < message.size(); ++i) {
    const char c = message[i];
    const bool type = i > 1 && (message.substr(0, i).ends_with("fp") || message.substr(0, i).ends_with("bf") ||
                                message.substr(0, i).ends_with("fp1") || message.substr(0, i).ends_with("bf1") ||
                                message.substr(0, i).ends_with("fp3"));
    if ((is_digit(c) && !type) || (c == ' ' && (out.empty() || out.back() == ' '))) continue;
    out += c;
    if (out.size() >= 60) break;
  }
  while (!out.empty() && (out.back() == ' ' || out.back() == ':' || out.back() == '=')) out.pop_back();
  return out;
}

Reading make_reading(Metric metric, SeriesKind kind, std::string_view text, std::string phase) {
  Reading r;
  std::size_t at = 0;
  const auto number = read_number(text, at);
  r.metric = metric;
  r.kind = kind;
  r.value = number ? number->value * gibibyte : 0;
  r.quantum = gibibyte;
  // DeepSpeed prints 8.50 as 8.5: the values are rounded to a hundredth of a GiB, whatever number of decimals is
  // printed.
  r.quantum /= 100;
  r.unit = "GB";
  r.phase = std::move(phase);
  return r;
}

}  // namespace

void device(const Match& m, EventSink& sink) {
  const auto message = find_message(m.cursor);
  const std::string phase = message ? make_phase(*message) : "";
  const auto step = message ? parse_step(*message) : std::nullopt;
  if (step) sink.step({whole_number(*step), {}, {}});
  sink.reading(make_reading(Metric::allocated, SeriesKind::gauge, m[1], phase), step);
  sink.reading(make_reading(Metric::max_allocated, SeriesKind::reset_maximum, m[2], phase), step);
  sink.reading(make_reading(Metric::reserved, SeriesKind::gauge, m[3], phase), step);
}

void host(const Match& m, EventSink& sink) {
  Reading r = make_reading(Metric::host_used, SeriesKind::sampled_gauge, m[1], "");
  std::size_t at = 0;
  // DeepSpeed prints the share of host RAM, not the total: the total follows from the share.
  if (const auto percent = m.has(2) ? read_number(m[2], at) : std::nullopt; percent && percent->value > 0)
    r.capacity = std::round(100 * r.value / percent->value);
  sink.reading(r);
}

void flushes(const Match& m, EventSink& sink) {
  std::size_t at = 0;
  const auto times = read_number(m[1], at);
  sink.remark("allocator/retries", times ? std::optional(times->value) : std::nullopt);
}

}  // namespace oomdoctor::parsers::deepspeed
