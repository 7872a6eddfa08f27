#include "cli/outputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "cli/ci_system.h"
#include "cli/console.h"
#include "cli/output_file.h"
#include "cli/shared_report.h"
#include "report/escape.h"

namespace oomdoctor::cli {

Outputs::Output Outputs::output_of(const std::string& text, const std::vector<std::string>& inputs) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals + 1 == text.size())
    throw Error(fmt::format("invalid --output '{}'", text), "",
                "use FORMAT=PATH, for example --output json=report.json");
  const std::string format = text.substr(0, equals), path = text.substr(equals + 1);
  const Writer* writer = find_writer(format);
  if (!writer) {
    std::vector<std::string> names;
    for (const auto& known : writers()) names.emplace_back(known.name);
    const std::string near = suggestion(format, names);
    throw Error(fmt::format("unknown format '{}' in --output", format), "",
                near.empty() ? fmt::format("choose one of: {}", fmt::join(names, ", ")) : near);
  }
  std::error_code error;
  for (const auto& input : inputs)
    if (std::filesystem::equivalent(input, path, error))
      throw Error(fmt::format("--output would overwrite the input {}", path), "", "choose another path for the report");
  return {writer, path};
}

Outputs::Outputs(const Arguments& arguments, const std::vector<std::string>& inputs)
    : arguments_(arguments), view_(make_render_options(arguments)), plain_(view_) {
  // A file gets plain text in UTF-8, whatever the terminal supports.
  plain_.color = arguments.value_or("color", "auto") == "always";
  plain_.ascii = false;
  bool prints = false;
  for (const auto& text : arguments.all("output")) {
    outputs_.push_back(output_of(text, inputs));
    prints = prints || outputs_.back().path == "-";
  }
  if (!prints) printed_ = find_writer(arguments.value_or("format", "terminal"));
}

void Outputs::print_text(const Writer& writer, const std::string& text) {
  if (writer.commands)
    print_commands(text);
  else
    print(text);
}

void Outputs::write(const Report& whole) const {
  SharedReport report(whole, arguments_, runs_in_ci());
  for (const auto& output : outputs_) {
    if (output.path == "-")
      print_text(*output.writer, output.writer->write(report.of(*output.writer), view_));
    else
      write_file(output.path, output.writer->write(report.of(*output.writer), plain_));
  }
  if (printed_ != nullptr) print_text(*printed_, printed_->write(report.of(*printed_), view_));
}

}  // namespace oomdoctor::cli
