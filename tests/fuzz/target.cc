#include "target.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

namespace oomdoctor::testing {
namespace {

namespace fs = std::filesystem;

std::vector<Target>& added() {
  static std::vector<Target> all;
  return all;
}

std::vector<fs::path> files_of(const std::string& path) {
  const fs::path root = fs::path(OOMDOCTOR_SOURCE_DIR) / path;
  if (fs::is_regular_file(root)) return {root};
  std::vector<fs::path> files;
  if (!fs::exists(root)) return files;
  for (const auto& entry : fs::recursive_directory_iterator(root))
    if (entry.is_regular_file()) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string without_digits(std::string_view line) {
  std::string out;
  std::copy_if(line.begin(), line.end(), std::back_inserter(out), [](char c) { return c < '0' || c > '9'; });
  return out;
}

}  // namespace

const std::vector<Target>& targets() {
  std::vector<Target>& all = added();
  std::sort(all.begin(), all.end(), [](const Target& a, const Target& b) { return a.name < b.name; });
  return all;
}

const Target* find_target(std::string_view name) {
  const auto& all = targets();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Target& t) { return t.name == name; });
  return found != all.end() ? &*found : nullptr;
}

Added::Added(Target target) { added().push_back(target); }

void demand(bool holds, const char* file, int line) {
  if (holds) return;
  std::fprintf(stderr, "%s:%d: does not hold\n", file, line);
  std::abort();
}

std::vector<std::string> file_seeds(const std::vector<std::string>& paths, std::size_t longest) {
  std::vector<std::string> seeds;
  for (const std::string& path : paths)
    for (const fs::path& file : files_of(path)) seeds.push_back(content(file).substr(0, longest));
  return seeds;
}

std::vector<std::string> line_seeds(const std::vector<std::string>& paths, std::size_t longest) {
  std::vector<std::string> seeds;
  std::set<std::string> met;
  for (const std::string& path : paths)
    for (const fs::path& file : files_of(path)) {
      std::ifstream in(file, std::ios::binary);
      for (std::string line; std::getline(in, line);)
        if (met.insert(without_digits(line)).second) seeds.push_back(line.substr(0, longest));
    }
  return seeds;
}

std::vector<std::string> findings(std::string_view name) {
  return file_seeds({"tests/fuzz/findings/" + std::string(name)}, std::string::npos);
}

}  // namespace oomdoctor::testing
