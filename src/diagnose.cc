// The table of contents: read, analyse, judge, report.
#include "oomdoctor/diagnose.h"

#include <algorithm>
#include <optional>
#include <thread>

#include "analysis/analysis.h"
#include "judge/rule_pack.h"
#include "oomdoctor/version.h"
#include "parse/scanner.h"
#include "parse/user_formats.h"
#include "report/assemble.h"
#include "text/source.h"

namespace oomdoctor {

namespace {

std::string declared_text(const Parser& parser) {
  const std::size_t n = parser.gauges.size();
  return "Read with " + std::to_string(n) + (n == 1 ? " line format" : " line formats") + " of " +
         std::string(parser.name);
}

/// Reads all sources, with the user's formats where there are any: then the case says so, because a reader of the
/// report may have other ones.
Case scan(std::vector<Source>& sources, const std::vector<std::string>& format_files) {
  // Made once, then const: a process may read many logs.
  static const Scanner shipped(all_parsers(), shipped_prefilter_plan());
  if (format_files.empty()) return shipped.scan(sources, {.jobs = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()))});
  UserFormats formats(all_parsers());
  for (const std::string& path : format_files) formats.add_file(path);
  Case story = Scanner(formats.parsers(), shipped_prefilter_plan()).scan(sources);
  for (const Parser* parser : formats.parsers())
    if (parser->declared) story.notes.push_back({Severity::note, declared_text(*parser), {}});
  return story;
}

/// Read when first needed: a healthy log needs none.
const RulePack& shipped_pack() {
  static const RulePack pack = shipped_rules();
  return pack;
}

}  // namespace

Report diagnose(const std::vector<LogSource>& sources, const Options& options) {
  std::optional<RulePack> extended;  // what is wrong with the user's rules is said before a log is read
  if (!options.rules_folder.empty()) extended.emplace(shipped_pack()).add_folder(options.rules_folder);

  std::vector<Source> open;
  for (const LogSource& source : sources)
    open.push_back(source.memory ? Source::of_text(source.path, *source.memory) : Source::open(source.path));

  Case story = scan(open, options.format_files);
  const Analysis analysis = analyse(story, {options.capacity_bytes});
  const bool anything = analysis.primary || analysis.facts.is_true("run.at_risk");
  const Diagnosis diagnosis = anything ? judge(extended ? *extended : shipped_pack(), analysis.facts) : Diagnosis{};
  Report report = assemble(story, analysis, diagnosis, {options.why_not, options.trace});
  report.tool_version = version;
  return report;
}

}  // namespace oomdoctor
