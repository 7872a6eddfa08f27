// A hash that chooses what a test goes through.
#pragma once

#include <cstdint>
#include <string_view>

namespace oomdoctor::testing {

/// FNV-1a: the same on every machine and in every build.
constexpr std::uint32_t stable_hash(std::string_view text) {
  std::uint32_t value = 2166136261;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 16777619;
  return value;
}

}  // namespace oomdoctor::testing
