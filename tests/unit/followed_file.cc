// A log that somebody else writes, replaces and empties.
#include "text/followed_file.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "catch.h"
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

TEST_CASE("folders and pipes are not followed", "[followed]") {
  FollowedFile folder(fs::temp_directory_path().string());
  CHECK(folder.take(10) == 0);
}
