// What a drawing of memory over the run shows, before it is drawn: which series, in which unit, what is marked. The
// static picture and the one that can be zoomed into are drawn from the same Plot, so that they say the same.
// Every x of a line is greater than or equal to the one before it. Names are neutralised as plain text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "oomdoctor/report.h"

namespace oomdoctor {

struct PlotLine {
  std::string name;
  int colour = 0;      ///< which of the palette; that of live memory is 0, that of the cache 1
  bool faint = false;  ///< the same of another rank: behind the others, without a name in the legend
  std::vector<ReportPoint> points;
};

struct PlotMark {
  enum Kind { failure, onset, change };
  Kind kind = failure;
  double x = 0;
  std::string text;  ///< "step 1000: out of memory, in the backward pass"; may be empty
};

/// A stage of the run that is not work.
struct PlotBand {
  double left = 0, right = 0;
  std::string name;  ///< "load"
};

struct Plot {
  static constexpr int colours = 6;

  std::string title;           ///< "GPU memory"
  std::string x_name, unit;    ///< "step"; "GiB"
  double left = 0, right = 1;  ///< of x
  double bottom = 0, top = 1;  ///< in `unit`, as all values
  std::vector<double> x_ticks, y_ticks;
  std::vector<PlotLine> lines;          ///< faint ones first, the most important one last
  std::vector<ReportCurvePoint> curve;  ///< the fit of the most important line
  std::optional<double> capacity;
  std::string capacity_name;               ///< "23.69 GiB: all of GPU 0"
  std::optional<ReportForecast> forecast;  ///< where it lies within the picture
  std::vector<PlotMark> marks;
  std::vector<PlotBand> bands;  ///< stages of the most important line
  std::size_t not_drawn = 0;    ///< series of this kind that are in the table only
};

/// One for each kind of memory (device, host, share of the device) that has a course; the one that the
/// diagnosis is about first.
std::vector<Plot> plots_of(const Report& report);

/// Live memory and cache have a colour of their own in every picture.
int usual_colour(const ReportSeries& of);
/// A tick as people write it: "0.5", "1000".
std::string tick_text(double value);

}  // namespace oomdoctor
