// The survey of many jobs: weeks, totals, repeated failures, lost time, and what can go wrong with its inputs.
#include "report/survey.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <unistd.h>

#include "catch.h"
#include "fold/path_tags.h"
#include "oomdoctor/diagnose.h"
#include "redact/redact.h"
#include "report/survey_fields.h"
#include "report/survey_words.h"
#include "report/words.h"
#include "sample_surveys.h"
#include "serialize/json.h"
#include "temporary_folder.h"

using namespace oomdoctor;

namespace {

namespace fs = std::filesystem;

constexpr const char* failure_text =
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 39.39 GiB "
    "of which 1.12 GiB is free.\n";

/// A date of 2025-03-01 and a step.
std::string step_at(const std::string& clock, int step) {
  return "2025-03-01 " + clock + " step " + std::to_string(step) + " | loss 2.1 | allocated 20 GiB\n";
}

std::string saved_at(const std::string& clock) {
  return "2025-03-01 " + clock + " INFO: saving checkpoint to out/s.pt\n";
}

std::string failed_at(const std::string& clock) { return "2025-03-01 " + clock + " " + failure_text; }

SurveyJob only_job(const std::vector<LogSource>& logs) {
  const Survey result = survey(logs);
  REQUIRE(result.jobs.size() == 1);
  return result.jobs[0];
}

SurveyJob job_of(const std::string& text) { return only_job({{"train.log", text}}); }

std::string killed_text(const std::string& script) {
  return "Traceback (most recent call last):\n  File \"/home/alice/" + script +
         "\", line 9, in main\n    loss = model(x)\n" + failure_text;
}

/// Jobs of several kinds: with ranks, with two logs, with a record of their machine.
std::vector<LogSource> mixed_logs() {
  const std::string record =
      "timestamp, index, memory.used [MiB], memory.total [MiB]\n"
      "2025/03/01 12:00:10.000, 0, 1000 MiB, 40960 MiB\n2025/03/01 12:00:20.000, 0, 1000 MiB, 40960 MiB\n";
  return {{"a/rank_0.log", step_at("12:00:00", 1) + step_at("12:10:00", 2)},
          {"a/rank_1.log", step_at("12:00:00", 1) + step_at("12:10:00", 2) + failed_at("12:11:00")},
          {"a/gpu.csv", record},
          {"slurm-4711.out", step_at("18:00:00", 1) + step_at("18:10:00", 2)},
          {"slurm-4711.err", killed_text("train.py")},
          {"b/train.log", killed_text("train.py")},
          {"c/train.log", "step 1 loss 2.1\nstep 2 loss 2.0\n"}};
}

/// All that the writers for programs print.
std::string text_of(const Survey& of) { return survey_jsonl(of) + survey_json(of); }

std::vector<std::string> parts_of(const std::vector<LogSource>& logs) {
  std::vector<std::string> lines;
  read_parts(logs, {}, [&](std::string_view line) { lines.push_back(std::string(line) + '\n'); });
  return lines;
}

std::string week_of(int year, unsigned month, unsigned day) {
  const std::chrono::sys_days at = std::chrono::year{year} / static_cast<int>(month) / static_cast<int>(day);
  return iso_week(static_cast<double>(at.time_since_epoch().count()) * samples::day + 1).name;
}

}  // namespace

TEST_CASE("the days around the end of a year are in the week of their Thursday", "[survey]") {
  CHECK(week_of(2024, 12, 29) == "2024-W52");
  CHECK(week_of(2024, 12, 30) == "2025-W01");
  CHECK(week_of(2025, 1, 5) == "2025-W01");
  CHECK(week_of(2020, 12, 31) == "2020-W53");
  CHECK(week_of(2021, 1, 3) == "2020-W53");
  CHECK(week_of(2021, 1, 4) == "2021-W01");
  CHECK(week_of(2016, 1, 3) == "2015-W53");
  CHECK(week_of(2023, 1, 1) == "2022-W52");
  CHECK(week_of(1970, 1, 1) == "1970-W01");
  CHECK(week_of(2000, 2, 29) == "2000-W09");
}

