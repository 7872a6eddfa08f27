// Chinese words of memory prints, in simplified and traditional characters: "显存占用", "已分配", "步骤".
#pragma once

#include <string>
#include <string_view>

namespace oomdoctor {

/// The line with these words in English. Each has the length of its original in bytes, so that all positions stay.
/// Empty if the line has none.
std::string in_english(std::string_view line);

}  // namespace oomdoctor
