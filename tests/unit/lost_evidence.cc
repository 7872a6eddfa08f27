// What the loss of evidence does to outcome, retry and texts, from the logs to the report.
#include "catch.h"
#include "judge/verdict.h"
#include "oomdoctor/diagnose.h"
#include "render/writer.h"
#include "report/words.h"
#include "samples.h"
#include "serialize/json.h"
#include "temporary_folder.h"

namespace oomdoctor {
namespace {

const std::string healthy =
    "step 1 | loss 2.1 | allocated 30.000 GiB\nstep 2 | loss 2.0 | allocated 30.000 GiB\nTraining completed.\n";
const std::string mark = "oomdoctor run 0123456789abcdef: ";
const std::string lost = mark + "123 bytes of output were lost: No space left on device\n";
const std::string exception =
    "Traceback (most recent call last):\n  File \"/w/train.py\", line 3, in <module>\n    main()\nValueError: bad "
    "batch\n";
const std::string oom =
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 39.39 GiB "
    "of "
    "which 1.12 GiB is free.\n";

/// The output of a command, as oomdoctor run keeps it.
std::string recorded(const std::string& text) {
  return mark + "output of the command: python train.py\n" + text + mark +
         "the command ended with exit status 1: python train.py\n";
}

Report report_of(const std::string& text) { return diagnose({LogSource{"train.log", text}}); }

/// A log that no one can open.
LogSource loop(const testing::TemporaryFolder& folder) {
  std::filesystem::create_symlink("loop.log", folder.at("loop.log"));
  return {folder.at("loop.log")};
}

}  // namespace

TEST_CASE("lost evidence never leaves an all-clear", "[lost_evidence]") {
  CHECK(report_of(healthy).verdict.outcome == Outcome::no_oom);
  const Report report = report_of(recorded(healthy + lost));
  CHECK(report.verdict.outcome == Outcome::possible_oom);
  CHECK(report.verdict.cause.empty());
  CHECK(report.verdict.retry.decision == "unknown");
  CHECK(retry_words(report.verdict) == "unclear, because evidence is lost");
  REQUIRE(report.lost.size() == 1);
  CHECK(report.lost[0].path == "train.log");
  CHECK(report.lost[0].location->line == 5);
  CHECK(report_of(recorded(lost + healthy)).verdict.outcome == Outcome::possible_oom);
}

TEST_CASE("lost samples are no all-clear, but hide no end", "[lost_evidence]") {
  const std::string samples = mark + "samples of GPU memory were lost: nvidia-smi did not answer\n";
  CHECK(report_of(recorded(healthy + samples)).verdict.outcome == Outcome::possible_oom);
  CHECK(report_of(recorded(healthy + exception + samples)).verdict.outcome == Outcome::ended_otherwise);
}

TEST_CASE("an end that the log shows after the loss stays", "[lost_evidence]") {
  CHECK(report_of(healthy + exception).verdict.outcome == Outcome::ended_otherwise);
  CHECK(report_of(recorded(healthy + lost + exception)).verdict.outcome == Outcome::ended_otherwise);
  CHECK(report_of(recorded(healthy.substr(0, healthy.find("Training")))).verdict.outcome == Outcome::ended_otherwise);
  CHECK(report_of(recorded(healthy.substr(0, healthy.find("Training")) + lost)).verdict.outcome ==
        Outcome::possible_oom);
  const Report hidden = report_of(recorded(healthy + exception + lost));
  CHECK(hidden.verdict.outcome == Outcome::possible_oom);
  CHECK(hidden.verdict.headline.find("ValueError") != std::string::npos);
}

TEST_CASE("a failure stays a failure where evidence is lost", "[lost_evidence]") {
  for (const std::string& text : {oom + lost, lost + oom}) {
    const Report report = report_of(recorded(healthy.substr(0, healthy.find("Training")) + text));
    CHECK(report.verdict.outcome == Outcome::oom);
    CHECK(report.lost.size() == 1);
  }
}

TEST_CASE("without a known line the outcome is unrecognised", "[lost_evidence]") {
  const Report report = report_of("hello\nworld\n");
  CHECK(report.verdict.outcome == Outcome::unrecognised);
  CHECK(report.verdict.retry.decision == "unknown");
  CHECK(retry_words(report.verdict).empty());
  CHECK(report.verdict.headline == "no known format in 2 lines");
}

TEST_CASE("each outcome with lost evidence", "[lost_evidence]") {
  for (const bool end : {false, true}) {
    CHECK(outcome_with_loss(Outcome::no_oom, end) == Outcome::possible_oom);
    for (const Outcome same : {Outcome::oom, Outcome::possible_oom, Outcome::unrecognised})
      CHECK(outcome_with_loss(same, end) == same);
    for (const Outcome open : {Outcome::ended_otherwise, Outcome::handled_oom, Outcome::at_risk})
      CHECK(outcome_with_loss(open, end) == (end ? Outcome::possible_oom : open));
  }
}

TEST_CASE("one log that cannot be opened costs only itself", "[lost_evidence]") {
  const testing::TemporaryFolder folder;
  const LogSource unreadable = loop(folder), fine{folder.write("fine.log", healthy)};
  const Report report = diagnose({fine, unreadable});
  CHECK(report.verdict.outcome == Outcome::possible_oom);
  REQUIRE(report.lost.size() == 1);
  CHECK(lost_evidence_words(report.lost[0]) == "the log " + unreadable.path + " (Too many levels of symbolic links)");
  CHECK(diagnose({{folder.write("oom.log", oom)}, unreadable}).verdict.outcome == Outcome::oom);
  CHECK_THROWS_WITH(diagnose({unreadable}), "cannot open '" + unreadable.path + "': Too many levels of symbolic links");
  CHECK_THROWS(diagnose({unreadable, {folder.at("gone.log")}}));
}

TEST_CASE("what the caller could not offer is lost, too", "[lost_evidence]") {
  Options options;
  options.lost.push_back({"the folder", "Permission denied", "logs/private", {}});
  options.notes.emplace_back("left out: a.bin (binary)");
  const Report report = diagnose({LogSource{"train.log", healthy}}, options);
  CHECK(report.verdict.outcome == Outcome::possible_oom);
  CHECK(report.verdict.headline.starts_with("lost: the folder logs/private (Permission denied); "));
  CHECK(report.notes.back().text == options.notes.front());
  const Survey jobs = survey({LogSource{"train.log", healthy}}, options);
  REQUIRE(jobs.notes.size() == 2);
  CHECK(jobs.notes[0].text == "left out: the folder logs/private (Permission denied)");
  CHECK(jobs.jobs.front().outcome == Outcome::no_oom);  // the folder belongs to no job
}

TEST_CASE("parts carry lost evidence to the merge", "[lost_evidence]") {
  const testing::TemporaryFolder folder;
  const std::vector<LogSource> logs = {{folder.write("fine.log", recorded(healthy + lost))}, loop(folder)};
  std::string parts;
  read_parts(logs, {}, [&](std::string_view line) { parts += std::string(line) + "\n"; });
  const std::string file = folder.write("parts.jsonl", parts);
  CHECK(json_text(merge({file})) == json_text(diagnose(logs)));
  const Report more = merge({file, folder.at("gone.jsonl")});
  CHECK(more.lost.size() == 3);
  CHECK_THROWS(read_parts({logs[1]}, {}, [](std::string_view) { FAIL("there is nothing to write"); }));
}

TEST_CASE("the lost log of one job is no all-clear for all", "[lost_evidence]") {
  const testing::TemporaryFolder folder;
  std::filesystem::create_symlink("slurm-4713.out", folder.at("slurm-4713.out"));
  const std::vector<LogSource> logs = {{folder.write("slurm-4711.out", healthy)},
                                       {folder.write("slurm-4712.out", healthy)},
                                       {folder.at("slurm-4713.out")}};
  const Report report = diagnose(logs);
  REQUIRE(report.runs.size() == 3);
  CHECK(report.runs[0].outcome == Outcome::no_oom);
  CHECK(report.verdict.outcome == Outcome::possible_oom);
  CHECK(report.verdict.retry.decision == "unknown");
  CHECK(report.verdict.headline.find("none ran out of memory") == std::string::npos);
  CHECK(report.lost.size() == 1);
  const Survey jobs = survey(logs);
  CHECK(jobs.failed.jobs == 0);
}

TEST_CASE("no writer calls a report with lost evidence an all-clear", "[lost_evidence]") {
  for (const std::string& text : {recorded(healthy + lost), std::string("hello\n")})
    for (const Writer& writer : writers()) {
      CAPTURE(writer.name);
      const std::string out = writer.write(report_of(text), {});
      for (const std::string_view clear : {"NO SIGN", "No sign", "memory is not the problem", "outcome=\"no_oom\"} 1"})
        CHECK(out.find(clear) == out.npos);
    }
}

}  // namespace oomdoctor