TEST_CASE("each week has seven days, begins on a Monday, and the first one contains January 4", "[survey]") {
  std::set<std::string> seen;
  std::string last;
  for (int d = 0; d < 12000; ++d) {
    const IsoWeek week = iso_week(d * samples::day + samples::day - 1);
    const std::chrono::sys_days at{std::chrono::days{d}};
    const std::chrono::year_month_day date{at};
    const bool monday = std::chrono::weekday{at} == std::chrono::Monday;
    CHECK(monday == (week.day == d));
    if (week.name != last) {
      CHECK((monday || d == 0));
      CHECK(seen.insert(week.name).second);
      last = week.name;
    }
    if (date.month() == std::chrono::January && date.day() == std::chrono::day{4}) CHECK(week.name.ends_with("-W01"));
  }
}

TEST_CASE("totals count the jobs of each outcome and cause, their GPUs and their lost time", "[survey]") {
  const Survey survey = samples::cluster();
  CHECK(survey.all.jobs == 9);
  CHECK(survey.failed.jobs == 6);
  CHECK(survey.failed.gpus == 24);
  CHECK(survey.failed.timed == 3);
  CHECK(survey.failed.lost_seconds == 4 * samples::hour + 90);
  CHECK(survey.failed.lost_gpu_seconds == 32 * samples::hour + 90);  // an unknown number of GPUs counts as one
  std::vector<std::pair<std::string, std::int64_t>> outcomes, causes;
  std::int64_t all = 0, failed = 0;
  for (const SurveyGroup& group : survey.outcomes)
    outcomes.emplace_back(group.id, group.sums.jobs), all += group.sums.jobs;
  for (const SurveyGroup& group : survey.causes)
    causes.emplace_back(group.id, group.sums.jobs), failed += group.sums.jobs;
  using Counts = std::vector<std::pair<std::string, std::int64_t>>;
  CHECK(outcomes == Counts{{"oom", 5}, {"possible_oom", 1}, {"at_risk", 1}, {"no_oom", 2}});
  CHECK(causes == Counts{{"leak", 3}, {"job_limit", 2}, {"undetermined", 1}});
  CHECK(all == survey.all.jobs);
  CHECK(failed == survey.failed.jobs);
}

TEST_CASE("weeks count failures and jobs, with the empty weeks in between", "[survey]") {
  const Survey survey = samples::cluster();
  REQUIRE(survey.weeks.size() == 3);
  CHECK(survey.weeks[0].week == "2025-W08");
  CHECK(survey.weeks[0].starts == "2025-02-17");
  CHECK(survey.weeks[0].jobs == 2);
  CHECK(survey.weeks[0].failed.jobs == 1);
  CHECK(survey.weeks[1].jobs == 0);
  CHECK(survey.weeks[2].week == "2025-W10");
  CHECK(survey.weeks[2].jobs == 6);
  CHECK(survey.weeks[2].failed.jobs == 4);
  CHECK(survey.undated == 1);
  CHECK(survey.file_dated == 1);  // slurm-4712.out prints no date: that of its file counts
  std::int64_t dated = 0;
  for (const SurveyWeek& week : survey.weeks) dated += week.failed.jobs;
  CHECK(dated + survey.undated == survey.failed.jobs);
}

TEST_CASE("years without a job are not filled with weeks", "[survey]") {
  const Survey survey = make_survey({samples::leaking_job("a", ""), samples::leaking_job("b", "", 1e9)}, {});
  CHECK(survey.weeks.size() == 2);
}

TEST_CASE("a repeated failure names its users, its latest job, and the fix for most of its jobs", "[survey]") {
  const Survey survey = samples::cluster();
  REQUIRE(survey.offenders.size() == 2);
  const SurveyOffender& leak = survey.offenders[0];
  CHECK(leak.sums.jobs == 3);
  CHECK(leak.place == "model.py in forward");
  CHECK(leak.users == std::vector<std::string>{"alice", "bob"});
  CHECK(leak.example == "/home/alice/runs/3/train.log");
  CHECK(leak.last == samples::march_4 + 2 * samples::hour);
  REQUIRE(leak.fix);
  CHECK(leak.fix->id == "detach-running-loss");  // the diagnostic one comes first in the lists, but changes nothing
  CHECK(leak.fix_jobs == 3);
  CHECK(survey.offenders[1].failure == "The Slurm job reached its memory limit");
}

