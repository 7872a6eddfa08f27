// One place that reads external bytes, isolated, with its invariants for any input. Each file in targets/ adds one
// target and has its name. libfuzzer.cc searches for inputs that break it, replay.cc runs it on known ones.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace oomdoctor::testing {

struct Target {
  std::string_view name;
  std::size_t longest = 0;             ///< bytes; the search tries no longer inputs
  void (*run)(std::string_view) = {};  ///< returns if every invariant holds; see demand()
  std::vector<std::string> (*seeds)() = {};
};

/// All targets, sorted by name.
const std::vector<Target>& targets();
/// Null if no target has this name.
const Target* find_target(std::string_view name);

/// A static object of this type registers a target before main() begins.
struct Added {
  explicit Added(Target target);
};

/// Ends the program if an invariant does not hold.
void demand(bool holds, const char* file = __builtin_FILE(), int line = __builtin_LINE());

// Seeds are the first inputs of a search: no duplicates, in a fixed order.

/// The content of these files, and of the files in these folders, of the source tree, each cut after `longest` bytes.
std::vector<std::string> file_seeds(const std::vector<std::string>& paths, std::size_t longest);
/// Their distinct lines. Of lines that differ only in their digits, the first one.
std::vector<std::string> line_seeds(const std::vector<std::string>& paths, std::size_t longest);
/// Inputs that once broke this target: findings/NAME/.
std::vector<std::string> findings(std::string_view name);

}  // namespace oomdoctor::testing
