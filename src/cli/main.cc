// oomdoctor: why a training job ran out of memory, and what to do.
#include <csignal>
#include <cstdio>
#include <exception>

#include "base/error.h"
#include "cli/console.h"
#include "cli/help.h"
#include "cli/options.h"
#include "oomdoctor/report.h"
#include "oomdoctor/version.h"
#include "report/sink.h"

namespace oomdoctor::cli {
namespace {

constexpr int could_not_work = 2;

int run(const std::vector<std::string>& typed) {
  if (typed.empty()) {
    std::fputs(general_help().c_str(), stderr);
    return could_not_work;
  }
  if (typed[0] == "--help" || typed[0] == "-h" || typed[0] == "help") {
    print(typed.size() > 1 && typed[0] == "help" ? command_help(find_command(typed[1])) : general_help());
    return 0;
  }
  if (typed[0] == "--version") {
    print(std::string("oomdoctor ") + version + " (report schema " + report_schema_version + ")\n");
    return 0;
  }
  const CommandSpec& command = find_command(typed[0]);
  const Arguments arguments = parse_arguments(command, {typed.begin() + 1, typed.end()});
  if (arguments.has("help")) {
    print(command_help(command));
    return 0;
  }
  return command.run(arguments);
}

void print_error(const Error& error) {
  std::string text = "oomdoctor: " + plain_line(error.what()) + '\n';
  for (std::string_view rest = error.excerpt(); !rest.empty();) {
    const auto end = std::min(rest.find('\n'), rest.size());
    text += "  " + plain_line(rest.substr(0, end)) + '\n';
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (!error.help().empty()) text += "  " + plain_line(error.help()) + '\n';
  std::fputs(text.c_str(), stderr);
}

int guarded_run(const std::vector<std::string>& typed) {
  try {
    return run(typed);
  } catch (const BrokenPipe&) {
    return 0;
  } catch (const Error& error) {
    print_error(error);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "oomdoctor: this should not have happened: %s\n", plain_line(error.what()).c_str());
  }
  return could_not_work;
}

}  // namespace
}  // namespace oomdoctor::cli

int main(int count, char** words) {
  std::signal(SIGPIPE, SIG_IGN);  // a broken pipe comes as an error of write()
  return oomdoctor::cli::guarded_run({words + 1, words + count});
}
