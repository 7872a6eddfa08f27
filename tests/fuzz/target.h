// A place where bytes from outside are read, alone: what must hold there whatever they are. Each file in targets/ adds
// one, named as the file; libfuzzer.cc searches for inputs that break it, replay.cc feeds it known ones.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace oomdoctor::testing {

struct Target {
  std::string_view name;
  std::size_t longest = 0;             ///< bytes of an input that is worth trying
  void (*run)(std::string_view) = {};  ///< returns where all holds; see demand()
  std::vector<std::string> (*seeds)() = {};
};

/// All targets, by name.
const std::vector<Target>& targets();
/// Null where there is none of this name.
const Target* find_target(std::string_view name);

/// Adds a target before main() begins.
struct Added {
  explicit Added(Target target);
};

/// Ends the program where what must hold does not.
void demand(bool holds, const char* file = __builtin_FILE(), int line = __builtin_LINE());

// Seeds: inputs to begin with, each once, in a fixed order.

/// The files of these folders and files of the source tree, each cut behind `longest` bytes.
std::vector<std::string> file_seeds(const std::vector<std::string>& paths, std::size_t longest);
/// Their distinct lines, of those that are the same but for their digits the first.
std::vector<std::string> line_seeds(const std::vector<std::string>& paths, std::size_t longest);
/// What was found to break this target once: findings/NAME/.
std::vector<std::string> findings(std::string_view name);

}  // namespace oomdoctor::testing
