// Reads a snapshot that a program wrote as JSON: the same keys, tuples as lists, and nothing shared.
#pragma once

#include "evidence/byte_stream.h"
#include "evidence/snapshot_builder.h"

namespace oomdoctor {

/// Reads to the end of the input. Throws SnapshotProblem.
SnapshotValue read_snapshot_json(ByteStream& in, SnapshotBuilder& out);

/// True for the first bytes of a JSON text with words that only a snapshot has.
bool begins_snapshot_json(std::string_view first);

}  // namespace oomdoctor
