// oomdoctor: finds out why a training job ran out of memory, and what to do.
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <new>
#include <string>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "cli/ci_system.h"
#include "cli/console.h"
#include "cli/help.h"
#include "cli/options.h"
#include "oomdoctor/report.h"
#include "oomdoctor/version.h"
#include "report/escape.h"
#include "run/inherited.h"

namespace oomdoctor::cli {
namespace {

constexpr int exit_error = 2,
              killed_by_pipe =
                  128 + SIGPIPE;  // the exit statuses of errors, and of death by SIGPIPE as shells report it

/// True for a path in the place of a command: `oomdoctor train.log`.
bool names_log(const std::string& word) {
  std::error_code unknown;
  return word == "-" || (!is_command(word) && !word.starts_with('-') && std::filesystem::exists(word, unknown));
}

/// True if a log comes on standard input: `kubectl logs POD | oomdoctor`.
bool is_fed() {
  struct stat input {};
  return fstat(STDIN_FILENO, &input) == 0 && (S_ISFIFO(input.st_mode) || S_ISREG(input.st_mode));
}

int run(const std::vector<std::string>& typed) {
  if (typed.empty() && is_fed()) return run({"-"});
  if (typed.empty()) {
    print_error(general_help());
    return exit_error;
  }
  if (typed[0] == "--help" || typed[0] == "-h" || typed[0] == "help") {
    print(typed.size() > 1 && typed[0] == "help" ? command_help(find_command(typed[1])) : general_help());
    return 0;
  }
  if (typed[0] == "--version" || typed[0] == "version") {
    print(std::string("oomdoctor ") + version + " (report schema " + report_schema_version + ")\n");
    return 0;
  }
  const bool is_log = names_log(typed[0]);
  const CommandSpec& command = find_command(is_log ? "analyze" : typed[0]);
  const Arguments arguments = parse_arguments(command, {typed.begin() + (is_log ? 0 : 1), typed.end()});
  if (arguments.has("help")) {
    print(command_help(command));
    return 0;
  }
  return command.run(arguments);
}

/// The excerpt of an error, with indentation. It is shown only on an interactive terminal: the log of a CI job must not
/// quote the content of a file.
std::string error_excerpt(const Error& error) {
  if (!is_interactive() || runs_in_ci()) return "";
  std::string text;
  for (std::string_view rest = error.excerpt(); !rest.empty();) {
    const auto end = std::min(rest.find('\n'), rest.size());
    text += "  " + plain_line(rest.substr(0, end)) + '\n';
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return text;
}

void print(const Error& error) {
  std::string text = "oomdoctor: " + plain_line(error.what()) + '\n' + error_excerpt(error);
  if (!error.help().empty()) text += "  " + plain_line(error.help()) + '\n';
  print_error(text);
}

/// Prints a constant message with write(2), because no memory is left to build one.
int report_out_of_memory() {
  constexpr std::string_view words = "oomdoctor: there is not enough memory for this; --jobs 1 takes the least\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, words.data(), words.size());
  return exit_error;
}

/// The terminate handler. The JSON library allocates in destructors, where std::bad_alloc cannot propagate, so
/// std::terminate is called.
[[noreturn]] void terminate_handler() {
  try {
    if (const auto failure = std::current_exception()) std::rethrow_exception(failure);
  } catch (const std::bad_alloc&) {
    _exit(report_out_of_memory());
  } catch (...) {
  }
  std::abort();
}

/// Maps exceptions to messages and exit statuses.
int guarded_run(const std::vector<std::string>& typed) {
  try {
    return run(typed);
  } catch (const BrokenPipe&) {
    return killed_by_pipe;
  } catch (const Error& error) {
    print(error);
  } catch (const std::bad_alloc&) {
    return report_out_of_memory();
  } catch (const std::exception& error) {
    print_note(std::string("internal error: ") + error.what());
  }
  return exit_error;
}

}  // namespace
}  // namespace oomdoctor::cli

int main(int count, char** words) {
  std::set_terminate(oomdoctor::cli::terminate_handler);
  oomdoctor::inherited();         // before anything is opened or ignored
  std::signal(SIGPIPE, SIG_IGN);  // a broken pipe becomes an error of write(),
  std::signal(SIGXFSZ, SIG_IGN);  // and so does a write beyond the limit of file sizes
  return oomdoctor::cli::guarded_run({words + 1, words + count});
}
