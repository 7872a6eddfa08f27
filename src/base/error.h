// The one exception: thrown where a source, a rule, an option or an output fails, caught in main.
// A damaged log is never an Error; it gives notes and a report.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace oomdoctor {

/// `message` says what is wrong (with file:line where there is one), `excerpt` shows it (the line and a caret under the
/// place; may be empty), `help` says how to mend it (may be empty).
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

/// The line with a caret under the given 0-based column.
std::string caret_excerpt(std::string_view line, std::size_t column);

}  // namespace oomdoctor
