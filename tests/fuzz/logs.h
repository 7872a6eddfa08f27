// Bytes as logs, for the targets that scan.
#pragma once

#include <string>
#include <string_view>

#include "fold/scanner.h"

namespace oomdoctor::testing {

/// A scanner with the shipped parsers; made once.
inline const Scanner& shipped_scanner() {
  static const Scanner scanner(all_parsers(), shipped_prefilter_plan());
  return scanner;
}

/// One small block: allocating a usual one takes longer than reading the text.
inline ScanResult scan_text(std::string_view text) {
  Source source = Source::of_text("fuzz.log", std::string(text));
  return shipped_scanner().scan(source, {.jobs = 1, .block_bytes = 1 << 14});
}

/// Another text of the same form: each run of digits has other digits.
inline std::string with_other_digits(std::string text) {
  int n = 0;
  for (char& c : text)
    if (c >= '0' && c <= '9') c = static_cast<char>('0' + (c - '0' + 3 + n++ % 5) % 10);
  return text;
}

}  // namespace oomdoctor::testing
