// Compares the reports of a good and a bad run: which memory grew, what else differs, and whether that explains the
// growth. A pure function of both reports. A difference counts only if it exceeds the uncertainty of the numbers: half
// a printed digit on each side, plus the scatter of a settled series.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_names.h"
#include "oomdoctor/report.h"

namespace oomdoctor {

inline constexpr const char* comparison_schema_version = "1.0";

/// The change from the good run to the bad one; `unknown` if a run does not print the value.
enum class Change { unknown, same, more, less };
template <>
inline constexpr auto enum_names<Change> = names_up_to<Change::less>("unknown", "same", "more", "less");

/// One number of both runs, in the unit of its series.
struct Figure {
  std::optional<double> good, bad;
  Change change = Change::unknown;

  /// 0 if a run does not have the number.
  double difference() const { return good && bad ? *bad - *good : 0; }
};

/// One series that both runs print.
struct SeriesComparison {
  std::string title;  ///< for example "allocated, rank 3"; with the log's label if that is needed to distinguish two
  ReportSeries good, bad;
  Figure peak;    ///< unknown for series of free memory: their maximum means nothing
  Figure steady;  ///< the level after the warm-up
  Figure slope;   ///< bytes per step, or per the other unit of x that both have
};

/// A setting with different values, or one that only one log prints.
struct SettingComparison {
  std::string name;
  std::optional<ReportSetting> good, bad;
  Change need = Change::unknown;  ///< the effect of the change on the memory need, all else being equal
  std::optional<double> factor;   ///< upper bound of the growth of the need
};

/// The explanation for the growth of the first series.
enum class Explanation {
  nothing_grew,
  growth,       ///< the bad run grows at every step, the good one does not, or more slowly
  longer_run,   ///< both grow equally fast, but the bad run is longer
  cache,        ///< the allocator reserves more, the tensors do not grow
  setting,      ///< one setting differs that can explain the size of the growth, and none of unknown effect
  settings,     ///< several such settings together
  inputs,       ///< the inputs of the batches are longer
  smaller_gpu,  ///< nothing grew, but the bad run's GPU is smaller
  undetermined,
};
template <>
inline constexpr auto enum_names<Explanation> = names_up_to<Explanation::undetermined>("nothing_grew", "growth",
                                                                                       "longer_run", "cache", "setting",
                                                                                       "settings", "inputs",
                                                                                       "smaller_card", "undetermined");

/// A limit of --fail-if: "peak+5%", "steady+500MiB".
struct GrowthLimit {
  enum class Of { peak, steady, slope };
  std::string text;
  Of of = Of::peak;
  double share = 0;  ///< allowed growth as a fraction of the good run's number
  double bytes = 0;  ///< allowed growth in bytes
};

/// The result for one limit.
struct CheckedLimit {
  std::string text;
  std::vector<std::size_t> beyond;  ///< indices of series that grew by more than the limit, and beyond the uncertainty
  bool told = false;                ///< whether any common series has the number
};

/// The result of compare().
struct Comparison {
  Report good, bad;
  std::vector<SeriesComparison>
      series;  ///< the series that grew most first; among similar ones, the one closest to the tensors
  std::vector<std::string> only_good, only_bad;  ///< names of series that only one run has
  std::vector<SettingComparison> settings;       ///< that differ
  std::size_t same_settings = 0;
  std::vector<SeriesComparison> input_lengths;
  std::optional<std::int64_t> good_capacity, bad_capacity;  ///< of the GPU, if known
  bool grew = false;                                        ///< whether the first series grew
  Explanation explanation = Explanation::undetermined;
  std::string headline;              ///< the growth and its explanation
  std::vector<std::string> because;  ///< reasons, each with its numbers
  std::vector<CheckedLimit> limits;  ///< filled by check_limit()
};

/// Settings, series and explanation. The result has no limits yet; see check_limit().
Comparison compare(Report good, Report bad);
/// The last step of compare(): fills explanation, headline and because.
void explain(Comparison& comparison);

/// The growth in bytes, or in percent for a series in percent: of the peak, else of the steady level, else of a growing
/// series over its length. 0 if it did not grow.
double measure_growth(const SeriesComparison& of);

std::string relative_text(const Figure& figure);       ///< for example "+45%"; both numbers must be present
std::string change_text(const SettingComparison& of);  ///< for example "batch_size 8 → 16"

/// Parses "peak+5%", "steady+500MiB" or "slope+…"; nullopt for anything else.
std::optional<GrowthLimit> read_growth_limit(std::string_view text);

/// Checks the limit against all common series, and appends the result to comparison.limits.
void check_limit(Comparison& comparison, const GrowthLimit& limit);
/// Whether only the bad run ran out of memory. It then needed more than it reached.
bool only_bad_failed(const Comparison& comparison);

}  // namespace oomdoctor
