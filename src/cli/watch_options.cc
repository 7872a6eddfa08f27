#include "cli/watch_options.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/parse_whole.h"

namespace oomdoctor::cli {
namespace {

constexpr double longest_time = 366.0 * 86400;  ///< seconds; every sum of two fits the clock

struct Quantity {
  double value = 0;
  std::string_view unit;
};

/// "1.5h" as 1.5 and "h". nullopt if there is no finite number: std::from_chars also reads "nan" and "inf".
std::optional<Quantity> read_quantity(const std::string& text) {
  Quantity read;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, read.value);
  if (error != std::errc{} || !std::isfinite(read.value)) return std::nullopt;
  read.unit = {end, static_cast<std::size_t>(last - end)};
  return read;
}

/// Reads "30min", "1.5h", "90s", "2d" or a number of seconds. Throws Error.
double read_duration(std::string_view option, const std::string& text) {
  using TimeUnit = std::pair<std::string_view, double>;
  const auto read = read_quantity(text);
  for (const auto& [name, seconds] : {TimeUnit{"", 1}, {"s", 1}, {"min", 60}, {"m", 60}, {"h", 3600}, {"d", 86400}})
    if (read && read->unit == name && read->value > 0 && read->value <= longest_time / seconds)
      return read->value * seconds;
  throw Error(fmt::format("invalid --{} '{}'", option, text), "",
              "give a time of at most a year, for example 30min, 2h or 90s");
}

double read_share(std::string_view option, const std::string& text) {
  const auto read = read_quantity(text);
  if (!read || read->unit != "%" || read->value <= 0 || read->value > 100)
    throw Error(fmt::format("invalid --{} '{}'", option, text), "", "give a share of the memory, for example 90%");
  return read->value / 100;
}

pid_t read_pid(const std::string& text) {
  const auto pid = parse_whole<pid_t>(text);
  if (!pid || *pid <= 0) throw Error(fmt::format("invalid --pid '{}'", text), "", "give the number of a process");
  return *pid;
}

}  // namespace

WatchOptions read_watch_options(const Arguments& arguments) {
  WatchOptions options;
  options.paths = arguments.words;
  for (const std::string& path : arguments.all("csv")) options.paths.push_back(path);
  if (options.paths.empty()) throw Error("watch needs the logs of a job", "", "for example: oomdoctor watch train.log");
  options.every = std::chrono::duration<double>(read_duration("every", arguments.value_or("every", "1s")));
  options.warn_before = read_duration("warn-before", arguments.value_or("warn-before", "30min"));
  options.warn_at = read_share("warn-at", arguments.value_or("warn-at", "90%"));
  options.on_risk = arguments.value_or("on-risk", "");
  options.prometheus = arguments.value_or("prometheus", "");
  if (const auto pid = arguments.value("pid")) options.pid = read_pid(*pid);
  options.json = arguments.has("json-lines");
  return options;
}

}  // namespace oomdoctor::cli
