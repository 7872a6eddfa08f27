// A log's content as one number, which distinguishes one file read twice from two files.
#pragma once

#include <string>
#include <string_view>

namespace oomdoctor {

/// The 128-bit XXH3 hash, as 32 hexadecimal digits. Not collision-resistant against attackers.
std::string digest_of_text(std::string_view text);

/// The same for the stored bytes of a file. Throws Error if the file is unreadable, or cannot be read twice (a pipe, a
/// terminal).
std::string digest_of_file(const std::string& path);

}  // namespace oomdoctor