TEST_CASE("a fix that helps more jobs goes before one that comes first in fewer", "[survey]") {
  std::vector<SurveyJob> jobs(3, samples::killed_job("x", ""));
  for (std::size_t i = 0; i < jobs.size(); ++i) jobs[i].path += std::to_string(i);
  jobs[0].fixes = {{"a", "A", false}, {"b", "B", false}};
  jobs[1].fixes = {{"c", "C", false}, {"b", "B", false}};
  jobs[2].fixes = {{"b", "B", false}, {"a", "A", false}};
  const Survey survey = make_survey(jobs, {});
  REQUIRE(survey.offenders.size() == 1);
  REQUIRE(survey.offenders[0].fix);
  CHECK(survey.offenders[0].fix->id == "b");
  CHECK(survey.offenders[0].fix_jobs == 3);
}

TEST_CASE("jobs without a known cause and a known place are no repetition", "[survey]") {
  std::vector<SurveyJob> jobs(2, samples::leaking_job("x", ""));
  jobs[1].path = "y";
  CHECK(make_survey(jobs, {}).offenders.size() == 1);
  for (SurveyJob& job : jobs) job.cause_title.clear();
  CHECK(make_survey(jobs, {}).offenders.size() == 1);
  for (SurveyJob& job : jobs) job.place.clear();
  CHECK(make_survey(jobs, {}).offenders.empty());
  CHECK(make_survey({samples::leaking_job("x", "")}, {}).offenders.empty());
}

TEST_CASE("the order of the jobs has no effect", "[survey]") {
  std::vector<SurveyJob> jobs = samples::jobs_of_a_cluster();
  const std::string first = text_of(make_survey(jobs, {}));
  std::reverse(jobs.begin(), jobs.end());
  CHECK(text_of(make_survey(jobs, {})) == first);
  std::rotate(jobs.begin(), jobs.begin() + 4, jobs.end());
  CHECK(text_of(make_survey(jobs, {})) == first);
}

TEST_CASE("the lost time begins with the first date of the run", "[survey]") {
  const SurveyJob job = job_of(step_at("12:00:00", 1) + step_at("12:20:00", 2) + failed_at("12:30:00"));
  CHECK(job.lost_seconds == 1800);
  CHECK(job.lost_since == "start");
  CHECK(job.step == 2);
}

TEST_CASE("the lost time begins with the last checkpoint", "[survey]") {
  const std::string begin = step_at("12:00:00", 1) + saved_at("12:05:00") + step_at("12:10:00", 2);
  SurveyJob job = job_of(begin + failed_at("12:30:00"));
  CHECK(job.lost_seconds == 25 * 60);
  CHECK(job.lost_since == "checkpoint");
  const std::string in_backward =
      "Traceback (most recent call last):\n  File \"train.py\", line 9, in step\n    loss.backward()\n";
  job = job_of(begin + saved_at("12:20:00") + in_backward + failed_at("12:30:00"));
  CHECK(job.lost_seconds == 10 * 60);
}

TEST_CASE("a checkpoint during which the run failed saved nothing", "[survey]") {
  const std::string saving =
      "Traceback (most recent call last):\n  File \"train.py\", line 9, in save_checkpoint\n    torch.save(s, f)\n";
  const SurveyJob job = job_of(step_at("12:00:00", 1) + saved_at("12:05:00") + step_at("12:10:00", 2) +
                               saved_at("12:20:00") + saving + failed_at("12:30:00"));
  CHECK(job.lost_seconds == 25 * 60);
}

