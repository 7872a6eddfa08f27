// A log's content as one number, which distinguishes one file read twice from two files.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace oomdoctor {

/// The 128-bit XXH3 hash, as 32 hexadecimal digits. Not collision-resistant against attackers. Of a long run of zero
/// bytes, only the length counts, so that a hole in a file need not be read.
std::string digest_of_text(std::string_view text);

/// The same for bytes that a function fills in, as a Source reads them: it returns how many it filled, 0 at the end.
std::string digest_of_bytes(const std::function<std::size_t(char* buffer, std::size_t size)>& read);

/// The same for the bytes of a file, and of the files that continue it. Throws Error if a file is unreadable, or cannot
/// be read twice (a pipe, a terminal).
std::string digest_of_file(const std::string& path, const std::vector<std::string>& continued = {});

}  // namespace oomdoctor
