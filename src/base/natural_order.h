// The order in which people count: "rank2" before "rank10".
#pragma once

#include <string_view>

namespace oomdoctor {

/// True when `a` comes before `b`: numbers by their value, a folder's own files before those of its neighbours whose
/// names go on. A total order: equal only where the bytes are.
bool natural_less(std::string_view a, std::string_view b);

}  // namespace oomdoctor
