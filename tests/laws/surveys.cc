// A survey over all samples: it says of each job what a report says, and parts give the same survey.
#include "catch.h"
#include "oomdoctor/diagnose.h"
#include "report/survey.h"
#include "samples.h"
#include "serialize/json.h"

namespace oomdoctor {
namespace {

/// Each sample in a folder of its own, so that each is a job.
std::vector<LogSource> samples_as_jobs() {
  std::vector<LogSource> logs;
  for (const auto& path : testing::law_samples())
    logs.push_back({"jobs/" + testing::sample_name(path) + "/train.log", testing::read_file(path)});
  return logs;
}

}  // namespace

TEST_CASE("a survey agrees with the report of each sample", "[law]") {
  const std::vector<LogSource> logs = samples_as_jobs();
  const Survey all = survey(logs);
  std::map<std::string, const SurveyJob*> lines;
  for (const SurveyJob& job : all.jobs) lines[job.path] = &job;
  std::size_t found = 0;
  for (const LogSource& log : logs) {
    const auto line = lines.find(log.path);
    if (line == lines.end() || line->second->logs != 1) continue;  // a record that belongs to another sample's time
    ++found;
    CAPTURE(log.path);
    const Report report = diagnose({log});
    CHECK(line->second->outcome == report.verdict.outcome);
    CHECK(line->second->cause == report.verdict.cause);
    CHECK(line->second->headline == report.verdict.headline);
    CHECK(line->second->fingerprint.empty() == report.verdict.cause.empty());
    CHECK(line->second->lost_seconds.value_or(0) >= 0);
    CHECK(line->second->lost_seconds.has_value() == !line->second->lost_since.empty());
  }
  CHECK(found * testing::one_sample_in > 500);
  std::int64_t jobs = 0;
  for (const SurveyGroup& group : all.outcomes) jobs += group.sums.jobs;
  CHECK(jobs == static_cast<std::int64_t>(all.jobs.size()));
}

}  // namespace oomdoctor
