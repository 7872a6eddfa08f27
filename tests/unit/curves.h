// Generated series for the growth tests. Seeds and random number generators are fixed, so every machine draws the same
// series. Heights are in units of 10^9 bytes.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <numbers>
#include <optional>
#include <random>
#include <vector>

#include "growth/growth.h"

namespace oomdoctor::curves {

inline constexpr double GB = 1e9;

class Noise {
 public:
  explicit Noise(unsigned seed) : engine_(seed) {}
  double uniform() { return (static_cast<double>(engine_() >> 11) + 0.5) / 9007199254740992.0; }
  double normal() {
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }
  /// Student's t with two degrees of freedom, which has no variance.
  double heavy() { return normal() / std::sqrt(-std::log(uniform())); }
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(uniform() * static_cast<double>(n)); }

 private:
  std::mt19937_64 engine_;
};

inline double rounded(double value, double quantum) {
  return quantum > 0 ? std::round(value / quantum) * quantum : value;
}

/// Values in bytes at the given steps, rounded to `quantum`.
inline Series series_at(const std::vector<double>& steps, const std::vector<double>& values, double quantum = 0.01 * GB,
                        Metric metric = Metric::allocated, SeriesKind kind = SeriesKind::gauge) {
  Series series;
  series.metric = metric;
  series.kind = kind;
  series.quantum = quantum;
  series.has_steps = true;
  for (std::size_t i = 0; i < values.size(); ++i) series.add(steps[i], 0, rounded(values[i], quantum));
  return series;
}

inline std::vector<double> every(std::size_t n, double distance = 10) {
  std::vector<double> steps;
  for (std::size_t i = 0; i < n; ++i) steps.push_back(distance * static_cast<double>(i));
  return steps;
}

inline Series series_of(const std::vector<double>& values, double quantum = 0.01 * GB, double distance = 10) {
  return series_at(every(values.size(), distance), values, quantum);
}

/// A function of the index and of the share of the window (0 … 1), in GB.
using Curve = std::function<double(int i, double t)>;

inline std::vector<double> values_of(int n, const Curve& curve, double noise = 0, unsigned seed = 1) {
  Noise source(seed);
  std::vector<double> values;
  for (int i = 0; i < n; ++i)
    values.push_back(GB * (curve(i, static_cast<double>(i) / (n - 1)) + (noise > 0 ? noise * source.normal() : 0)));
  return values;
}

inline Trend trend_of(int n, const Curve& curve, double noise = 0, unsigned seed = 1,
                      std::optional<double> capacity = 30 * GB) {
  return analyse_growth(series_of(values_of(n, curve, noise, seed)), {capacity, {}});
}

/// Nine values that accelerate towards 24 GB.
inline Series accelerating_run() {
  return series_at({100, 200, 300, 400, 500, 600, 700, 800, 900},
                   {18.2 * GB, 18.5 * GB, 18.9 * GB, 19.4 * GB, 20.1 * GB, 20.9 * GB, 21.8 * GB, 22.9 * GB, 24.2 * GB},
                   0.1 * GB);
}

}  // namespace oomdoctor::curves
