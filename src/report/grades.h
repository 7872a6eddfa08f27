// The cost and risk classes of the rules, in words.
#pragma once

#include <array>

namespace oomdoctor {

inline constexpr std::array<const char*, 5> cost_texts = {"no slowdown", "up to 5% slower", "5 to 25% slower",
                                                          "25 to 50% slower", "more than 50% slower"};
inline constexpr std::array<const char*, 4> risk_texts = {"same result", "numerics differ slightly",
                                                          "hyper-parameters may need retuning", "the result changes"};

/// The slowdown of a fix: class 0 to 4. Other numbers are clamped.
constexpr const char* cost_text(int cost) {
  return cost_texts[static_cast<std::size_t>(cost < 0 ? 0 : cost > 4 ? 4 : cost)];
}

/// The effect of a fix on the training result: class 0 to 3. Other numbers are clamped.
constexpr const char* risk_text(int risk) {
  return risk_texts[static_cast<std::size_t>(risk < 0 ? 0 : risk > 3 ? 3 : risk)];
}

}  // namespace oomdoctor
