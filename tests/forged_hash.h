// Two lines with one hash, as an attacker who knows the hash function would forge them.
#pragma once

#include <string>

namespace oomdoctor::testing {

/// Returns another line with the template_hash() of `line`. `line` has at least 64 bytes, and no digits among the
/// first 40. Flipping the highest bit of a word flips only that bit of its product, and the next word of the chain
/// cancels the change.
inline std::string with_same_hash(std::string line) {
  for (const std::size_t at : {7u, 35u, 39u}) line[at] = static_cast<char>(line[at] ^ 0x80);
  return line;
}

}  // namespace oomdoctor::testing
