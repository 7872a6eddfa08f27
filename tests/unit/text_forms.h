// One text in the encodings that logs use.
#pragma once

#include <string>

namespace oomdoctor::testing {

inline std::string utf16(const std::u32string& text, bool big_endian, bool mark) {
  std::string out;
  const auto unit = [&](char32_t u) {
    const char high = static_cast<char>(u >> 8), low = static_cast<char>(u & 0xFF);
    out.push_back(big_endian ? high : low);
    out.push_back(big_endian ? low : high);
  };
  if (mark) unit(0xFEFF);
  for (const char32_t c : text) {
    if (c < 0x10000) {
      unit(c);
    } else {
      unit(0xD800 + ((c - 0x10000) >> 10));
      unit(0xDC00 + ((c - 0x10000) & 0x3FF));
    }
  }
  return out;
}

}  // namespace oomdoctor::testing
