// A job's logs are judged while they grow, in a process that leaves nothing behind.
#include "oomdoctor/growing_logs.h"

#include <sys/wait.h>
#include <unistd.h>

#include <random>

#include "catch.h"
#include "samples.h"
#include "serialize/json.h"
#include "temporary_folder.h"

namespace oomdoctor {
namespace {

using testing::read_file;

void append(const std::string& path, std::string_view text) {
  std::ofstream(path, std::ios::app | std::ios::binary) << text;
}

/// The report so far as JSON, made in a forked process.
std::string judge_aside(GrowingLogs& logs, const std::string& to) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::ofstream(to, std::ios::binary) << json_text(logs.report_so_far());
    _exit(0);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(status == 0);
  return read_file(to);
}

}  // namespace

TEST_CASE("reports in the middle are those of the bytes so far, and change nothing", "[law]") {
  std::mt19937 engine(3);
  const auto all = testing::law_samples();
  for (std::size_t i = 0; i < all.size(); i += 12) {
    const testing::TemporaryFolder folder;
    const std::string path = folder.at("train.log"), text = read_file(all[i]);
    CAPTURE(testing::sample_name(all[i]));
    GrowingLogs logs({path});
    for (std::size_t written = 0; written < text.size();) {
      const std::size_t piece = std::min(text.size() - written, 1 + engine() % (text.size() / 3 + 1));
      append(path, std::string_view(text).substr(written, piece));
      written += piece;
      logs.read();
      if (engine() % 2 == 0)
        CHECK(judge_aside(logs, folder.at("so_far.json")) == json_text(diagnose({LogSource{path}})));
    }
    CHECK(json_text(logs.conclude()) == json_text(diagnose({LogSource{path}})));
  }
}

}  // namespace oomdoctor
