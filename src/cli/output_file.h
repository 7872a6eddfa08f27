// Files that reports are written to. Who made the folder need not be who runs the program: nothing is written through a
// link, and a reader sees the old text or the whole new one.
#pragma once

#include <string>
#include <string_view>

namespace oomdoctor::cli {

/// Replaces the file or makes it. Folders of a relative path and the file must be no links, the file no pipe and no
/// device. A file that cannot be replaced (a mount point, as /dev/termination-log is one, a second name, another
/// owner) is written in place. Throws Error; then the old text is still there.
void write_file(const std::string& path, std::string_view text);
/// Adds to the end, under the same conditions.
void append_to_file(const std::string& path, std::string_view text);
/// Makes the folder where there is none. Throws Error where something else or a link has its name.
void make_folder(const std::string& path);

}  // namespace oomdoctor::cli
