// The words of memory prints in other languages: "显存占用", "メモリ使用量", "память GPU", "GPU-Speicher belegt".
#pragma once

#include <string>
#include <string_view>

namespace oomdoctor {

/// The line with these words in English. Each has the length of its original in bytes, so that all positions stay.
/// Empty if the line has none.
std::string in_english(std::string_view line);

}  // namespace oomdoctor
