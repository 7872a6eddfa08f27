// The sample logs on disk, for the tests that run over all of them.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "stable_hash.h"

namespace oomdoctor::testing {

inline std::filesystem::path source_folder() { return OOMDOCTOR_SOURCE_DIR; }

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Every log below samples/`folder`, sorted.
inline std::vector<std::filesystem::path> sample_logs(const std::string& folder = "") {
  std::vector<std::filesystem::path> out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(source_folder() / "samples" / folder)) {
    const auto extension = entry.path().extension();
    if (entry.is_regular_file() && (extension == ".log" || extension == ".csv")) out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

/// The tests of laws go through one sample in so many.
constexpr std::size_t one_sample_in = OOMDOCTOR_ONE_SAMPLE_IN;

/// A bound on a share of the samples is so many times as high where the laws go through a part, whose share scatters.
constexpr int share_scatter = one_sample_in == 1 ? 1 : 2;

/// For example "stories/leak.log".
inline std::string sample_name(const std::filesystem::path& path) {
  return std::filesystem::relative(path, source_folder() / "samples").generic_string();
}

/// The samples that the test of a law goes through, sorted. Each is chosen by its name alone: a new one changes nothing
/// about the others.
inline std::vector<std::filesystem::path> law_samples() {
  auto out = sample_logs();
  std::erase_if(out, [](const auto& path) { return stable_hash(sample_name(path)) % one_sample_in != 0; });
  return out;
}

}  // namespace oomdoctor::testing