TEST_CASE("a restarted run has its own begin and its own checkpoints", "[survey]") {
  const std::string first = step_at("12:00:00", 1) + saved_at("12:05:00") + step_at("12:10:00", 2) +
                            failed_at("12:30:00") + "2025-03-01 12:40:00 Resuming training from checkpoint out/s.pt\n";
  const SurveyJob job = job_of(first + step_at("12:50:00", 2) + step_at("13:00:00", 3) + failed_at("13:10:00"));
  CHECK(job.lost_seconds == 30 * 60);
  CHECK(job.lost_since == "start");
}

TEST_CASE("another rank may have saved the checkpoint", "[survey]") {
  const SurveyJob job = only_job(
      {{"rank_0.log", step_at("12:00:00", 1) + saved_at("12:05:00") + step_at("12:10:00", 2) + saved_at("12:45:00")},
       {"rank_1.log", step_at("12:00:00", 1) + step_at("12:10:00", 2) + failed_at("12:30:00")}});
  CHECK(job.lost_seconds == 25 * 60);
  CHECK(job.lost_since == "checkpoint");
  CHECK(job.logs == 2);
}

TEST_CASE("without two dates the lost time is unknown", "[survey]") {
  for (const std::string& text :
       {std::string("step 1 loss 2.1\n") + failure_text, "step 1 loss 2.1\n" + failed_at("12:30:00"),
        "12:00:00 step 1 loss 2.1\n12:30:00 " + std::string(failure_text)}) {
    const SurveyJob job = job_of(text);
    CHECK(job.outcome == Outcome::oom);
    CHECK_FALSE(job.lost_seconds);
    CHECK(job.lost_since.empty());
  }
}

TEST_CASE("a run that went on has lost no time", "[survey]") {
  const std::string caught = "2025-03-01 12:01:00 | WARNING: attempting to recover from OOM in forward/backward pass\n";
  const SurveyJob job =
      job_of(step_at("12:00:00", 1) + failed_at("12:01:00") + caught + step_at("12:10:00", 2) + step_at("12:20:00", 3));
  CHECK(job.outcome == Outcome::handled_oom);
  CHECK(job.failed_at);
  CHECK_FALSE(job.lost_seconds);
}

TEST_CASE("a failure without a date has the nearest one above it", "[survey]") {
  const std::string text = killed_text("train.py"), later = "2025-03-01 12:30:00 INFO start\n";
  CHECK(iso_time(job_of("2025-03-01 12:00:00 INFO load\n" + later + text).failed_at) == "2025-03-01T12:30:00");
  CHECK(iso_time(job_of("[I 2025-03-01 12:30:00,201] trial 4\n" + text).failed_at) == "2025-03-01T12:30:00");
  CHECK_FALSE(job_of("loss 2.1 at 12:30:00\n" + text).failed_at);
}

TEST_CASE("the user is the owner of the home folder in a path", "[survey]") {
  CHECK(user_in_path("/home/alice/runs/train.log") == "alice");
  CHECK(user_in_path("/nfs/home/alice/train.py") == "alice");
  CHECK(user_in_path("/Users/bob/x.py") == "bob");
  CHECK(user_in_path("C:\\Users\\bob\\x.py") == "bob");
  CHECK(user_in_path("/scratch/users/eve/x/y.log") == "eve");
  for (const char* path : {"/scratch/x/train.log", "/home/alice", "train.log", "", "/home/shared/train.py", "/home//x"})
    CHECK(user_in_path(path).empty());
  CHECK(job_of(killed_text("train.py")).user == "alice");
  CHECK(only_job({{"/home/bob/train.log", killed_text("train.py")}}).user == "bob");
}

TEST_CASE("each job has a line, and a machine's record joins the job of its time", "[survey]") {
  const Survey result = survey(mixed_logs());
  std::vector<std::string> paths;
  for (const SurveyJob& job : result.jobs) paths.push_back(job.path + " " + std::to_string(job.logs));
  std::sort(paths.begin(), paths.end());
  CHECK(paths == std::vector<std::string>{"a/rank_1.log 3", "b/train.log 1", "c/train.log 1", "slurm-4711.err 2"});
  const auto slurm = std::find_if(result.jobs.begin(), result.jobs.end(),
                                  [](const SurveyJob& job) { return job.path == "slurm-4711.err"; });
  CHECK(slurm->job == "4711");
  REQUIRE(result.offenders.size() == 1);
  CHECK(result.offenders[0].place == "train.py in main");
}

