// One log's Case as one line of JSON, and back without a loss: what `analyze --format partial` writes on one machine
// and `merge` reads on another. Doubles are written in the shortest form that reads back as the same number, and text
// that is no UTF-8 as its bytes, so that a case which was written down is the case that was scanned.
#pragma once

#include <string>
#include <string_view>

#include "model/scan_result.h"

namespace oomdoctor {

inline constexpr int partial_version = 1;

/// Which log a part is of. The same path with the same content is the same log, wherever it was read.
struct PartId {
  std::string path, digest;

  friend bool operator==(const PartId&, const PartId&) = default;
};

/// The order of the logs of a merged case, by path as people count, then by content.
bool operator<(const PartId& a, const PartId& b);

/// From all texts of one log, as it was scanned: a part is made to be handed on.
void remove_secrets(ScanResult& file);

/// Of one log, as it was scanned and before it was joined. The line has no end of line.
std::string partial_line(const PartId& id, const ScanResult& file);

/// Throws Error when the line is no part, or of another version. `where` ("part.jsonl:3") begins its message. Reads no
/// further than the two fields that it returns.
PartId read_part_id(std::string_view line, const std::string& where);

/// Throws Error when the line is no part that this version may have written.
ScanResult read_part(std::string_view line, const std::string& where);

/// The JSON Schema (draft 2020-12) of one line.
std::string_view partial_schema();

}  // namespace oomdoctor
