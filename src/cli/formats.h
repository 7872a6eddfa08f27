// The formats that oomdoctor reads, family by family: for a terminal, and as the page docs/formats.md.
#pragma once

#include <string>
#include <vector>

#include "parse/parser.h"
#include "report/layout.h"

namespace oomdoctor::cli {

/// The formats of one parser, in its order; never empty.
using FormatFamily = std::vector<FormatInfo>;

/// Neighbours of one parser become a family.
std::vector<FormatFamily> families_of(const std::vector<FormatInfo>& formats);

void add_formats(Page& page, const std::vector<FormatFamily>& families);
std::string formats_page(const std::vector<FormatFamily>& families);

}  // namespace oomdoctor::cli