TEST_CASE("a failure in words has no step and no GPU, which differ between its jobs", "[survey]") {
  const Survey result = survey({{"a.log", step_at("12:00:00", 1) + failed_at("12:30:00")},
                                {"b.log", step_at("12:00:00", 1) + step_at("12:10:00", 7) + failed_at("12:30:00")}});
  REQUIRE(result.jobs.size() == 2);
  CHECK(result.jobs[0].step != result.jobs[1].step);
  CHECK(result.jobs[0].failure == "The GPU ran out of memory");
  CHECK(result.jobs[0].fingerprint == result.jobs[1].fingerprint);
}

TEST_CASE("a library's function is no place", "[survey]") {
  const std::string frames =
      "Traceback (most recent call last):\n  File \"/usr/lib/python3/site-packages/torch/nn/functional.py\", line 1, "
      "in "
      "linear\n    return f(x)\n";
  CHECK(job_of("step 1 loss 2.1\n" + frames + failure_text).place.empty());
  CHECK(job_of("step 1 loss 2.1\n" + killed_text("a.py")).place == "a.py in main");
}

TEST_CASE("a record of the time of two jobs stays a line by itself", "[survey]") {
  std::vector<LogSource> logs = mixed_logs();
  logs.push_back({"d/train.log", step_at("12:00:00", 1) + step_at("12:10:00", 2)});
  const Survey result = survey(logs);
  CHECK(result.jobs.size() == 6);
}

TEST_CASE("the order of the logs and the number of threads have no effect", "[survey]") {
  std::vector<LogSource> logs = mixed_logs();
  const std::string first = text_of(survey(logs));
  Options options;
  for (const std::size_t jobs : {1U, 3U, 16U}) {
    std::rotate(logs.begin(), logs.begin() + 3, logs.end());
    options.jobs = jobs;
    CHECK(text_of(survey(logs, options)) == first);
  }
  logs.push_back(logs.front());  // named twice
  CHECK(text_of(survey(logs)) == first);
}

TEST_CASE("a survey of parts equals the survey of the logs", "[survey]") {
  const testing::TemporaryFolder folder;
  const std::vector<LogSource> logs = mixed_logs();
  const std::string direct = text_of(survey(logs));
  const std::vector<std::string> lines = parts_of(logs);
  std::string one, two;
  for (std::size_t i = 0; i < lines.size(); ++i) (i % 2 == 0 ? one : two) += lines[i];
  const LogSource a{folder.write("a.jsonl", one), std::nullopt}, b{folder.write("b.jsonl", two), std::nullopt};
  CHECK(text_of(survey({a, b})) == direct);
  CHECK(text_of(survey({b, a, b})) == direct);
  // A log that is there itself and in a part counts once, and the others come from the parts.
  CHECK(text_of(survey({logs[3], a, b, logs[0]})) == direct);
}

TEST_CASE("a survey of the lines of surveys equals the survey of the logs", "[survey]") {
  const testing::TemporaryFolder folder;
  const std::vector<LogSource> logs = mixed_logs();
  const std::string direct = text_of(survey(logs));
  const std::vector<LogSource> some(logs.begin(), logs.begin() + 3), others(logs.begin() + 3, logs.end());
  const LogSource a{folder.write("a.jsonl", survey_jsonl(survey(some))), std::nullopt},
      b{folder.write("b.jsonl", survey_jsonl(survey(others))), std::nullopt};
  CHECK(text_of(survey({a, b})) == direct);
  CHECK(text_of(survey({b, a, b})) == direct);
  // Lines, parts and logs add up.
  std::string parts;
  for (const std::string& line : parts_of(others)) parts += line;
  CHECK(text_of(survey({a, {folder.write("parts.jsonl", parts), std::nullopt}})) == direct);
  CHECK(text_of(survey({a, others[0], others[1], others[2], others[3]})) == direct);
}

