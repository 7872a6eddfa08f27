// Which logs belong to one job, and the report on several jobs.
#include "fold/jobs.h"

#include <algorithm>

#include "catch.h"
#include "fold/path_tags.h"
#include "oomdoctor/diagnose.h"

namespace oomdoctor {
namespace {

using Jobs = std::vector<std::vector<std::size_t>>;

LogIdentity program(const std::string& path) {
  LogIdentity log;
  log.program = program_in_path(path);
  log.job = job_in_path(path);
  log.words = words_in_name(path);
  log.ran = true;
  return log;
}

std::string steps(int first, int last, const std::string& day) {
  std::string text;
  for (int i = first; i < last; ++i)
    text += day + " 12:00:" + std::to_string(10 + i % 50) + " step " + std::to_string(i) +
            " | loss 2.1 | allocated 20.0 GiB\n";
  return text;
}

std::string failed(const std::string& day, const std::string& asked, const std::string& capacity) {
  return day + " 12:10:00 torch.OutOfMemoryError: CUDA out of memory. Tried to allocate " + asked +
         " GiB. GPU 0 has a total capacity of " + capacity +
         " GiB of which 1.12 GiB is free. Including non-PyTorch memory, this process has 38.00 GiB memory in use. Of "
         "the allocated memory 37.00 GiB is allocated by PyTorch, and 200.00 MiB is reserved by PyTorch but "
         "unallocated.\n";
}

}  // namespace

TEST_CASE("the name of a log contains the scheduler's job number", "[jobs]") {
  const std::vector<std::pair<std::string, std::string>> names = {{"slurm-4711.out", "4711"},
                                                                  {"slurm-4711_3.out", "4711_3"},
                                                                  {"runs/job_4711/stderr.log", "4711"},
                                                                  {"train.o4711", "4711"},
                                                                  {"train.e4711", "4711"},
                                                                  {"1234567.out", "1234567"},
                                                                  {"logs/1234567.err", "1234567"},
                                                                  {"train.log", ""},
                                                                  {"resnet50.log", ""},
                                                                  {"epoch-100.log", ""},
                                                                  {"2025-03-01.log", ""},
                                                                  {"job-7.log", ""},
                                                                  {"train-20250301-120000.log", ""},
                                                                  {"rank_3.log", ""},
                                                                  {"", ""}};
  for (const auto& [path, job] : names) {
    CAPTURE(path);
    CHECK(job_in_path(path) == job);
  }
}

TEST_CASE("all ranks and both outputs of a program have one name", "[jobs]") {
  const auto same = [](const std::string& a, const std::string& b) { return program_in_path(a) == program_in_path(b); };
  CHECK(same("run1/rank_0.log", "run1/rank_1.log"));
  CHECK(same("run0/rank_0.log", "run0/rank_7.log"));
  CHECK(same("attempt_0/0/stdout.log", "attempt_0/3/stderr.log"));
  CHECK(same("job.out", "job.err"));
  CHECK_FALSE(same("run1/rank_1.log", "run2/rank_1.log"));
  CHECK_FALSE(same("a.log", "b.log"));
  CHECK_FALSE(same("run1.log", "run2.log"));
}

TEST_CASE("logs belong to one job until something distinguishes two of them", "[jobs]") {
  std::vector<LogIdentity> logs{program("node1.log"), program("node2.log"), program("node3.log")};
  CHECK(group_by_job(logs) == Jobs{{0, 1, 2}});
  CHECK(group_by_job({}) == Jobs{{}});

  SECTION("the scheduler's job numbers") {
    logs[0].job = "1", logs[1].job = "1", logs[2].job = "2";
    CHECK(group_by_job(logs) == Jobs{{0, 1}, {2}});
  }
  SECTION("settings that both print") {
    logs[0].settings = {{"batch_size", "8"}, {"layers", "32"}};
    logs[1].settings = {{"batch_size", "8"}};
    CHECK(group_by_job(logs).size() == 1);
    logs[2].settings = {{"batch_size", "16"}};
    CHECK(group_by_job(logs) == Jobs{{0}, {1}, {2}});
  }
  SECTION("the program") {
    logs[0].script = logs[1].script = "/a/train.py";
    CHECK(group_by_job(logs).size() == 1);
    logs[2].script = "/b/train.py";
    CHECK(group_by_job(logs).size() == 3);
  }
  SECTION("the size of the GPU, but not the part that the driver reserves") {
    logs[0].capacity = 80'000'000'000, logs[1].capacity = 79'000'000'000;
    CHECK(group_by_job(logs).size() == 1);
    logs[2].capacity = 24'000'000'000;
    CHECK(group_by_job(logs).size() == 3);
  }
  SECTION("the time, unless the later log continues the earlier one") {
    for (std::size_t i = 0; i < logs.size(); ++i) {
      logs[i].period.first = 1.7e9 + 1000.0 * static_cast<double>(i), logs[i].period.last = *logs[i].period.first + 990;
      logs[i].first_step = static_cast<i64>(100 * i), logs[i].last_step = static_cast<i64>(100 * i + 99);
    }
    CHECK(group_by_job(logs).size() == 1);
    logs[2].first_step = 0;
    CHECK(group_by_job(logs).size() == 3);
    logs[2].first_step.reset(), *logs[2].period.first += 600, *logs[2].period.last += 600;
    CHECK(group_by_job(logs).size() == 3);
  }
  SECTION("names without a common word, if nothing else connects the logs") {
    logs = {program("llama-sft.log"), program("resnet.log")};
    CHECK(group_by_job(logs).size() == 2);
    logs[0].script = logs[1].script = "train.py";
    CHECK(group_by_job(logs).size() == 1);
    CHECK(group_by_job({program("llama-sft.log"), program("llama-eval.log")}).size() == 1);
    CHECK(group_by_job({program("stdout.log"), program("stderr.log")}).size() == 1);
    CHECK(group_by_job({program("a.log"), program("b.log")}).size() == 1);
  }
  SECTION("ranks stay together, whatever they print") {
    logs = {program("rank_0.log"), program("rank_1.log")};
    logs[0].settings = {{"batch_size", "8"}}, logs[1].settings = {{"batch_size", "16"}};
    logs[0].script = "a.py", logs[1].script = "b.py";
    CHECK(group_by_job(logs) == Jobs{{0, 1}});
  }
}

TEST_CASE("only a versioned wording of PyTorch distinguishes jobs", "[jobs]") {
  const auto wording = [](const std::string& message_format) {
    ScanResult file;
    file.incidents.emplace_back().oom.message_format = message_format;
    return read_identity(file).wording;
  };
  CHECK(wording("torch-2.4") == "torch-2.4");
  CHECK(wording("torch-counted").empty());
  CHECK(wording("torch-").empty());
  CHECK(wording("oom-killer2").empty());
}

TEST_CASE("a machine's record belongs to the only job of its time", "[jobs]") {
  std::vector<LogIdentity> logs{program("one.log"), program("two.log"), program("dmesg.txt")};
  logs[2].ran = false;
  logs[0].period.first = 1.7e9, logs[0].period.last = 1.7e9 + 100;
  logs[1].period.first = 1.7e9 + 9000, logs[1].period.last = 1.7e9 + 9100;
  logs[2].period.first = logs[2].period.last = 1.7e9 + 9050;
  CHECK(group_by_job(logs) == Jobs{{0}, {1, 2}});
  logs[2].period.first = 1.7e9;
  CHECK(group_by_job(logs).size() == 3);  // it may belong to either
  CHECK(group_by_job({logs[0], logs[2]}) == Jobs{{0, 1}});
  logs[2].period.first = logs[2].period.last = 1.6e9;
  CHECK(group_by_job({logs[0], logs[2]}) == Jobs{{0, 1}});  // clocks of two machines, or two time zones
}

TEST_CASE("each of several jobs is judged separately, and the report is about the last that ran out of memory",
          "[jobs]") {
  const std::string first = steps(0, 30, "2025-03-01") + failed("2025-03-01", "2.00", "39.39");
  const std::string second = steps(0, 30, "2025-03-02") + failed("2025-03-02", "9.00", "39.39");
  const std::string fine = steps(0, 40, "2025-03-03");
  const Report report = diagnose({{"c.log", fine}, {"b.log", second}, {"a.log", first}});
  REQUIRE(report.runs.size() == 3);
  const auto paths = [&] {
    std::vector<std::string> all;
    for (const ReportRun& run : report.runs) all.push_back(run.path + " " + std::string(to_string(run.outcome)));
    return all;
  };
  CHECK(paths() == std::vector<std::string>{"a.log oom", "b.log oom", "c.log no_oom"});
  CHECK(report.runs[0].last_line == 31);
  CHECK(report.verdict.outcome == Outcome::oom);
  CHECK(report.verdict.headline.starts_with("3 separate runs; 2 ran out of memory, the last in b.log: "));
  REQUIRE(report.incidents.size() == 1);
  CHECK(report.incidents[0].location.path == "b.log");
  CHECK(report.incidents[0].requested_bytes == 9LL << 30);
  CHECK(report.coverage.lines == 31 + 31 + 40);
  REQUIRE(report.inputs.size() == 3);
  CHECK(report.inputs[0].path == "c.log");

  // The statements about the failure equal those of its log alone.
  const Report alone = diagnose({{"b.log", second}});
  CHECK(alone.verdict.cause == report.verdict.cause);
  CHECK(alone.fixes.size() == report.fixes.size());
  CHECK(report.verdict.headline.ends_with(alone.verdict.headline));
  CHECK(alone.runs.empty());
}

TEST_CASE("a report has the job's number from the name of a log", "[jobs]") {
  CHECK(diagnose({{"run/slurm-4711.out", steps(0, 30, "2025-03-01")}}).job == "4711");
  CHECK(diagnose({{"run/train.log", steps(0, 30, "2025-03-01")}}).job.empty());
}

TEST_CASE("several jobs without a failure are each reported healthy", "[jobs]") {
  const Report report = diagnose({{"a.log", steps(0, 30, "2025-03-01")}, {"b.log", steps(0, 40, "2025-03-02")}});
  CHECK(report.runs.size() == 2);
  CHECK(report.verdict.outcome == Outcome::no_oom);
  CHECK(report.verdict.headline == "2 separate runs; none ran out of memory; b.log: no memory failure in 40 lines");
}

}  // namespace oomdoctor
