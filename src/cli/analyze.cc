// oomdoctor analyze: logs in, one report on standard output and as many as wished in files.
#include <fmt/format.h>

#include <cstdio>

#include "base/error.h"
#include "cli/analysis.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/inputs.h"
#include "report/writer.h"

namespace oomdoctor::cli {
namespace {

/// One --output: a report in a format, to a place.
struct Output {
  const Writer* writer;
  std::string path;  ///< "-" is standard output
};

/// Refused before anything is read: a mistyped option must not cost the analysis of a large log.
Output output_of(const std::string& text, const std::vector<LogSource>& inputs) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals + 1 == text.size())
    throw Error(fmt::format("--output cannot be '{}'", text), "", "it is FORMAT=PATH, as in --output json=report.json");
  const std::string format = text.substr(0, equals), path = text.substr(equals + 1);
  const Writer* writer = find_writer(format);
  if (!writer) {
    std::vector<std::string> names;
    for (const auto& known : writers()) names.emplace_back(known.name);
    const std::string near = suggestion(format, names);
    throw Error(fmt::format("--output knows no format '{}'", format), "",
                near.empty() ? fmt::format("it is one of: {}", fmt::join(names, ", ")) : near);
  }
  std::error_code error;
  for (const auto& input : inputs)
    if (std::filesystem::equivalent(input.path, path, error))
      throw Error(fmt::format("--output would overwrite the log {}", path), "", "choose another path for the report");
  return {writer, path};
}

}  // namespace

int run_analyze(const Arguments& arguments) {
  const TerminalView view = view_of(arguments);
  const auto inputs = inputs_of(arguments.words);
  std::vector<Output> outputs;
  bool prints = false;
  for (const auto& text : arguments.all("output")) {
    outputs.push_back(output_of(text, inputs));
    prints = prints || outputs.back().path == "-";
  }
  const Report report = diagnose(inputs, diagnose_options(arguments));

  if (arguments.has("why-not") && !report.why_not)
    std::fputs("oomdoctor: nothing failed here, so no cause was weighed\n", stderr);

  // A file gets plain text, whatever the terminal can do.
  TerminalView plain = view;
  plain.color = arguments.value_or("color", "auto") == "always";
  for (const auto& output : outputs) {
    if (output.path == "-")
      print(output.writer->write(report, view));
    else
      write_file(output.path, output.writer->write(report, plain));
  }
  if (!prints) print(find_writer(arguments.value_or("format", "terminal"))->write(report, view));
  return exit_status(report, arguments.value_or("fail-on", "error"));
}

}  // namespace oomdoctor::cli
