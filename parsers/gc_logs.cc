// The heap of Go programs after each garbage collection. With GODEBUG=gctrace=1, the runtime prints what is alive then,
// in whole MB of 2^20 bytes.
//
// The heap of Java programs after each full collection. Other collections leave garbage in the old generation, so what
// they leave rises in every healthy program.
#include <algorithm>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/parse_whole.h"
#include "read/line_format.h"
#include "read/parser.h"
#include "read/sizes.h"

namespace oomdoctor::parsers::gc_logs {
namespace {

Reading live_heap(std::string_view megabytes) {
  constexpr double unit = static_cast<double>(MiB);
  return sampled_reading(Metric::memory, static_cast<double>(leading_integer(megabytes)) * unit, unit, "MB", "Go heap");
}

/// The seconds since the start of the JVM: "4.870: [Full GC", "[2020-09-22T22:53:20.503+0200][64.200s][info ]". A
/// decimal comma is one of the user's language.
std::optional<double> seconds_of_jvm(std::string_view line) {
  std::string text(line.substr(0, 80));
  std::replace(text.begin(), text.end(), ',', '.');
  const std::size_t unit = text.find("s][");
  const std::size_t end = unit != text.npos ? unit : text.find(": [");
  if (end == text.npos || end == 0) return std::nullopt;
  const std::size_t begin = text.find_last_not_of("0123456789.", end - 1) + 1;
  if (begin == end || text.find('.', begin) > end) return std::nullopt;  // "[64200ms]" is not read
  return leading_number(std::string_view(text).substr(begin, end - begin));
}

}  // namespace

void full(const Match& m, EventSink& sink) {
  sink.remark("line/no_sign");
  const std::string_view printed = m.has(1) ? m[1] : m.has(3) ? m[3] : std::string_view();
  const auto size = read_size(printed);
  if (!size) return;
  Reading live = sampled_reading(Metric::memory, static_cast<double>(size->count),
                                 static_cast<double>(std::max<i64>(1, 2 * size->slack)),
                                 printed.substr(printed.size() - 1), "Java heap after a full collection");
  const auto seconds = seconds_of_jvm(m.cursor.line().body());
  live.since_start = seconds.has_value();
  if (const auto heap = read_size(m.has(2) ? m[2] : m[4])) live.capacity = static_cast<double>(heap->count);
  sink.reading(live, {}, seconds);
}

/// The seconds count from the start of the program.
void go(const Match& m, EventSink& sink) { sink.reading(live_heap(m[2]), {}, leading_number(m[1])); }

/// Go 1.4 and older print no time.
void old_go(const Match& m, EventSink& sink) { sink.reading(live_heap(m[1]), {}); }

}  // namespace oomdoctor::parsers::gc_logs
