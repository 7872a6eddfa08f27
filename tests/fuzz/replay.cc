// Runs a fuzz target without libFuzzer, under any compiler: over every file in the given folders, and over damaged
// copies of each. The damage is drawn from a generator with a fixed seed, so that a failure comes again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

constexpr int copies_per_file = 1;
constexpr std::size_t longest = std::size_t{1} << 18;  // damage to the first part of a long log says as much as to all

std::vector<std::filesystem::path> files_below(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  return text.substr(0, longest);
}

class Damage {
 public:
  /// Cuts, repeats, blanks and overwrites parts of the text, the way crashed writers and bad disks do.
  std::string apply(std::string text) {
    for (std::size_t strokes = 1 + below(8); strokes > 0 && !text.empty(); --strokes) {
      const std::size_t from = below(text.size());
      const std::size_t length = 1 + below(std::min<std::size_t>(text.size() - from, 200));
      switch (below(5)) {
        case 0:
          text.resize(from);
          break;
        case 1:
          text.erase(from, length);
          break;
        case 2:
          text.insert(from, text.substr(from, length));
          break;
        case 3:
          text.replace(from, length, length, '\0');
          break;
        default:
          text[from] = static_cast<char>(below(256));
          break;
      }
    }
    return text;
  }

 private:
  std::size_t below(std::size_t limit) { return generator_() % limit; }

  std::mt19937 generator_{1};
};

void feed(const std::string& text) {
  // A copy of exactly this size, so that a read past its end is seen by the sanitizer.
  const std::vector<std::uint8_t> bytes(text.begin(), text.end());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t inputs = 0;
  Damage damage;
  for (int i = 1; i < argc; ++i) {
    for (const std::filesystem::path& path : files_below(argv[i])) {
      const std::string text = content(path);
      feed(text);
      for (int copy = 0; copy < copies_per_file; ++copy) feed(damage.apply(text));
      inputs += 1 + copies_per_file;
    }
  }
  std::printf("%zu inputs\n", inputs);
  return inputs > 0 ? 0 : 1;
}
