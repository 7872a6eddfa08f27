#include "text/members.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"
#include "catch.h"
#include "oomdoctor/diagnose.h"
#include "packed.h"
#include "temporary_folder.h"
#include "text/decoder.h"

namespace oomdoctor {
namespace {

using testing::Members;
using testing::seven_zip_of;
using testing::tar_of;
using testing::TemporaryFolder;
using testing::zip_of;

std::string log_of(int seed, int lines) {
  std::mt19937 random(static_cast<unsigned>(seed));
  std::string text;
  for (int i = 0; i < lines; ++i)
    text += "step " + std::to_string(i) + " mem " + std::to_string(random() % 9000) + " MiB\n";
  return text;
}

const Members logs = {{"job/rank0.log", log_of(0, 3000)},
                      {"job/rank1.log", log_of(1, 10)},
                      {"empty", ""},
                      {"job/größe.log", log_of(2, 700)},
                      {"stderr", log_of(3, 5000)}};

std::string text_of_log(const std::string& name) {
  const auto log =
      std::find_if(logs.begin(), logs.end(), [&](const auto& candidate) { return candidate.first == name; });
  return log == logs.end() ? "no such log" : log->second;
}

/// Every archive of these logs that oomdoctor reads.
std::vector<std::string> archives() {
  const std::string plain = tar_of(logs);
  return {zip_of(logs),
          seven_zip_of(logs),
          plain,
          testing::gzipped(plain),
          testing::zstandard(plain),
          testing::xz(plain),
          testing::bzip2(plain),
          testing::lz4(plain)};
}

std::string text_of(const Source::Reader& read, std::size_t piece) {
  std::string text, to(piece, '\0');
  while (const std::size_t got = read(to.data(), piece)) text.append(to, 0, got);
  return text;
}

std::vector<Member> members_of(const std::string& path) {
  std::vector<Member> members;
  visit_members(path, [&](const Member& member) {
    members.push_back(member);
    members.back().first = {};
    return true;
  });
  return members;
}

/// The members as logs. `damaged` is true if the archive cannot be read to its end.
std::vector<LogSource> logs_in(const std::string& path, bool& damaged) {
  std::vector<LogSource> sources;
  try {
    visit_members(path, [&](const Member& member) {
      damaged |= !member.unreadable.empty();
      if (member.unreadable.empty())
        sources.push_back({.path = path + "/" + member.name, .member = ArchiveMember{path, member.index}});
      return true;
    });
  } catch (const FileError&) {
    damaged = true;
  }
  return sources;
}

}  // namespace

TEST_CASE("an archive gives its members under their names", "[members]") {
  const TemporaryFolder folder;
  for (const std::string& bytes : archives()) {
    const std::string path = folder.write("logs", bytes);
    CAPTURE(find_packer(bytes));
    REQUIRE(is_archive(path));
    const auto members = members_of(path);
    REQUIRE(members.size() == logs.size());
    OpenArchives archives;
    for (const std::size_t piece : {std::size_t{7}, std::size_t{5000}, std::size_t{1} << 20})
      for (std::size_t i = 0; i < members.size(); ++i) {
        CAPTURE(i, piece, members[i].name);
        CHECK((text_of(archives.reader(path, members[i].index), piece) == text_of_log(members[i].name)));
      }
    // In any order, and more of them at a time than are open.
    for_each_index(4 * members.size(), 8, [&](std::size_t i) {
      const std::size_t k = (i * 7) % members.size();
      if (text_of(archives.reader(path, members[k].index), 999) != text_of_log(members[k].name))
        throw Error("not the member");
    });
  }
}

TEST_CASE("what has no members is no archive", "[members]") {
  const TemporaryFolder folder;
  for (const std::string& bytes : {std::string(), std::string("step 1 loss 2\n"), log_of(1, 500),
                                   testing::gzipped(log_of(1, 500)), testing::xz(""), std::string(5000, '\0')})
    CHECK_FALSE(is_archive(folder.write("log", bytes)));
  CHECK_FALSE(is_archive(folder.at("missing")));
  std::filesystem::create_directory(folder.at("folder"));
  CHECK_FALSE(is_archive(folder.at("folder")));
}

TEST_CASE("names of members lead nowhere", "[members]") {
  const TemporaryFolder folder;
  const Members hostile = {
      {"../../etc/cron.d/x.log", "a"}, {"/etc/passwd.log", "b"}, {"a/./b//../c.log", "c"}, {"..", "d"}};
  for (const auto format : {tar_of, zip_of}) {
    const auto members = members_of(folder.write("logs", format(hostile)));
    std::vector<std::string> names;
    for (const Member& member : members) names.push_back(member.name);
    CHECK(names == std::vector<std::string>{"etc/cron.d/x.log", "etc/passwd.log", "a/b/c.log", "member 3"});
  }
}

TEST_CASE("an archive cut anywhere gives what is left of it", "[members]") {
  const TemporaryFolder folder;
  const Members small = {{"a.log", log_of(1, 60)}, {"b.log", log_of(2, 60)}};
  for (const std::string& whole : {zip_of(small), tar_of(small), testing::gzipped(tar_of(small)),
                                   testing::bzip2(tar_of(small)), seven_zip_of(small)})
    for (std::size_t cut = 1; cut < whole.size(); cut += 1 + cut % 17) {
      CAPTURE(cut);
      const std::string path = folder.write("cut.tar", whole.substr(0, cut));
      if (!is_archive(path)) continue;
      bool damaged = false;
      const auto found = logs_in(path, damaged);
      OpenArchives archives;
      for (std::size_t i = 0; i < found.size(); ++i) {
        std::string text;
        try {
          const auto read = archives.reader(path, found[i].member->index);
          std::string piece(64, '\0');
          while (const std::size_t got = read(piece.data(), piece.size())) text.append(piece, 0, got);
          REQUIRE((text == small[i].second));
        } catch (const FileError&) {
          damaged = true;
        }
        REQUIRE(small[i].second.starts_with(text));
      }
      if (found.size() < small.size()) REQUIRE(damaged);
    }
}

TEST_CASE("one damaged member costs only itself", "[members]") {
  const TemporaryFolder folder;
  std::string bytes = zip_of(logs);
  bytes[bytes.find("rank0.log") + 2000] ^= 0x55;
  const std::string path = folder.write("logs.zip", bytes);
  bool damaged = false;
  const auto found = logs_in(path, damaged);
  OpenArchives archives;
  std::size_t whole = 0;
  for (const LogSource& log : found) {
    try {
      if (text_of(archives.reader(path, log.member->index), 4096) == logs[log.member->index].second) ++whole;
    } catch (const FileError&) {
      damaged = true;
    }
  }
  CHECK(damaged);
  CHECK(whole == logs.size() - 1);
}

TEST_CASE("the part of a member has the digest of the same log as a file", "[members]") {
  const TemporaryFolder folder;
  const std::string text = log_of(5, 9000), file = folder.write("a/train.log", text),
                    path = folder.write("logs.zip", zip_of({{"train.log", text}}));
  std::map<std::string, int> parts;
  bool damaged = false;
  std::vector<LogSource> sources = logs_in(path, damaged);
  sources.push_back({file});
  read_parts(sources, {}, [&](std::string_view line) {
    const auto at = line.find("\"digest\":");
    REQUIRE(at != line.npos);
    ++parts[std::string(line.substr(at, 45))];
  });
  CHECK(parts.size() == 1);
}

}  // namespace oomdoctor
