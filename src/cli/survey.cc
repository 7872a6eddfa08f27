// oomdoctor survey: reads the logs of many jobs, or their parts, and reports what the jobs have in common.
#include <filesystem>
#include <fstream>
#include <system_error>

#include "base/error.h"
#include "cli/analysis.h"
#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/outputs.h"
#include "cli/progress.h"

namespace oomdoctor::cli {
namespace {

namespace fs = std::filesystem;

/// Whether it is a page of oomdoctor: a run may have other files of this name.
bool is_own_page(const fs::path& path) {
  constexpr std::size_t most = 64 << 10;  // of the page; the mark is below the style sheet
  std::ifstream file(path, std::ios::binary);
  std::string head(most, '\0');
  file.read(head.data(), static_cast<std::streamsize>(most));
  return head.find("<dt>oomdoctor</dt>") != head.npos;
}

/// Links each job to the report that `run`, `watch` or `ci` wrote next to its log. Links are relative to the folder of
/// the survey's page, so that both can move together.
void link_reports(Survey& survey, const Arguments& arguments) {
  fs::path folder;
  for (const std::string& output : arguments.all("output"))
    if (constexpr std::string_view html = "html="; output.starts_with(html))
      folder = fs::path(output.substr(html.size())).parent_path();
  std::error_code unreadable;
  for (SurveyJob& job : survey.jobs) {
    const fs::path here = fs::path(job.path).parent_path();
    for (const char* name : {"report.html", "oomdoctor-run/report.html", "oomdoctor-out/report.html"}) {
      const fs::path page = here / name;
      if (!job.report.empty() || !fs::is_regular_file(page, unreadable) || !is_own_page(page)) continue;
      job.report = fs::proximate(page, folder.empty() ? fs::path(".") : folder, unreadable).generic_string();
    }
  }
}

}  // namespace

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
  link_reports(result, arguments);
  outputs.write(result);
  return 0;
}

}  // namespace oomdoctor::cli
