// Reads sizes next to their labels in text without blanks: "12.84GiBisallocatedbyPyTorch", "Triedtoallocate346.00MiB".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "model/event.h"

namespace oomdoctor {

/// The text without blanks and tabs.
std::string dense(std::string_view text);

/// The size at the start of `text`, "346.00MiB". A number without a unit is in bytes. `length` gets the number of
/// bytes read. `radix` decides about units like "GB".
std::optional<Bytes> read_size(std::string_view text, std::size_t* length = nullptr, Radix radix = Radix::binary);

/// Reads the size at the start of `text` as the request. Sets `beyond_exabyte` for a request above 1 EiB, and for a
/// number that does not fit into 63 bits.
void read_request(std::string_view text, Oom& oom);

/// The size directly after (before) the first `label`.
std::optional<Bytes> size_after(std::string_view text, std::string_view label);
std::optional<Bytes> size_before(std::string_view text, std::string_view label);

}  // namespace oomdoctor
