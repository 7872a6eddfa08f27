// Files of parts, in any number and order, as the logs that they are of: each once, in the order of their paths. Only
// where a part stands is kept; what it says is read when it is its turn.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "report/partial.h"

namespace oomdoctor {

/// A problem as a note says it.
std::string left_out_words(std::string_view problem);

class PartFiles {
 public:
  static constexpr const char* lost = "lost with its part";  ///< as Input::unreadable

  /// Finds the parts in all files. A file that cannot be read and a line that is no part are problems; Error is thrown
  /// where nothing else is left.
  explicit PartFiles(const std::vector<std::string>& paths);

  /// What was left out, and why.
  const std::vector<std::string>& problems() const { return problems_; }

  /// Logs, each counted once.
  std::size_t size() const { return parts_.size(); }
  /// The line of the log's part as it was written. May be called on several threads.
  std::string line(std::size_t log) const;
  /// What it says; of a part that says nothing good, a log that could not be read.
  ScanResult read(std::size_t log) const;
  /// Why it says nothing, if it does not.
  std::optional<Error> why_lost(std::size_t log) const;

 private:
  struct Part {
    PartId id;
    std::size_t file = 0;  ///< index into paths_
    long long offset = 0;  ///< of the line in it, in bytes
    std::size_t bytes = 0, number = 0;
  };
  void find_in(std::size_t file);
  void left_out(const Error& error);
  ScanResult good_case(std::size_t log) const;
  std::string text_of(const Part& part) const;
  std::string where(const Part& part) const;

  std::vector<std::string> paths_;
  std::vector<Part> parts_;
  std::vector<std::string> problems_;
  std::optional<Error> first_problem_;
};

}  // namespace oomdoctor
