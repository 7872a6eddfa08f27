// Sizes beside their labels in blank-free text: "12.84GiBisallocatedbyPyTorch", "Triedtoallocate346.00MiB".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "model/event.h"

namespace oomdoctor {

/// The text without its blanks.
std::string dense(std::string_view text);

/// "346.00MiB" at the front of `text`; a number without a unit counts bytes. `length`: bytes read.
std::optional<Bytes> read_size(std::string_view text, std::size_t* length = nullptr, Radix radix = Radix::binary);

/// The size at the front of `text` as what was asked for. A count that 63 bits do not hold is never cut: of it is said
/// that it is beyond every machine, as of one that they do hold.
void read_request(std::string_view text, Oom& oom);

/// The size right behind (right before) the first `label`.
std::optional<Bytes> size_after(std::string_view text, std::string_view label);
std::optional<Bytes> size_before(std::string_view text, std::string_view label);

}  // namespace oomdoctor
