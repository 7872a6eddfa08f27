// Two lines with one hash, as somebody would make them who knows how it is computed.
#pragma once

#include <string>

namespace oomdoctor::testing {

/// Another line with the template_hash() of `line`, which has 64 bytes or more, and no digits among the first 40: the
/// highest bit of a word goes through a multiplication alone, and the next word of its chain takes it back.
inline std::string with_same_hash(std::string line) {
  for (const std::size_t at : {7u, 35u, 39u}) line[at] = static_cast<char>(line[at] ^ 0x80);
  return line;
}

}  // namespace oomdoctor::testing
