// Two reports beside each other: what grew from a good run to a bad one, what else differs, and whether that explains
// it. A pure function of both reports. A difference is one only where it is beyond what the numbers leave open: half a
// printed digit on each side, and how far the values of a settled series scatter.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oomdoctor/report.h"
#include "report/terminal.h"

namespace oomdoctor {

inline constexpr const char* comparison_schema_version = "1.0";

/// What changed from the good run to the bad one; `unknown` where one of them does not tell.
enum class Change { unknown, same, more, less };
std::string_view to_string(Change change);

/// One number of both runs.
struct Figure {
  std::optional<double> good, bad;
  Change change = Change::unknown;

  double difference() const { return good && bad ? *bad - *good : 0; }
};

/// One series that both have.
struct SeriesComparison {
  std::string title;  ///< "allocated, rank 3", with the log's own word where it takes that to tell two apart
  ReportSeries good, bad;
  Figure peak;    ///< unknown for what is left instead of used: a peak of free memory is nothing
  Figure steady;  ///< the level behind the warm-up
  Figure slope;   ///< bytes a step, or what else both count by
};

/// A setting that differs, or that one log alone prints.
struct SettingComparison {
  std::string name;
  std::optional<ReportSetting> good, bad;
  Change need = Change::unknown;  ///< what the change does to the need for memory, all else being equal
  std::optional<double> factor;   ///< by which the need grows at most
};

/// What explains the growth of the first series.
enum class Explanation {
  nothing_grew,
  growth,        ///< the bad run grows step by step, the good one does not, or less
  longer_run,    ///< both grow alike, the bad run for longer
  cache,         ///< the allocator holds more, live tensors do not take more
  setting,       ///< one setting differs that can need that much more, and none of unknown effect
  settings,      ///< several such, together
  inputs,        ///< the batches' inputs are longer
  smaller_card,  ///< nothing grew, and the bad run had less memory to live in
  undetermined,
};
std::string_view to_string(Explanation explanation);

/// A limit to growth, as --fail-if says it: "peak+5%", "steady+500MiB".
struct GrowthLimit {
  enum class Of { peak, steady, slope };
  std::string text;
  Of of = Of::peak;
  double share = 0;  ///< of the good run's figure
  double bytes = 0;
};

struct CheckedLimit {
  std::string text;
  std::vector<std::size_t> beyond;  ///< series that grew by more, and beyond the scatter
  bool told = false;                ///< a series of both runs has the figure
};

struct Comparison {
  Report good, bad;
  std::vector<SeriesComparison> series;          ///< what grew most and nearest to the tensors comes first
  std::vector<std::string> only_good, only_bad;  ///< names of series without a counterpart
  std::vector<SettingComparison> settings;       ///< that differ
  std::size_t same_settings = 0;
  std::vector<SeriesComparison> input_lengths;
  std::optional<std::int64_t> good_capacity, bad_capacity;  ///< of the device, where known
  bool grew = false;                                        ///< the first series did
  Explanation explanation = Explanation::undetermined;
  std::string headline;              ///< what grew, and what explains it
  std::vector<std::string> because;  ///< each with its numbers
  std::vector<CheckedLimit> limits;  ///< that were asked about
};

Comparison compare(Report good, Report bad);
/// The last part of it: explanation, headline and because.
void explain(Comparison& comparison);

/// What it grew by, in bytes (or per cent where that is its unit): of the peak, else of the level; 0 where it did not.
double growth_of(const SeriesComparison& of);

std::string relative_text(const Figure& figure);       ///< "+45%"
std::string change_text(const SettingComparison& of);  ///< "batch_size 8 → 16"

std::string comparison_screen(const Comparison& comparison, const RenderOptions& view);
std::string comparison_markdown(const Comparison& comparison);
std::string comparison_json(const Comparison& comparison);
/// The JSON Schema (draft 2020-12) of that: what `oomdoctor schema comparison` prints.
std::string_view comparison_schema();

/// nullopt for what is no limit.
std::optional<GrowthLimit> read_growth_limit(std::string_view text);

/// Adds to the comparison's limits.
void check_limit(Comparison& comparison, const GrowthLimit& limit);
/// The bad run alone ended for want of memory: it would have needed more, whatever it reached.
bool only_bad_failed(const Comparison& comparison);

}  // namespace oomdoctor
