#include "cli/outputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "cli/ci_system.h"
#include "cli/console.h"
#include "cli/output_file.h"
#include "cli/shared_report.h"

namespace oomdoctor::cli {
namespace {

template <class Result>
const std::vector<WriterOf<Result>>& table_of();
template <>
const std::vector<Writer>& table_of<Report>() {
  return writers();
}
template <>
const std::vector<SurveyWriter>& table_of<Survey>() {
  return survey_writers();
}

/// Null for an unknown name.
template <class Result>
const WriterOf<Result>* find_in_table(std::string_view name) {
  for (const auto& writer : table_of<Result>())
    if (writer.name == name) return &writer;
  return nullptr;
}

}  // namespace

template <class Result>
typename OutputsOf<Result>::Output OutputsOf<Result>::parse_output(const std::string& text,
                                                                   const std::vector<std::string>& inputs) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals + 1 == text.size())
    throw Error(fmt::format("invalid --output '{}'", text), "",
                "use FORMAT=PATH, for example --output json=report.json");
  const std::string format = text.substr(0, equals), path = text.substr(equals + 1);
  const WriterOf<Result>* writer = find_in_table<Result>(format);
  if (!writer) {
    std::vector<std::string> names;
    for (const auto& known : table_of<Result>()) names.emplace_back(known.name);
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

template <class Result>
OutputsOf<Result>::OutputsOf(const Arguments& arguments, const std::vector<std::string>& inputs)
    : arguments_(arguments), view_(make_render_options(arguments)), plain_(view_) {
  // A file gets plain text in UTF-8, whatever the terminal supports.
  plain_.color = arguments.value_or("color", "auto") == "always";
  plain_.ascii = false;
  bool prints = false;
  for (const auto& text : arguments.all("output")) {
    outputs_.push_back(parse_output(text, inputs));
    prints = prints || outputs_.back().path == "-";
  }
  if (!prints) printed_ = find_in_table<Result>(arguments.value_or("format", "terminal"));
}

template <class Result>
void OutputsOf<Result>::print_text(const WriterOf<Result>& writer, const std::string& text) {
  if (writer.commands)
    print_commands(text);
  else
    print(text);
}

template <class Result>
bool OutputsOf<Result>::writes_page() const {
  const auto is_page = [](const WriterOf<Result>* writer) { return writer != nullptr && writer->name == "html"; };
  return is_page(printed_) ||
         std::any_of(outputs_.begin(), outputs_.end(), [&](const Output& output) { return is_page(output.writer); });
}

template <class Result>
void OutputsOf<Result>::write(const Result& whole) const {
  SharedResult<Result> report(whole, arguments_, runs_in_ci());
  std::exception_ptr first;
  const auto attempt = [&](auto write_one) {
    try {
      write_one();
    } catch (const Error& error) {
      if (first)
        print_note(error.what());  // main prints the first one
      else
        first = std::current_exception();
    } catch (const BrokenPipe&) {
      if (!first) first = std::current_exception();
    }
  };
  for (const auto& output : outputs_)
    attempt([&] {
      if (output.path == "-")
        print_text(*output.writer, output.writer->write(report.of(*output.writer), view_));
      else
        write_file(output.path, output.writer->write(report.of(*output.writer), plain_));
    });
  if (printed_ != nullptr) attempt([&] { print_text(*printed_, printed_->write(report.of(*printed_), view_)); });
  if (first) std::rethrow_exception(first);
}

template class OutputsOf<Report>;
template class OutputsOf<Survey>;

}  // namespace oomdoctor::cli
