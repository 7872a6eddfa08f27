// Reads a pickle of plain values: numbers, texts, lists, dicts. A pickle is a program for a machine with a stack and a
// memo, and some of its instructions call functions of the file's choice. This reader has none of these: it refuses
// every opcode that the writers of snapshots do not need, by name, and never executes anything.
#pragma once

#include "evidence/byte_stream.h"
#include "evidence/snapshot_builder.h"

namespace oomdoctor {

struct PickleResult {
  SnapshotValue top;
  int protocol = 0;
};

/// Reads up to STOP, which is consumed. Throws SnapshotProblem with the offset of the opcode.
PickleResult read_pickle(ByteStream& in, SnapshotBuilder& out);

/// True for the first bytes of a binary pickle of any protocol, also one that does not exist yet.
bool begins_pickle(std::string_view first);

}  // namespace oomdoctor