TEST_CASE("of two lines of one job, that with more of its logs counts", "[survey]") {
  const testing::TemporaryFolder folder;
  const auto line = [](const std::string& log) { return survey_jsonl(survey({{"x/train.log", log}})); };
  const std::string early = line(step_at("12:00:00", 1) + step_at("12:10:00", 2)),
                    late = line(step_at("12:00:00", 1) + step_at("12:10:00", 2) + failed_at("12:11:00"));
  for (const std::string& text : {early + late, late + early})
    CHECK(only_job({{folder.write("jobs.jsonl", text), std::nullopt}}).outcome == Outcome::oom);
}

TEST_CASE("jobs of two machines may have one path, and a note counts what is left out", "[survey]") {
  const testing::TemporaryFolder folder;
  const auto line = [](const std::string& user) {
    return survey_jsonl(
        survey({{"x/train.log", "  File \"/home/" + user + "/a.py\", line 9, in main\n" + killed_text("a.py")}}));
  };
  std::string other = line("ann");
  other.replace(other.find("\"user\":\""), 12, "\"user\":\"bob");
  const LogSource two{folder.write("two.jsonl", line("ann") + other), std::nullopt};
  CHECK(survey({two}).jobs.size() == 2);
  const std::string early = step_at("12:00:00", 1) + step_at("12:10:00", 2);
  const LogSource lines{
      folder.write("one.jsonl", survey_jsonl(survey({{"x/train.log", early}})) +
                                    survey_jsonl(survey({{"x/train.log", early + failed_at("12:11:00")}}))),
      std::nullopt};
  const Survey once = survey({lines});
  CHECK(once.jobs.size() == 1);
  REQUIRE(once.notes.size() == 1);
  CHECK(once.notes[0].text.starts_with("1 line of jobs left out"));
  // A log that is there itself is not a second job.
  const LogSource log{"x/train.log", early + failed_at("12:11:00")};
  CHECK(survey({log, {folder.write("same.jsonl", survey_jsonl(survey({log}))), std::nullopt}}).jobs.size() == 1);
}

