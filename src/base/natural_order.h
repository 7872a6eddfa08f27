// Natural sort order: "rank2" before "rank10".
#pragma once

#include <string_view>

namespace oomdoctor {

/// True when `a` comes before `b`. Numbers compare by value. The files of a folder come before those of folders whose
/// names are longer ("a/z" before "a-b/c"). A total order: two texts are equal only if their bytes are.
bool natural_less(std::string_view a, std::string_view b);

}  // namespace oomdoctor
