// The formats that oomdoctor reads, by family: for a terminal, and as the page docs/formats.md.
#pragma once

#include <string>
#include <vector>

#include "formats/format_list.h"
#include "render/layout.h"

namespace oomdoctor::cli {

/// The formats of one parser, in its order; never empty.
using FormatFamily = std::vector<FormatInfo>;

/// Groups consecutive formats of one parser. `formats` must be in the order of the parsers.
std::vector<FormatFamily> group_by_family(const std::vector<FormatInfo>& formats);

/// Adds the families to a terminal page, with a blank line between them.
void add_formats(Page& page, const std::vector<FormatFamily>& families);
/// The Markdown text of docs/formats.md.
std::string formats_page(const std::vector<FormatFamily>& families);

}  // namespace oomdoctor::cli
