// Reads the page that torch.cuda._memory_viz writes: a pickle as base64 in a script.
#pragma once

#include "evidence/byte_stream.h"

namespace oomdoctor {

/// The bytes of the page's first snapshot. `page` must outlive the stream. Reading it throws SnapshotProblem for a
/// character that is not of base64.
ByteStream open_snapshot_page(ByteStream& page);

/// True for the first bytes of such a page.
bool begins_snapshot_page(std::string_view first);

}  // namespace oomdoctor
