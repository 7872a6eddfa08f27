// Bytes as the lines of jobs: what is left out has its place and a reason, and the other lines read back as they were
// written.
#include "serialize/survey_lines.h"

#include "../part_file.h"
#include "../target.h"
#include "oomdoctor/diagnose.h"
#include "report/survey.h"
#include "serialize/json.h"

namespace oomdoctor::testing {
namespace {

std::string lines_of(std::string_view text, std::size_t& left_out) {
  const MemoryFile file(text);
  std::vector<SurveyJob> jobs;
  read_survey_lines(
      file.path(), [&](SurveyJob job) { jobs.push_back(std::move(job)); },
      [&](const std::string& problem) {
        ++left_out;
        demand(problem.starts_with(file.path() + ":") && problem.size() > file.path().size() + 4);
      });
  return survey_jsonl(make_survey(std::move(jobs), {}));
}

void run(std::string_view text) {
  std::size_t left_out = 0, again = 0;
  const std::string written = lines_of(text, left_out);
  demand(lines_of(written, again) == written && again == 0);
}

constexpr std::size_t longest = 8192;

/// The lines of short logs.
std::vector<std::string> seeds() {
  std::vector<std::string> lines;
  Options options;
  options.jobs = 1;
  for (std::string& log : file_seeds({"samples"}, longest))
    lines.push_back(survey_jsonl(survey({{"jobs/1/train.log", std::move(log)}}, options)));
  return lines;
}

const Added target({.name = "survey_lines", .longest = longest, .run = run, .seeds = seeds});

}  // namespace
}  // namespace oomdoctor::testing
