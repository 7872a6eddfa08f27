// oomdoctor survey: reads the logs of many jobs, or their parts, and reports what the jobs have in common.
#include "base/error.h"
#include "cli/analysis.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/inputs.h"
#include "cli/outputs.h"
#include "cli/progress.h"

namespace oomdoctor::cli {

int run_survey(const Arguments& arguments) {
  if (arguments.words.empty())
    throw Error("no input given", "", "pass a folder of logs or the parts of many jobs: oomdoctor survey logs/");
  Options options = diagnose_options(arguments);
  const std::vector<LogSource> inputs = resolve_inputs(arguments.words, options, arguments.scope);
  std::vector<std::string> paths;
  for (const LogSource& input : inputs) {
    if (input.path == "-") throw Error("survey reads files, not standard input", "", "pass a folder of logs or parts");
    paths.push_back(input.member ? input.member->archive : input.path);
  }
  const OutputsOf<Survey> outputs(arguments, paths);
  Survey result;
  {
    ProgressLine line;
    options.progress = [&](const Progress& progress) { line.show(progress); };
    result = survey(inputs, options);
  }
  outputs.write(result);
  return 0;
}

}  // namespace oomdoctor::cli
