// Surveys of jobs written by hand: the input of the survey's tests and of its writers' tests.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "report/survey.h"

namespace oomdoctor::samples {

inline constexpr double hour = 3600, day = 24 * hour;
inline constexpr double march_4 = 1741080730;  ///< 2025-03-04 09:32:10, a Tuesday of 2025-W10

inline SurveyJob fine_job(std::string path, double ended_at = march_4) {
  SurveyJob job;
  job.path = std::move(path);
  job.logs = 1;
  job.outcome = Outcome::no_oom;
  job.ended_at = ended_at;
  job.step = 4000;
  return job;
}

/// A job that leaks in model.py.
inline SurveyJob leaking_job(std::string path, std::string user, double failed_at = march_4) {
  SurveyJob job = fine_job(std::move(path), failed_at + 5);
  job.user = std::move(user);
  job.program = "PyTorch";
  job.gpu = "NVIDIA A100-SXM4-80GB";
  job.gpu_bytes = 79 * GiB;
  job.gpus = 8;
  job.outcome = Outcome::oom;
  job.cause = "leak";
  job.cause_title = "Memory leak: each step keeps memory";
  job.confidence = 0.92;
  job.place = "model.py in forward";
  job.failure = "The GPU ran out of memory, in the backward pass";
  job.fingerprint = "5f2b";
  job.fixes = {{"memory-snapshot", "Diff two memory snapshots", true},
               {"detach-running-loss", "Accumulate `loss.item()`, not `loss`", false}};
  job.step = 1240;
  job.failed_at = failed_at;
  job.lost_seconds = 2 * hour;
  job.lost_since = "checkpoint";
  job.headline = "GPU 0 was full at step 1240";
  return job;
}

/// A job that its limit of host RAM ended. The log prints no date and no traceback.
inline SurveyJob killed_job(std::string path, std::string number) {
  SurveyJob job;
  job.path = std::move(path);
  job.job = std::move(number);
  job.logs = 2;
  job.outcome = Outcome::oom;
  job.cause = "job_limit";
  job.cause_title = "Memory limit of the job or container reached (host RAM)";
  job.confidence = 0.99;
  job.failure = "The Slurm job reached its memory limit";
  job.fingerprint = "77aa";
  job.fixes = {{"raise-host-memory", "Request more host RAM", false}};
  return job;
}

inline std::vector<SurveyJob> jobs_of_a_cluster() {
  std::vector<SurveyJob> jobs = {
      leaking_job("/home/alice/runs/1/train.log", "alice", march_4 - 14 * day),
      leaking_job("/home/bob/runs/2/train.log", "bob"),
      leaking_job("/home/alice/runs/3/train.log", "alice", march_4 + 2 * hour),
      killed_job("logs/slurm-4711.out", "4711"),
      killed_job("logs/slurm-4712.out", "4712"),
      fine_job("runs/4/train.log", march_4 - 14 * day),
      fine_job("runs/5/train.log"),
  };
  jobs[2].fixes.push_back({"smaller-batch", "Smaller micro-batch", false});
  jobs[4].file_time = march_4 - hour;
  jobs[2].lost_seconds.reset();
  jobs[2].lost_since.clear();
  SurveyJob unclear = leaking_job("runs/6/eval.log", "", march_4 + day);
  unclear.outcome = Outcome::possible_oom;
  unclear.cause = "undetermined";
  unclear.cause_title.clear();
  unclear.confidence = 0.4;
  unclear.fingerprint = "0c11";
  unclear.gpus.reset();
  unclear.lost_seconds = 90;
  unclear.lost_since = "start";
  unclear.fixes.clear();
  jobs.push_back(unclear);
  SurveyJob growing = fine_job("runs/7/train.log", march_4 + 3 * hour);
  growing.outcome = Outcome::at_risk;
  growing.cause = "leak";
  growing.cause_title = "Memory leak: each step keeps memory";
  growing.confidence = 0.81;
  jobs.push_back(growing);
  return jobs;
}

inline Survey cluster() {
  Survey survey = make_survey(jobs_of_a_cluster(), {{"warning", "left out: parts/7.jsonl:3: no part", std::nullopt}});
  survey.tool_version = "0.1.0";
  return survey;
}

/// Every text that can come from a log or a path tries to inject markup into the output.
inline Survey hostile_cluster() {
  const std::string evil =
      "\x1b[31mred\x1b]0;title\x07 \xe2\x80\xae"
      "desrever ::error file=x::pwned ##[group]x <script>alert(1)</script> \xff\xc0 \x9b"
      "31m end\r\n::warning::2nd\n+++ header";
  std::vector<SurveyJob> jobs;
  for (const char* number : {"1", "2"}) {
    SurveyJob job = leaking_job(evil + number, evil);
    for (std::string* text :
         {&job.job, &job.program, &job.gpu, &job.cause, &job.cause_title, &job.place, &job.failure, &job.headline})
      *text = evil;
    job.fixes = {{evil, evil, false}};
    jobs.push_back(job);
  }
  Survey survey = make_survey(std::move(jobs), {{"warning", evil, std::nullopt}});
  survey.tool_version = "0.1.0";
  return survey;
}

}  // namespace oomdoctor::samples
