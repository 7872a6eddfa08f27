// Runs fuzz targets without libFuzzer, under any compiler:   oomdoctor_fuzz [NAME...]
//
// Each target gets its former findings, then its seeds, then a damaged copy of each seed; of seeds that are samples,
// with a sanitizer some. A text alone decides whether it is among these and how it is damaged: a failure is
// reproducible, and a sample more changes nothing about the others.
#include <algorithm>
#include <cstdio>
#include <random>

#include "../stable_hash.h"
#include "target.h"

namespace oomdoctor::testing {
namespace {

class Damage {
 public:
  explicit Damage(std::uint32_t seed) : generator_(seed) {}

  /// Cuts, repeats, blanks and overwrites parts of the text, as crashed writers and bad disks do.
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

  std::mt19937 generator_;
};

void feed(const Target& target, std::string_view text) {
  // An allocation of exactly this size, so that the sanitizer detects a read past its end.
  const std::vector<char> bytes(text.begin(), text.end());
  target.run({bytes.data(), bytes.size()});
}

constexpr std::size_t many_seeds = 400;  ///< as many are samples
constexpr std::size_t one_sample_in = OOMDOCTOR_ONE_SAMPLE_IN;

/// Returns the number of seeds.
std::size_t replay(const Target& target) {
  const auto found = findings(target.name), seeds = target.seeds();
  for (const std::string& input : found) feed(target, input);
  const std::size_t step = seeds.size() < many_seeds ? 1 : one_sample_in;
  for (const std::string& text : seeds) {
    const std::uint32_t own = stable_hash(text);
    if (own % step != 0) continue;
    feed(target, text);
    feed(target, Damage(own).apply(text));
  }
  std::printf("%s: %zu findings, %zu seeds, as many damaged\n", std::string(target.name).c_str(), found.size(),
              seeds.size());
  return seeds.size();
}

}  // namespace
}  // namespace oomdoctor::testing

int main(int argc, char** argv) {
  using namespace oomdoctor::testing;
  std::vector<std::string_view> names(argv + 1, argv + argc);
  if (names.empty())
    for (const Target& target : targets()) names.push_back(target.name);
  for (const std::string_view name : names) {
    const Target* target = find_target(name);
    if (target == nullptr) std::fprintf(stderr, "no target %s\n", std::string(name).c_str());
    if (target == nullptr || replay(*target) == 0) return 1;
  }
  return 0;
}
