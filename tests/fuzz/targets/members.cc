// Bytes as an archive with members: each is visited, and read again by its number.
#include "text/members.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <functional>

#include "../../packed.h"
#include "../target.h"
#include "base/error.h"

namespace oomdoctor::testing {
namespace {

constexpr std::size_t max_members = 20, max_text = 1 << 20;  // enough for every path; an input may unpack to gigabytes

std::string text_of(const Source::Reader& read, std::size_t piece) {
  std::string text, to(piece, '\0');
  while (text.size() < max_text) {
    const std::size_t got = read(to.data(), piece);
    demand(got <= piece);
    if (got == 0) break;
    text.append(to, 0, got);
  }
  return text;
}

void read_archive(const std::string& path, std::size_t piece) {
  OpenArchives archives;
  std::vector<std::size_t> indices;
  try {
    visit_members(path, [&](const Member& member) {
      demand(!member.name.empty() && member.name.front() != '/' && !member.name.starts_with("../") &&
             member.name.find("/../") == std::string::npos);
      indices.push_back(member.index);
      return indices.size() < max_members;
    });
  } catch (const FileError&) {
  }
  std::reverse(indices.begin(), indices.end());
  for (const std::size_t index : indices) {
    try {
      text_of(archives.reader(path, index), piece);
    } catch (const FileError&) {
    }
  }
}

void run(std::string_view bytes) {
  char path[] = "/tmp/oomdoctor-fuzz-XXXXXX";
  const int file = ::mkstemp(path);
  demand(file >= 0 && ::write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  ::close(file);
  if (is_archive(path)) read_archive(path, 1 + std::hash<std::string_view>{}(bytes) % 70000);
  ::unlink(path);
}

constexpr std::size_t longest = 4096;

std::vector<std::string> seeds() {
  const std::string text = file_seeds({"samples/stories"}, longest).front().substr(0, 700);
  const Members members = {{"a.log", text}, {"../b", "x"}, {"c", ""}};
  std::vector<std::string> all = {zip_of(members), seven_zip_of(members), tar_of(members)};
  for (const auto pack : {gzipped, zstandard, xz, bzip2, lz4}) all.push_back(pack(all[2]));
  return all;
}

const Added target({.name = "members", .longest = longest, .run = run, .seeds = seeds});

}  // namespace
}  // namespace oomdoctor::testing
