// Draws one curve of memory in many lengths, with and without noise, in fine and coarse print steps. A verdict that is
// right for one length only is a defect.
#pragma once

#include <algorithm>
#include <vector>

#include "catch.h"
#include "curves.h"

namespace oomdoctor::curves {

/// One way to print a curve; noise and print step in GB.
struct Printed {
  double noise, quantum;
  unsigned seed;
};

inline const std::vector<Printed> prints_of_short_series{
    {0, 0.001, 1}, {0, 0.1, 1}, {0.01, 0.01, 2}, {0.02, 0.001, 3}, {0.02, 0.1, 4}, {0.03, 0.01, 5}, {0.005, 0.01, 6}};
inline const std::vector<Printed> prints_of_long_series{{0.02, 0.01, 7}, {0.01, 0.1, 8}};  // for long series

struct Course {
  Curve curve = {};
  std::vector<int> lengths{8, 12, 25, 60, 240, 2000};
  std::vector<Shape> shapes = {};  ///< expected from `shown_from` values on; empty: any
  int shown_from = 25;
  Metric metric = Metric::allocated;
  SeriesKind kind = SeriesKind::gauge;
  std::optional<double> capacity = 40 * GB;
  double loudest = 1;  ///< GB of noise that leaves the shape recognizable
};

inline void expect(const Course& course, bool leak) {
  for (const int n : course.lengths)
    for (const Printed& printed : n > 100 ? prints_of_long_series : prints_of_short_series) {
      if (printed.noise > course.loudest || (n > 1000 && printed.quantum > 0.01)) continue;
      const Series series =
          series_at(every(static_cast<std::size_t>(n)),
                    values_of(n, course.curve, printed.noise, printed.seed + static_cast<unsigned>(n)),
                    printed.quantum * GB, course.metric, course.kind);
      const Trend trend = analyse_growth(series, {course.capacity, {}});
      INFO("n = " << n << ", noise " << printed.noise << ", print step " << printed.quantum << ": "
                  << to_string(trend.shape) << ", " << trend.model << ", " << trend.why);
      CHECK(trend.leak == leak);
      if (n >= course.shown_from && !course.shapes.empty())
        CHECK(std::find(course.shapes.begin(), course.shapes.end(), trend.shape) != course.shapes.end());
    }
}

inline void leaks(const Course& course) { expect(course, true); }
inline void holds(const Course& course) { expect(course, false); }

}  // namespace oomdoctor::curves
