// The numbers of the growth analysis for curves of every kind, and its words about them, as an approved table:
// tests/approved/growth.txt. Other tests check which verdicts are right. This one shows each number that a change of
// the code moves.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "approved.h"
#include "curves.h"

using namespace oomdoctor;
using namespace oomdoctor::curves;

namespace {

constexpr double MB = 1e6;

/// In GB, over the share of the window; `i` is the index of the value.
const std::vector<std::pair<std::string, Curve>> shapes = {
    {"constant", [](int, double) { return 20.0; }},
    {"constant, other last value", [](int, double t) { return t < 1 ? 20.0 : 23.5; }},
    {"constant, few other values", [](int i, double) { return i % 23 == 9 ? 26.0 : 20.0; }},
    {"constant, each tenth and the last higher", [](int i, double t) { return i % 10 == 9 || t == 1 ? 26.0 : 20.0; }},
    {"three levels in turn", [](int i, double) { return 20 + 0.1 * (i % 3); }},
    {"line", [](int, double t) { return 18 + 6 * t; }},
    {"slow line", [](int, double t) { return 20 + 0.15 * t; }},
    {"falling line", [](int, double t) { return 26 - 5 * t; }},
    {"quadratic", [](int, double t) { return 18 + 2 * t + 5 * t * t; }},
    {"slowing", [](int, double t) { return 18 + 8 * t - 3 * t * t; }},
    {"exponential", [](int, double t) { return 17 + std::exp(2.2 * t); }},
    {"logarithm", [](int, double t) { return 18 + 1.5 * std::log(1 + 40 * t); }},
    {"saturating", [](int, double t) { return 24 - 6 * std::exp(-5 * t); }},
    {"late", [](int, double t) { return 18 + 9 * std::max(0.0, t - 0.55); }},
    {"ramp", [](int, double t) { return 18 + 9 * std::min(t, 0.4); }},
    {"bend", [](int, double t) { return 18 + 2 * t + 8 * std::max(0.0, t - 0.5); }},
    {"step", [](int, double t) { return t < 0.4 ? 18.0 : 21.5; }},
    {"two steps", [](int, double t) { return t < 0.3   ? 18.0
                                             : t < 0.7 ? 20.5
                                                       : 22.0; }},
    {"uneven stairs", [](int, double t) { return 18 + (t > 0.15) + 0.6 * (t > 0.4) + 1.4 * (t > 0.55) + (t > 0.8); }},
    {"equal stairs", [](int, double t) { return 18 + 0.8 * std::floor(7 * t); }},
    {"line with a jump", [](int, double t) { return 18 + 3 * t + (t > 0.6 ? 2.0 : 0.0); }},
    {"sawtooth", [](int i, double) { return 18 + 0.4 * (i % 8); }},
    {"ratchet", [](int i, double t) { return 18 + 0.4 * (i % 8) + 4 * t; }},
    {"cycle", [](int i, double) { return 20 + (i % 10 == 3   ? 2.0
                                               : i % 10 == 4 ? 3.0
                                                             : 0.0); }},
    {"cycle on a line", [](int i, double t) { return 18 + 3 * t +
                                                     (i % 10 == 3   ? 2.0
                                                      : i % 10 == 4 ? 3.0
                                                                    : 0.0); }},
    {"wave", [](int, double t) { return 20 + std::sin(6 * std::numbers::pi * t); }},
    {"spikes", [](int i, double t) { return 18 + 2 * t + (i % 17 == 11 ? 4.0 : 0.0); }},
    {"load, then level", [](int i, double) { return i < 4 ? 2.0 + 4 * i : 19.0; }},
    {"load, then line", [](int i, double t) { return i < 4 ? 2.0 + 4 * i : 19 + 5 * t; }},
    {"idle, then line", [](int, double t) { return t < 0.2 ? 0.5 : 16 + 8 * t; }},
    {"evaluation", [](int, double t) { return 18 + 3 * t - (t > 0.45 && t < 0.55 ? 9.0 : 0.0); }},
    {"release", [](int, double t) { return 18 + 8 * (t < 0.5 ? t : t - 0.5); }},
    {"end of the work", [](int, double t) { return t < 0.85 ? 18 + 4 * t : 3.0; }},
};

std::string steps_text(const std::vector<double>& steps) {
  std::vector<std::string> all;
  for (const double step : steps) all.push_back(fmt::format("{:.0f}", step));
  return fmt::format("[{}]", fmt::join(all, " "));
}

/// With fixed digits. A zero has no sign, because that of a rounded one depends on the machine.
std::string fixed(double value, int digits) {
  const std::string text = fmt::format("{:.{}f}", value, digits);
  return text.find_first_of("123456789") == text.npos && text.starts_with('-') ? text.substr(1) : text;
}

std::string interval_text(const Estimate& of, int digits) {
  return fmt::format("{} ({} to {})", fixed(of.value / MB, digits), fixed(of.low / MB, digits),
                     fixed(of.high / MB, digits));
}

std::string optional_text(const std::optional<double>& value) { return value ? fmt::format("{:.1f}", *value) : "-"; }

/// One line of numbers: sizes in MB, positions in steps.
std::string numbers_of(const Trend& trend) {
  std::string text = fmt::format("{} {} {} {:.2f}", trend.model, to_string(trend.shape), trend.leak ? "leak" : "holds",
                                 trend.confidence);
  text +=
      fmt::format("; slope {}; acceleration {}", interval_text(trend.slope, 3), interval_text(trend.acceleration, 4));
  text += fmt::format("; detectable {:.3f}; onset {}; period {}; changes {}", trend.detectable_slope / MB,
                      optional_text(trend.onset_step), optional_text(trend.period), steps_text(trend.change_points));
  if (trend.forecast)
    text += fmt::format("; full at {:.0f} ({:.0f} to {})", trend.forecast->step, trend.forecast->step_low,
                        trend.forecast->step_high ? fmt::format("{:.0f}", *trend.forecast->step_high) : "never");
  text += "; scores";
  for (std::size_t i = 0; i < trend.models.size() && i < 3; ++i)
    text += fmt::format(" {} {:.1f}", trend.models[i].first, trend.models[i].second);
  text += "; stages";
  for (const Stage& stage : trend.stages)
    text += fmt::format(" {} {:.0f}-{:.0f}", to_string(stage.kind), stage.first_step, stage.last_step);
  return text;
}

}  // namespace

TEST_CASE("the numbers and words of the growth analysis", "[approved]") {
  std::string table;
  for (const auto& [name, curve] : shapes) {
    for (const int n : {14, 45, 180, 900})
      for (const double noise : {0.0, 0.06}) {
        if (n == 900 && noise == 0) continue;
        const Trend trend = trend_of(n, curve, noise, static_cast<unsigned>(n), 40 * GB);
        table += fmt::format("{}, {} values, noise {} MB: {}\n    {}\n", name, n, noise * 1000, numbers_of(trend),
                             trend.why);
      }
  }
  check_approved("growth.txt", table);
}
