// The content of a chart of memory over the run, before it is drawn: series, unit, ranges and marks. The x values of a
// line never decrease. Texts are escaped as plain text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "oomdoctor/report.h"

namespace oomdoctor {

/// One series.
struct PlotLine {
  std::string series;  ///< its id in the report
  std::string name;    ///< for example "allocated, rank 3"
  std::string label;   ///< at the end of the line: the name without the words that all lines share; "" for a faint line
  int colour = 0;      ///< index into the palette; tensors have 0, the cache 1
  bool faint = false;  ///< the same metric of another rank, drawn behind the other lines
  std::vector<ReportPoint> points;      ///< values in Plot::unit
  std::string first_place, last_place;  ///< of the first and the last value, for example "line 32"; "" if unknown
};

/// A vertical line at a failure, at the start of growth, or at a change of level.
struct PlotMark {
  enum PlotMarkKind { failure, onset, change };
  PlotMarkKind kind = failure;
  double x = 0;
  std::string text;   ///< for example "OOM, step 1000"; "" if another mark has the text
  std::string place;  ///< of a failure, for example "line 186"
};

/// The refused request, on top of the memory that was in use.
struct PlotRequest {
  double x = 0, from = 0, to = 0;
  std::string size;  ///< for example "+1.50 GiB"
};

/// A stage of the run other than work, or the range of the forecast.
struct PlotBand {
  double left = 0, right = 0;
  std::string name;  ///< for example "load"
};

/// One chart.
struct Plot {
  static constexpr int colours = 6;

  std::string title;           ///< for example "GPU memory"
  std::string x_name, y_name;  ///< titles of the axes with their units: "step", "GPU memory (GiB)"
  std::string x_unit, unit;    ///< "step", "epoch", "second" or "value"; "GiB"
  double left = 0, right = 1;  ///< range of x
  double bottom = 0, top = 1;  ///< range of the values, in `unit`
  std::vector<double> x_ticks, y_ticks;
  std::vector<ReportPoint> clock;  ///< x and seconds since 1970, both increasing; empty if the log has no dates
  std::vector<PlotLine> lines;     ///< in drawing order: faint ones first, the main one last
  /// Pieces of the main line's fit, without the parts that its values cover.
  std::vector<std::vector<ReportCurvePoint>> fit;
  std::optional<double> capacity;
  bool capacity_above = false;               ///< so far above the values that its line is out of the picture
  std::string capacity_size, capacity_word;  ///< for example "23.69 GiB"; "capacity" or "limit"
  std::vector<double> share_ticks;           ///< of the second axis, in % of the capacity; empty if there is none
  std::optional<ReportForecast> forecast;    ///< if it is inside the picture
  std::optional<PlotRequest> request;
  std::vector<PlotMark> marks;
  std::vector<PlotBand> bands;  ///< of the main line
  std::size_t not_drawn = 0;    ///< series of this kind that only the table shows
};

/// One plot per kind of memory (GPU, host, share of the GPU) with at least three values at different x. The plot of the
/// series that the diagnosis is about comes first.
std::vector<Plot> make_plots(const Report& report);

/// The clock at `x`, between the dated values: "14:05"; with seconds or with the day, as the range of x needs. ""
/// outside.
std::string clock_text(const Plot& plot, double x);

/// The colour index of a series in these plots. Tensors and cache have the same colour in every plot.
int find_colour(const std::vector<Plot>& plots, const ReportSeries& of);

}  // namespace oomdoctor
