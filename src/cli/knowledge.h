// What oomdoctor knows, as explain and list show it.
#pragma once

#include <string_view>

#include "analysis/facts.h"
#include "cli/options.h"
#include "judge/rule_pack.h"

namespace oomdoctor::cli {

/// The shipped rules and those of --rules. Throws Error.
RulePack rules_of(const Arguments& arguments);

std::string_view unit_words(FactUnit unit);  ///< "bytes", "share", "yes or no", …

}  // namespace oomdoctor::cli
