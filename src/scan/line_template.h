// From the matches of a line to its template, and from the template to the matches of each other line.
#pragma once

#include <span>
#include <string_view>

#include "scan/format_registry.h"

namespace oomdoctor {

/// A match of the whole line, without numbers and groups.
LineMatch make_match(const Line& line, const CompiledFormat& reader);
/// The text of the i-th group; empty if it did not match.
std::string_view group_text(const LineMatch& found, std::size_t i);

/// If the matches from `first` on are one that reads a step only, merges it into the run of steps before it, or starts
/// a new run.
void join_step(BlockMatches& out, std::size_t first);

/// The template of a line with these matches. `tried`: the formats that its anchors lead to.
LineTemplate make_template(const Line& line, std::span<const CompiledFormat* const> tried,
                           std::span<const LineMatch> found, const BlockMatches& all, const NumberSpans* runs);
/// Appends the matches of a line by its template, and sets its prefix. False if its digits change the meaning; then
/// nothing is appended.
bool apply_template(const KnownTemplate& known, Line& line, BlockMatches& out);

}  // namespace oomdoctor
