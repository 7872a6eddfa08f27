// The effect of a setting on the memory need, if it is the same for every program and all else is equal.
#pragma once

#include <optional>
#include <string_view>

namespace oomdoctor {

/// The memory in question.
enum class MemoryKind { device, host };

struct SettingEffect {
  int direction = 0;             ///< 1: the second value needs more, -1: less, 0: the same
  std::optional<double> factor;  ///< upper bound of the factor by which the need grows, if there is one
};

/// The effect of a change of `setting` from `from` to `to`. nullopt if it is unknown: an unknown setting, a value that
/// was not printed ("") or not parsed, an effect in either direction.
std::optional<SettingEffect> find_setting_effect(std::string_view setting, std::string_view from, std::string_view to,
                                                 MemoryKind place);

}  // namespace oomdoctor
