#include "report/several_jobs.h"

#include "judge/verdict.h"
#include "report/incident_words.h"
#include "report/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace oomdoctor {
namespace {

/// The log that the job's verdict is about.
const std::string& verdict_path(const Report& job) {
  const ReportIncident* failure = verdict_incident(job);
  return failure != nullptr ? failure->location.path : job.inputs.front().path;
}

}  // namespace

void SeveralJobs::add(Report job, const std::vector<std::size_t>& logs) {
  for (std::size_t i = 0; i < logs.size(); ++i) inputs_.emplace(logs[i], job.inputs.at(i));
  const std::string& path = verdict_path(job);
  const auto input = std::find_if(job.inputs.begin(), job.inputs.end(),
                                  [&](const ReportInput& candidate) { return candidate.path == path; });
  const Verdict& verdict = job.verdict;
  runs_.push_back({fmt::format("run-{}", runs_.size() + 1), path, 1, input == job.inputs.end() ? 0 : input->lines,
                   verdict.outcome, verdict.end, verdict.headline});
  out_of_memory_ += verdict.outcome == Outcome::oom;
  coverage_.lines += job.coverage.lines;
  coverage_.claimed += job.coverage.claimed;
  for (const auto& [parser, lines] : job.coverage.by_parser) coverage_.by_parser[parser] += lines;
  for (ReportLostEvidence& lost : job.lost)
    if (std::find(lost_.begin(), lost_.end(), lost) == lost_.end()) lost_.push_back(lost);
  more_lost_ += job.more_lost;
  unread_ |= verdict.outcome == Outcome::unrecognised && !job.lost.empty();
  if (!worst_ || job.verdict.outcome >= worst_->verdict.outcome) worst_ = std::move(job);
}

Report SeveralJobs::take() {
  Report report = std::move(*worst_);
  report.lost = std::move(lost_);
  report.more_lost = more_lost_;
  const std::string path = verdict_path(report);
  const std::string none = report.lost.empty() ? "none ran out of memory" : lost_evidence_words(report);
  const std::string failed = out_of_memory_ == 0 ? none + "; " + path + ": "
                             : out_of_memory_ == 1
                                 ? "only " + path + " ran out of memory: "
                                 : fmt::format("{} ran out of memory, the last in {}: ", out_of_memory_, path);
  Verdict& verdict = report.verdict;
  if (const Outcome seen = verdict.outcome; !report.lost.empty()) {
    verdict.outcome = outcome_with_loss(seen, unread_);
    if (verdict.outcome != seen && verdict.cause.empty()) verdict.retry = {"unknown", ""};
  }
  verdict.headline = fmt::format("{} separate runs; {}{}", runs_.size(), failed, verdict.headline);
  report.inputs.clear();
  for (auto& [place, input] : inputs_) report.inputs.push_back(std::move(input));
  report.runs = std::move(runs_);
  report.coverage = std::move(coverage_);
  return report;
}

}  // namespace oomdoctor
