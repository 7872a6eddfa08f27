// What a setting does to the need for memory, as far as that holds for every program: all else being equal.
#pragma once

#include <optional>
#include <string_view>

namespace oomdoctor {

enum class MemoryPlace { device, host };

struct SettingEffect {
  int direction = 0;             ///< 1: the second value needs more, -1: less, 0: the same
  std::optional<double> factor;  ///< by which the need grows at most, where there is a bound
};

/// nullopt where it cannot be said: an unknown setting, one that was not printed (""), a value that is not understood,
/// an effect either way.
std::optional<SettingEffect> effect_of(std::string_view setting, std::string_view from, std::string_view to,
                                       MemoryPlace place);

}  // namespace oomdoctor
