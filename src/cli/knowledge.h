// The content that explain and list show.
#pragma once

#include <string_view>
#include <vector>

#include "cli/options.h"
#include "facts/facts.h"
#include "formats/format_list.h"
#include "judge/rule_pack.h"

namespace oomdoctor::cli {

/// The shipped rules and those of --rules. Throws Error for rules that cannot be read.
RulePack load_rules(const Arguments& arguments);

/// The shipped formats and the user's. Throws Error for format files that cannot be read.
std::vector<FormatInfo> load_formats(const Arguments& arguments);

std::string_view unit_words(FactUnit unit);  ///< for example "bytes", "share", "yes or no"

}  // namespace oomdoctor::cli
