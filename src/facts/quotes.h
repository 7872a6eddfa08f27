// The texts of a log in which its reader may have been given advice, or has followed some: failures with the lines
// around them and their code, printed settings.
#pragma once

#include <string>
#include <string_view>

#include "model/scan_result.h"

namespace oomdoctor {

/// Answers whether a log names a word. Without a log, it names none.
class Quotes {
 public:
  Quotes() = default;
  explicit Quotes(const ScanResult& scan);

  /// Whether a text has this word, in any letter case: "empty_cache", "model.eval".
  bool have(std::string_view word) const;

 private:
  void add(std::string_view text);

  std::string texts_;  ///< in lower case, one a line
};

}  // namespace oomdoctor
