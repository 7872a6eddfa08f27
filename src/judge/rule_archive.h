// A checked pack as bytes, and back. The build checks the rules in rules/ once and embeds these bytes, so that
// oomdoctor starts without reading TOML or parsing conditions. One list of fields serves both directions.
#pragma once

#include <string>
#include <string_view>

#include "judge/rule_pack.h"

namespace oomdoctor {

/// Serialises a pack. The same rules give the same bytes on every machine.
std::string archived(const RulePack& pack);

/// Deserialises the bytes of archived(). They must come from a program with the same facts, which the build ensures.
/// Throws Error if the bytes end early or name a missing fact; other damage is not detected.
RulePack restored(std::string_view bytes);

}  // namespace oomdoctor
