// Files of parts, in any number and order, as the logs that they are of: each once, in the order of their paths. Only
// where a part stands is kept; what it says is read when it is its turn.
#pragma once

#include <string>
#include <vector>

#include "report/partial.h"

namespace oomdoctor {

class PartFiles {
 public:
  /// Finds the parts in all files. Throws Error for a file that cannot be read or a line that is no part.
  explicit PartFiles(const std::vector<std::string>& paths);

  /// Logs, each counted once.
  std::size_t size() const { return parts_.size(); }
  /// The line of the log's part as it was written. May be called on several threads.
  std::string line(std::size_t log) const;
  /// What it says. Throws Error.
  Case read(std::size_t log) const;

 private:
  struct Part {
    PartId id;
    std::size_t file = 0;  ///< index into paths_
    long long offset = 0;  ///< of the line in it, in bytes
    std::size_t bytes = 0, number = 0;
  };
  void find_in(std::size_t file);
  std::string text_of(const Part& part) const;
  std::string where(const Part& part) const;

  std::vector<std::string> paths_;
  std::vector<Part> parts_;
};

}  // namespace oomdoctor
