// The terminal reports of the other commands: a comparison, an estimate, a survey and snapshots.
#pragma once

#include <string>

#include "compare/comparison.h"
#include "estimate/estimate.h"
#include "oomdoctor/survey.h"
#include "render/terminal.h"

namespace oomdoctor {

/// The comparison for a terminal, verdict last.
std::string comparison_screen(const Comparison& comparison, const RenderOptions& view);
/// The comparison as GitHub-flavoured Markdown, verdict first.
std::string comparison_markdown(const Comparison& comparison);
/// The comparison for coding agents (agent.h), verdict first.
std::string comparison_agent(const Comparison& comparison);

/// The estimate for a terminal, verdict last.
std::string estimate_screen(const MemoryEstimate& estimate, const RenderOptions& view);

/// The survey for a terminal: the jobs, what they have in common, and the totals last.
std::string survey_screen(const Survey& survey, const RenderOptions& view);

/// The allocator snapshots of a report, which has at least one: what they show, the verdict last.
std::string snapshot_screen(const Report& report, const RenderOptions& view);
/// The same as GitHub-flavoured Markdown, verdict first.
std::string snapshot_markdown(const Report& report);

}  // namespace oomdoctor
