// A log that somebody else writes, replaces and empties.
#include "text/followed_file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "catch.h"
#include "oomdoctor/growing_logs.h"
#include "temporary_folder.h"

using namespace oomdoctor;

namespace {

namespace fs = std::filesystem;

/// A log in a folder of its own.
struct Log {
  testing::TemporaryFolder folder;
  std::string path = folder.at("train.log");

  void append(const std::string& text) const { std::ofstream(path, std::ios::app) << text; }
};

/// Everything that can be read now.
std::string rest(FollowedFile& file) {
  std::string out;
  char buffer[7];
  while (const std::size_t got = file.read(buffer, sizeof buffer)) out.append(buffer, got);
  return out;
}

}  // namespace

TEST_CASE("a file that comes late and grows is one text", "[followed]") {
  const Log log;
  FollowedFile file(log.path);
  CHECK(file.take(100) == 0);
  CHECK(rest(file).empty());
  log.append("one line\nhalf a");
  CHECK(file.take(100) == 15);
  log.append(" line\n");
  CHECK(rest(file) == "one line\nhalf a line\n");
  CHECK(rest(file).empty());
  log.append("more\n");
  CHECK(rest(file) == "more\n");
  CHECK(file.bytes() == 26);
}

TEST_CASE("a replaced file is read to its end, then the new one", "[followed]") {
  const Log log;
  log.append("old 1\n");
  FollowedFile file(log.path);
  CHECK(rest(file) == "old 1\n");
  log.append("old 2\n");
  fs::rename(log.path, log.path + ".1");
  CHECK(rest(file) == "old 2\n");
  std::ofstream(log.path + ".1", std::ios::app) << "old 3\n";  // its writer has it open still
  log.append("new\n");
  CHECK(rest(file) == "old 3\nnew\n");
  fs::remove(log.path);
  CHECK(rest(file).empty());
  log.append("newer\n");
  CHECK(rest(file) == "newer\n");
}

TEST_CASE("an emptied file begins again, and nothing that was taken is lost", "[followed]") {
  const Log log;
  log.append("a long first line\n");
  FollowedFile file(log.path);
  CHECK(file.take(1000) == 18);
  std::ofstream(log.path, std::ios::trunc) << "";
  log.append("second\n");
  CHECK(file.take(1000) == 25);
  CHECK(rest(file) == "a long first line\nsecond\n");
}

TEST_CASE("what waits is bounded", "[followed]") {
  const Log log;
  log.append(std::string(1 << 20, 'x'));
  FollowedFile file(log.path);
  CHECK(file.take(100'000) < 200'000);
  CHECK(rest(file).size() == 1 << 20);
}

TEST_CASE("what cannot be followed is a problem, and what is there later is read", "[followed]") {
  const Log log;
  FollowedFile file(log.path);
  CHECK(file.take(10) == 0);
  CHECK(file.is_missing());
  fs::create_directory(log.path);
  CHECK(file.take(10) == 0);
  CHECK(file.problem() == "it is not a regular file");
  CHECK_FALSE(file.is_missing());
  fs::remove(log.path);
  log.append("text\n");
  CHECK(rest(file) == "text\n");
  CHECK(file.problem().empty());
}

TEST_CASE("the writer of a pipe goes on waiting for its reader", "[followed]") {
  const Log log;
  REQUIRE(mkfifo(log.path.c_str(), 0600) == 0);
  FollowedFile file(log.path);
  CHECK(file.take(10) == 0);
  CHECK(file.problem() == "it is not a regular file");
  const int writer = open(log.path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  CHECK(writer < 0);  // nobody has it open for reading
  CHECK(errno == ENXIO);
}

TEST_CASE("a file that was closed goes on behind its last byte", "[followed]") {
  const Log log;
  log.append("one\n");
  FollowedFile file(log.path);
  CHECK(rest(file) == "one\n");
  file.close();
  log.append("two\n");
  CHECK(file.untaken() == 4);
  CHECK(rest(file) == "two\n");
  CHECK_FALSE(file.may_lack_end());
  CHECK(file.bytes() == 8);
}

TEST_CASE("a file that was replaced while it was closed may lack its end", "[followed]") {
  const Log log;
  log.append("old\n");
  FollowedFile file(log.path);
  CHECK(rest(file) == "old\n");
  file.close();
  fs::rename(log.path, log.path + ".1");
  log.append("new\n");
  CHECK(rest(file) == "new\n");
  CHECK(file.may_lack_end());
}

TEST_CASE("a sealed file passes on what waits, and nothing else", "[followed]") {
  const Log log;
  log.append("before\n");
  FollowedFile file(log.path);
  CHECK(file.take(10) == 7);
  file.seal();
  log.append("after\n");
  CHECK(rest(file) == "before\n");
  CHECK(file.untaken() == 6);
}

TEST_CASE("bytes that were put back are untaken", "[followed]") {
  const Log log;
  log.append("text\n");
  FollowedFile file(log.path);
  CHECK(file.take(10) == 5);
  file.leave_waiting();
  file.seal();
  CHECK(rest(file).empty());
  CHECK(file.bytes() == 0);
  CHECK(file.untaken() == 5);
}

TEST_CASE("a report whose reading was stopped names what is unread", "[followed]") {
  const Log log;
  log.append(std::string(10'000'000, '\n'));
  GrowingLogs logs({log.path});
  int asked = 0;
  const Report report = logs.conclude([&] { return ++asked > 3; });
  CHECK(report.coverage.lines < 10'000'000);
  CHECK(report.coverage.lines > 0);
}

TEST_CASE("where no descriptor is left, reading goes on once there is one", "[followed]") {
  const Log log;
  log.append("text\n");
  FollowedFile file(log.path);
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit none{0, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
  const std::size_t waiting = file.take(10);
  const bool lacks = file.lacks_descriptor();
  REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(waiting == 0);
  CHECK(lacks);
  CHECK(rest(file) == "text\n");
}

TEST_CASE("the logs of a job share the descriptors that there are", "[followed]") {
  const testing::TemporaryFolder folder;
  std::vector<std::string> paths;
  for (int i = 0; i < 40; ++i) paths.push_back(folder.at("rank" + std::to_string(i) + ".log"));
  const auto append = [&](const std::string& text) {
    for (const std::string& path : paths) std::ofstream(path, std::ios::app) << text;
  };
  append("step 1 loss 1.0\n");
  GrowingLogs logs(paths);
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  const int next = dup(0);  // the lowest number that is free
  close(next);
  const rlimit few{static_cast<rlim_t>(next + 8), before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);
  const auto first = logs.read();
  const auto problems = logs.problems();
  logs.close_files();
  append("step 2 loss 1.0\n");
  const auto second = logs.read();
  REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(first == 40 * 16);
  CHECK(problems.empty());
  CHECK(second == 40 * 32);
  const Report report = logs.conclude();
  CHECK(report.coverage.lines == 80);
}
