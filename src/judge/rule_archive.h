// A checked pack as bytes, and back. The build checks the rules of rules/ once and puts these bytes into the program,
// so that it starts without reading a line of TOML or parsing a condition. Both directions come from one list of
// fields.
#pragma once

#include <string>
#include <string_view>

#include "judge/rule_pack.h"

namespace oomdoctor {

/// The same bytes for the same rules, on every machine.
std::string archived(const RulePack& pack);

/// The pack that archived() was given. The bytes must come from a program with the same facts, which is the build's
/// business: throws Error where they end too early or name a fact that is not there, and trusts the rest.
RulePack restored(std::string_view bytes);

}  // namespace oomdoctor
