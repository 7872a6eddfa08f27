// One log's case as one line of JSON, and back without loss. `analyze --format partial` writes it on one machine and
// `merge` reads it on another. Doubles have the shortest form that reads back as the same number, and text that is not
// UTF-8 is written as bytes, so that reading gives exactly the scanned case.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/scan_result.h"

namespace oomdoctor {

/// The version of the format. Other versions are refused.
inline constexpr int partial_version = 1;

/// The identity of a log. The same path with the same content is the same log, wherever it was read.
struct PartId {
  std::string path, digest;
  std::optional<std::int64_t> modified = {};  ///< last change of the file, seconds since 1970; says not which log it is

  friend bool operator==(const PartId& a, const PartId& b) { return a.path == b.path && a.digest == b.digest; }
};

/// The order of logs in a merged case: by path in natural order, then by digest.
bool operator<(const PartId& a, const PartId& b);

/// Removes secrets from all texts of one log's case, before merging: a part is made for sharing.
void remove_secrets(ScanResult& file);

/// The line of one log's case, before merging, without its line end.
std::string partial_line(const PartId& id, const ScanResult& file);

/// Reads only the fields that it returns. Throws Error if the line is not a part or has another version. `where`
/// ("part.jsonl:3") begins the message.
PartId read_part_id(std::string_view line, const std::string& where);

/// Reads the whole case. Throws Error if this version cannot have written the line.
ScanResult read_part(std::string_view line, const std::string& where);

}  // namespace oomdoctor
