// The only exception class. A source, a rule, an option or an output that fails throws it; main catches it. A damaged
// log never throws: it gives notes and a report.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace oomdoctor {

/// `message` describes the problem (with file:line if there is one). `excerpt` is the line with a caret below the
/// error. `help` is the action that solves the problem. Both may be empty.
class Error : public std::runtime_error {
 public:
  explicit Error(std::string message, std::string excerpt = {}, std::string help = {})
      : std::runtime_error(std::move(message)), excerpt_(std::move(excerpt)), help_(std::move(help)) {}

  const std::string& excerpt() const { return excerpt_; }
  const std::string& help() const { return help_; }

 private:
  std::string excerpt_;
  std::string help_;
};

/// A file that cannot be opened or read. `reason` is the system's: "Permission denied".
class FileError : public Error {
 public:
  FileError(const std::string& problem, std::string reason, std::string help = {})
      : Error(problem + ": " + reason, {}, std::move(help)), reason_(std::move(reason)) {}

  const std::string& reason() const { return reason_; }

 private:
  std::string reason_;
};

/// The line with a caret below the given 0-based byte column. A line over 120 bytes is cut to the part around the
/// column.
std::string caret_excerpt(std::string_view line, std::size_t column);

}  // namespace oomdoctor
