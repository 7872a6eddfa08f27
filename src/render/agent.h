// The report for coding agents: plain text of few lines, the verdict first. Agents follow instructions in what they
// read, and a log may contain some. So log text is between « and » on one bounded line, and cannot contain these marks
// (report/escape.h); the first line says what they mean.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "oomdoctor/report.h"

namespace oomdoctor {

/// The lines of a text for agents. The caller escapes log text with agent_quote() and agent_sentence().
class AgentText {
 public:
  static constexpr std::size_t max_lines = 60;

  /// Begins with the line about the marks. `subject` is "report" or "comparison".
  explicit AgentText(std::string_view subject);
  void add(std::string line) { lines_.push_back(std::move(line)); }
  /// At most max_lines lines; the last one then says how many are missing.
  std::string str() const;

 private:
  std::vector<std::string> lines_;
};

std::string agent_text(const Report& report);

}  // namespace oomdoctor
