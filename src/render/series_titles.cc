#include "render/series_titles.h"

#include <algorithm>
#include <string_view>

#include "render/layout.h"
#include "report/escape.h"
#include "report/series_words.h"

namespace oomdoctor {

std::string clip_series_title(const Report& report, const ReportSeries& of, int width) {
  const std::string title = plain_line(series_title(report, of)), clipped = clip_end(title, width);
  if (clipped == title) return title;
  // The part of the label that would remain.
  const std::size_t label = title.find(of.label);
  const std::size_t cut = static_cast<std::size_t>(
      std::mismatch(title.begin(), title.end(), clipped.begin(), clipped.end()).first - title.begin());
  const std::string_view shown = std::string_view(of.label).substr(0, cut > label ? cut - label : 0);
  const bool ambiguous = std::any_of(report.series.begin(), report.series.end(), [&](const ReportSeries& other) {
    return other.metric == of.metric && other.label != of.label && other.label.starts_with(shown);
  });
  return ambiguous && label != title.npos ? clip_middle(title, width) : clipped;
}

}  // namespace oomdoctor
