// Bytes as the logs of two jobs, or as parts: a survey whose totals are the sums of its lines, whatever the dates and
// numbers.
#include <cmath>

#include "../part_file.h"
#include "../target.h"
#include "base/error.h"
#include "oomdoctor/diagnose.h"
#include "report/survey.h"
#include "serialize/json.h"

namespace oomdoctor::testing {
namespace {

/// Bytes that begin as a part are one, all others are two logs.
Survey survey_on(std::string_view text) {
  Options options;
  options.jobs = 1;
  if (text.starts_with(part_front)) {
    const MemoryFile part(text);
    return survey({{part.path(), std::nullopt}}, options);
  }
  const std::size_t half = text.size() / 2;
  return survey({{"a/x.log", std::string(text.substr(0, half))}, {"b/y.log", std::string(text.substr(half))}}, options);
}

/// Returns the number of logs.
std::int64_t check(const Survey& all) {
  std::int64_t logs = 0, failed = 0, dated = all.undated;
  for (const SurveyJob& job : all.jobs) {
    logs += job.logs;
    failed += is_memory_failure(job);
    demand(job.lost_seconds.has_value() == !job.lost_since.empty());
    demand(std::isfinite(job.lost_seconds.value_or(0)) && job.lost_seconds.value_or(0) >= 0);
  }
  for (const SurveyWeek& week : all.weeks) {
    demand(week.week.size() == 8 && week.starts.size() == 10 && week.failed.jobs <= week.jobs);
    dated += week.failed.jobs;
  }
  demand(failed == all.failed.jobs && dated == failed);
  demand(!survey_jsonl(all).empty() && !survey_json(all).empty());
  return logs;
}

void run(std::string_view text) {
  const bool part = text.starts_with(part_front);
  try {
    const std::int64_t logs = check(survey_on(text));
    demand(part || logs == 2);
  } catch (const Error& error) {  // only parts may throw
    demand(part && error.what()[0] != '\0');
  }
}

constexpr std::size_t longest = 8192;

std::vector<std::string> seeds() {
  std::vector<std::string> all = file_seeds({"samples/stories", "samples/several_runs"}, longest);
  Options options;
  options.jobs = 1;
  std::vector<std::string> parts;
  for (const std::string& log : all)
    read_parts({{"x/train.log", log}}, options, [&](std::string_view part) {
      if (part.size() <= longest) parts.emplace_back(part);
    });
  all.insert(all.end(), parts.begin(), parts.end());
  return all;
}

const Added target({.name = "survey", .longest = longest, .run = run, .seeds = seeds});

}  // namespace
}  // namespace oomdoctor::testing
