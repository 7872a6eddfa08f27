// Which files of a folder are logs: by their names, and by their first bytes where the name says nothing.
#pragma once

#include <string>
#include <string_view>

namespace oomdoctor::cli {

enum class FileKind {
  log,      ///< a log by its name: train.log, train.log-20260101, slurm-4711.out, train.e4711, stderr, logs.zip
  text,     ///< text that may be a log: .txt, .csv, .json
  foreign,  ///< known to be no log: source code, images, checkpoints, archives, settings
  own,      ///< a report of oomdoctor
  empty,
  binary,
  unknown,  ///< the name says nothing
};

/// By the name alone: log, text, foreign or unknown.
FileKind kind_of_name(std::string_view name);

/// False if the name alone says that the file is neither a log nor an allocator snapshot.
bool may_name_log(std::string_view name);

/// By the name, and where that is not enough by the first bytes of the file. Opens regular files only. Never unknown:
/// text without a known name is `text`. A file that cannot be read counts by its name, or as `text`, so that reading it
/// shows the problem.
FileKind kind_of_file(const std::string& path);

/// The same for a member of an archive with this path, which begins with `first`. Never unknown.
FileKind kind_of_member(std::string_view path, std::string_view first);

/// True if the name is that of an archive with members, or of something compressed: "logs.zip", "logs.tar.xz", "a.gz".
bool is_packed_name(std::string_view name);
/// True for a name of an archive with members, compressed or not: "logs.tar.gz", "logs.tgz", "logs.zip".
bool is_archive_name(std::string_view name);

/// True for a folder whose content is not a log of a job: .git, node_modules, oomdoctor-out.
bool is_foreign_folder(std::string_view name);

}  // namespace oomdoctor::cli
