// What a chart of memory over the run shows, before it is drawn: which series, in which unit, what is marked.
// Every x of a line is greater than or equal to the one before it. Texts are neutralised as plain text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "oomdoctor/report.h"

namespace oomdoctor {

struct PlotLine {
  std::string series;  ///< its id
  std::string name;    ///< "allocated, rank 3"
  std::string label;   ///< beside its end: the name without what all lines share; "" of a faint line
  int colour = 0;      ///< which of the palette; that of tensors is 0, that of the cache 1
  bool faint = false;  ///< the same metric of another rank, drawn behind the others
  std::vector<ReportPoint> points;
  std::string first_place, last_place;  ///< "line 32", of the first and the last value; "" where unknown
};

struct PlotMark {
  enum Kind { failure, onset, change };
  Kind kind = failure;
  double x = 0;
  std::string text;   ///< "OOM, step 1000"; "" where another mark says the same
  std::string place;  ///< "line 186", of a failure
};

/// The refused request on top of the memory that was in use.
struct PlotRequest {
  double x = 0, from = 0, to = 0;
  std::string size;  ///< "+1.50 GiB"
};

/// A stage of the run that is not work, or what is only forecast.
struct PlotBand {
  double left = 0, right = 0;
  std::string name;  ///< "load"
};

struct Plot {
  static constexpr int colours = 6;

  std::string title;           ///< "GPU memory"
  std::string x_name, y_name;  ///< titles of the axes with their units: "step", "GPU memory (GiB)"
  std::string x_unit, unit;    ///< "step", "second" or "value"; "GiB"
  double left = 0, right = 1;  ///< of x
  double bottom = 0, top = 1;  ///< in `unit`, as all values
  std::vector<double> x_ticks, y_ticks;
  std::vector<PlotLine> lines;  ///< faint ones first, the most important one last
  /// Pieces of the most important line's fit, without those that its values cover.
  std::vector<std::vector<ReportCurvePoint>> fit;
  std::optional<double> capacity;
  std::string capacity_size, capacity_word;  ///< "23.69 GiB", "capacity" or "limit"
  std::optional<ReportForecast> forecast;    ///< where it lies within the picture
  std::optional<PlotRequest> request;
  std::vector<PlotMark> marks;
  std::vector<PlotBand> bands;  ///< of the most important line
  std::size_t not_drawn = 0;    ///< series of this kind that are in the table only
};

/// One for each kind of memory (device, host, share of the device) that has a course; the one that the
/// diagnosis is about first.
std::vector<Plot> plots_of(const Report& report);

/// The colour of the series' line in these plots; tensors and cache have the same colour in every picture.
int colour_of(const std::vector<Plot>& plots, const ReportSeries& of);

}  // namespace oomdoctor
