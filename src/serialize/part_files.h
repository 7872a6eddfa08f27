// Reads files of parts, in any number and order, as the logs that they describe: each log once, in the order of paths.
// Memory holds only the positions of the parts; their content is read on demand.
#pragma once

#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "serialize/partial.h"

namespace oomdoctor {

/// A problem in the words of a note.
std::string left_out_words(std::string_view problem);

/// A file of lines. Throws Error with the reason if it cannot be opened.
std::ifstream open_lines(const std::string& path);
/// True for a file of parts: a line of its first MiB begins as a part does. False for what cannot be read.
bool holds_parts(const std::string& path);

class PartFiles {
 public:
  static constexpr const char* lost = "lost with its part";  ///< value of Input::unreadable

  /// Finds the parts in all files. A file that cannot be read and a line that is not a part become problems. Throws the
  /// first problem as an Error if no part is left.
  explicit PartFiles(const std::vector<std::string>& paths);

  /// The files and lines that were left out, with the reasons.
  const std::vector<std::string>& problems() const { return problems_; }

  /// The path and the digest of a log.
  const PartId& id(std::size_t log) const { return parts_[log].id; }
  /// The number of logs, each counted once.
  std::size_t size() const { return parts_.size(); }
  /// The line of the log's part as it was written. Thread-safe. Throws Error if the file changed.
  std::string line(std::size_t log) const;
  /// The case of the log. A part that cannot be read gives a case that says so.
  ScanResult read(std::size_t log) const;
  /// The reason why read() fails for this log; nullopt if it does not.
  std::optional<Error> find_problem(std::size_t log) const;

 private:
  struct Part {
    PartId id;
    std::size_t file = 0;               ///< index into paths_
    long long offset = 0;               ///< of the line in its file, in bytes
    std::size_t bytes = 0, number = 0;  ///< length of the line, and its number in the file, from 1
  };
  void find_in(std::size_t file);
  void left_out(const Error& error);
  bool is_better(const Part& part, const Part& known) const;
  ScanResult read_checked(std::size_t log) const;
  std::string read_text(const Part& part) const;
  std::string where(const Part& part) const;

  std::vector<std::string> paths_;
  std::vector<Part> parts_;
  std::vector<std::string> problems_;
  std::optional<Error> first_problem_;
};

}  // namespace oomdoctor
