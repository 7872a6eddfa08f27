// Writes report files safely. Another user may own the folder, so nothing is written through a link, and a reader sees
// either the old text or the complete new text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/descriptor.h"

namespace oomdoctor::cli {

/// Replaces or creates the file. The file and the folders of a relative path must not be links, and the file must be no
/// pipe and no device. A file that cannot be replaced is written in place: a mount point such as /dev/termination-log,
/// a file with a second hard link, a file of another owner. Throws Error; the old text then remains, unless the file
/// was written in place.
void write_file(const std::string& path, std::string_view text);
/// Appends to the file, or creates it, under the same conditions. Throws Error.
void append_to_file(const std::string& path, std::string_view text);
/// Creates the folder if it does not exist. Throws Error if a link or another kind of file has its name.
void make_folder(const std::string& path);
/// Creates a folder for its owner only, and opens it. nullopt if there is anything of this name. Throws Error.
std::optional<Descriptor> make_private_folder(const std::string& path);
/// Opens a folder, which must be no link. Throws Error.
Descriptor open_folder(const std::string& path);

}  // namespace oomdoctor::cli