TEST_CASE("a damaged line of a job gives a note, and the others are there", "[survey]") {
  const testing::TemporaryFolder folder;
  const std::string line = survey_jsonl(survey({{"x/train.log", killed_text("a.py")}}));
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = line;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  for (const std::string& damaged :
       {changed("\"outcome\":\"oom\"", "\"outcome\":\"fine\""), changed("\"logs\":1", "\"logs\":-1"),
        changed("\"logs\":1", "\"logs\":1e300"), changed("\"gpus\":1", "\"gpus\":9223372036854775807"),
        changed("\"confidence\":", "\"confidence\":7"), changed("\"fixes\":[", "\"fixes\":7,\"more\":["),
        changed("\"failed_at\":null", "\"failed_at\":\"2025-13-01T00:00:00\""),
        changed("\"failed_at\":null", "\"failed_at\":\"2025-01-01T-1:00:00\""), line.substr(0, line.size() / 2) + "\n",
        std::string("[1]\n"), std::string(3 << 20, 'x') + "\n", std::string(200'000, '[') + "\n"}) {
    const Survey result = survey({{folder.write("jobs.jsonl", line + damaged + "\n"), std::nullopt}});
    CAPTURE(damaged.substr(0, 300));
    CHECK(result.jobs.size() == 1);
    REQUIRE(result.notes.size() == 1);
    CHECK(result.notes[0].text.find("jobs.jsonl:2: ") != std::string::npos);
  }
}

TEST_CASE("a log that grew after its part was written counts twice, as one job", "[survey]") {
  const testing::TemporaryFolder folder;
  const std::string part =
      folder.write("a.jsonl", parts_of({{"x/train.log", "step 1 loss 2.1\nstep 2 loss 2.0\n"}})[0]);
  const SurveyJob job =
      only_job({{part, std::nullopt}, {"x/train.log", "step 1 loss 2.1\nstep 2 loss 2.0\n" + killed_text("a.py")}});
  CHECK(job.logs == 2);
  CHECK(job.outcome == Outcome::oom);
}

TEST_CASE("what cannot be read gives a note, and everything else is there", "[survey]") {
  const testing::TemporaryFolder folder;
  const std::vector<std::string> lines =
      parts_of({{"x/train.log", killed_text("a.py")}, {"y/train.log", killed_text("a.py")}});
  const LogSource damaged{
      folder.write("a.jsonl", "nonsense\n" + lines[0] + lines[1].substr(0, lines[1].size() / 2) + "\n"), std::nullopt};
  const LogSource missing{"no/such/run.log", std::nullopt}, good{"z/train.log", killed_text("a.py")};
  const LogSource binary{"b.log", std::string("\x7f"
                                              "ELF\x02\x01\x01\0\0\0\0\0\0\0",
                                              14)};
  const Survey result = survey({damaged, missing, good, binary});
  std::vector<std::string> failed;
  for (const SurveyJob& job : result.jobs)
    if (job.outcome == Outcome::oom) failed.push_back(job.path);
  CHECK(failed == std::vector<std::string>{"x/train.log", "z/train.log"});
  // The log of the damaged part, the missing and the binary one are lines as well.
  CHECK(result.jobs.size() == 5);
  REQUIRE(result.notes.size() == 3);
  for (const ReportNote& note : result.notes) CHECK(note.text.starts_with("left out: "));
  const LogSource hopeless{folder.write("h.jsonl", lines[0].substr(0, 80) + "\n"), std::nullopt};
  CHECK_THROWS(survey({hopeless}));
  const LogSource empty{folder.write("e.jsonl", lines[0].substr(0, 90) + "\n"), std::nullopt};
  CHECK(survey({hopeless, good}).notes.size() == 1);
  CHECK(survey({hopeless, empty, good}).notes.size() == 2);
  CHECK_THROWS(survey({}));
}

TEST_CASE("a part whose content is damaged is a line without a result", "[survey]") {
  const testing::TemporaryFolder folder;
  std::string line = parts_of({{"x/train.log", killed_text("a.py")}})[0];
  const auto at = line.find("\"lines\":");
  REQUIRE(at != std::string::npos);
  line.insert(at + 8, "\"many\",\"rows\":");
  const Survey result = survey({{folder.write("a.jsonl", line), std::nullopt}, {"z/train.log", killed_text("a.py")}});
  CHECK(result.jobs.size() == 2);
  CHECK(result.notes.size() == 1);
  CHECK(result.failed.jobs == 1);
}

TEST_CASE("numbers that no job has do not enter the sums", "[survey]") {
  const testing::TemporaryFolder folder;
  std::string line = parts_of({{"x/train.log", step_at("12:00:00", 1) + "world_size: 9000000000000000000\n" +
                                                   step_at("12:10:00", 2) + failed_at("12:30:00")}})[0];
  CHECK(only_job({{folder.write("a.jsonl", line), std::nullopt}}).gpus == 1);
  for (const char* number : {"\"inf\"", "\"-inf\"", "\"nan\"", "1e300", "-1e300", "4e10"}) {
    std::string damaged = line;
    for (const char* name : {"\"started\":", "\"time\":", "\"first_time\":", "\"last_time\":"})
      for (auto at = damaged.find(name); at != std::string::npos; at = damaged.find(name, at + 1)) {
        const auto value = at + std::string_view(name).size();
        damaged.replace(value, damaged.find_first_of(",}", value) - value, number);
      }
    CHECK(damaged != line);
    CAPTURE(number);
    const Survey result = survey({{folder.write("b.jsonl", damaged), std::nullopt}});
    REQUIRE(result.jobs.size() == 1);
    CHECK_FALSE(result.jobs[0].lost_seconds);
    CHECK(result.weeks.empty());
    CHECK(survey_jsonl(result).find("\"failed_at\":null") != std::string::npos);
  }
}

TEST_CASE("the ranks of several nodes are one job, two nodes without ranks are two", "[survey]") {
  const std::string text = "step 1 loss 2.1\nstep 2 loss 2.0\n";
  CHECK(only_job({{"run/node0/rank_0.log", text}, {"run/node1/rank_8.log", text}}).logs == 2);
  CHECK(survey({{"node0/train.log", text}, {"node1/train.log", text}}).jobs.size() == 2);
  CHECK(survey({{"node0/run1/rank_0.log", text}, {"node0/run2/rank_0.log", text}}).jobs.size() == 2);
}

TEST_CASE("a folder of a day is no job number", "[survey]") {
  CHECK(survey({{"20250301/a.log", "step 1\n"}, {"20250301/b.log", "step 1\n"}}).jobs.size() == 2);
  CHECK(survey({{"20251301/a.log", "step 1\n"}, {"20251301/b.log", "step 1\n"}}).jobs.size() == 1);
  CHECK(job_in_path("slurm-20250301.out") == "20250301");
}

TEST_CASE("a restart without a date begins with the next one", "[survey]") {
  const SurveyJob job = job_of(step_at("12:00:00", 1) + step_at("12:10:00", 2) + failed_at("12:30:00") +
                               "Resuming training from checkpoint out/s.pt\n" + step_at("18:00:00", 2) +
                               step_at("18:10:00", 3) + failed_at("18:20:00"));
  CHECK(job.lost_seconds == 20 * 60);
}

TEST_CASE("redaction hides a short or common user, too", "[survey]") {
  std::vector<SurveyJob> jobs = {samples::leaking_job("a.log", "li"), samples::leaking_job("b.log", "root")};
  const Survey hidden = redact(make_survey(jobs, {}), Redaction::all).report;
  for (const SurveyJob& job : hidden.jobs) CHECK(job.user.starts_with("user-"));
  REQUIRE(hidden.offenders.size() == 1);
  CHECK(hidden.offenders[0].users.size() == 2);
  CHECK(text_of(hidden).find("\"li\"") == std::string::npos);
}

TEST_CASE("redaction gives a user one name in all jobs", "[survey]") {
  const auto redacted = redact(samples::cluster(), Redaction::all);
  const std::string text = text_of(redacted.report);
  CHECK(text.find("alice") == std::string::npos);
  CHECK(text.find("bob") == std::string::npos);
  REQUIRE(redacted.report.offenders.size() == 2);
  const std::vector<std::string>& users = redacted.report.offenders[0].users;
  REQUIRE(users.size() == 2);
  CHECK(users[0] != users[1]);
  for (const SurveyJob& job : redacted.report.jobs)
    if (!job.user.empty()) CHECK(std::find(users.begin(), users.end(), job.user) != users.end());
  CHECK(redacted.report.notes.size() == samples::cluster().notes.size() + 1);
  CHECK(text_of(redact(samples::cluster(), Redaction::off).report) == text_of(samples::cluster()));
}

TEST_CASE("times and sums in words", "[survey]") {
  CHECK(duration_text(-5) == "0 s");
  CHECK(duration_text(48) == "48 s");
  CHECK(duration_text(59.6) == "1 min");
  CHECK(duration_text(7800) == "2 h 10 min");
  CHECK(duration_text(7200) == "2 h");
  CHECK(duration_text(3 * samples::day + 4 * samples::hour + 1) == "3 d 4 h");
  CHECK(gpu_hours_text(60) == "<0.1 GPU hours");
  CHECK(gpu_hours_text(1.5 * samples::hour) == "1.5 GPU hours");
  CHECK(gpu_hours_text(1204 * samples::hour) == "1,204 GPU hours");
  CHECK(lost_words({}) == "lost time unknown");
  CHECK(survey_headline(samples::cluster()) == "6 of 9 jobs ran out of memory (67%)");
  CHECK(survey_headline(make_survey({samples::fine_job("a")}, {})) == "None of 1 job ran out of memory");
}
