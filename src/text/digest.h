// A log's content as one number: what tells a file that was read twice from two files.
#pragma once

#include <string>
#include <string_view>

namespace oomdoctor {

/// The XXH3 hash of 128 bits, as 32 hexadecimal digits. Not made to withstand somebody who wants two texts to be equal.
std::string digest_of_text(std::string_view text);

/// The same of a file's bytes as they are stored. Throws Error when it cannot be read, or is no file that can be read
/// twice (a pipe, a terminal).
std::string digest_of_file(const std::string& path);

}  // namespace oomdoctor
