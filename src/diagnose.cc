// The table of contents: read, analyse, judge, report.
#include "oomdoctor/diagnose.h"

#include "analysis/analysis.h"
#include "judge/rule_pack.h"
#include "oomdoctor/version.h"
#include "parse/scanner.h"
#include "report/assemble.h"
#include "text/source.h"

namespace oomdoctor {

Report diagnose(const std::vector<LogSource>& sources, const Options& options) {
  static const RulePack shipped = RulePack::load(shipped_rules());
  static const Scanner scanner(all_parsers());  // made once, then const: a process may read many logs
  RulePack pack = shipped;
  if (!options.rules_folder.empty()) pack.add_folder(options.rules_folder);

  std::vector<Source> open;
  for (const LogSource& source : sources)
    open.push_back(source.memory ? Source::of_text(source.path, *source.memory) : Source::open(source.path));

  Case story = scanner.scan(open);
  const Analysis analysis = analyse(story, {options.capacity_bytes});
  const bool anything = analysis.primary || analysis.facts.is_true("run.at_risk");
  const Diagnosis diagnosis = anything ? judge(pack, analysis.facts) : Diagnosis{};
  Report report = assemble(story, analysis, diagnosis, {options.why_not, options.trace});
  report.tool_version = version;
  return report;
}

}  // namespace oomdoctor
