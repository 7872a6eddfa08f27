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

#include "cli/console.h"
#include "cli/guarded.h"
#include "cli/help.h"
#include "cli/options.h"
#include "oomdoctor/report.h"
#include "oomdoctor/version.h"
#include "run/inherited.h"

namespace oomdoctor::cli {
namespace {

/// True for a path in the place of a command: `oomdoctor train.log`.
bool names_log(const std::string& word) {
  std::error_code unknown;
  return word == "-" || (!is_command(word) && !word.starts_with('-') && std::filesystem::exists(word, unknown));
}

/// The place of the command in the arguments; their number if there is none, as in `oomdoctor train.log` and
/// `oomdoctor --quiet train.log`. Options may come before the command: `oomdoctor -v compare a.log b.log`.
std::size_t command_place(const std::vector<std::string>& typed) {
  if (names_log(typed[0])) return typed.size();
  const CommandSpec& analyze = find_command("analyze");
  if (match_option(analyze, typed[0]) == nullptr) return 0;
  const std::size_t word = count_options(analyze, typed);
  return word < typed.size() && is_command(typed[word]) ? word : typed.size();
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
  const std::size_t at = command_place(typed);
  const CommandSpec& command = find_command(at < typed.size() ? typed[at] : "analyze");
  std::vector<std::string> rest = typed;
  if (at < typed.size()) rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(at));
  const Arguments arguments = parse_arguments(command, rest);
  if (arguments.has("help")) {
    print(command_help(command));
    return 0;
  }
  return command.run(arguments);
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

}  // namespace
}  // namespace oomdoctor::cli

int main(int count, char** words) {
  std::set_terminate(oomdoctor::cli::terminate_handler);
  oomdoctor::inherited();         // before anything is opened or ignored
  std::signal(SIGPIPE, SIG_IGN);  // a broken pipe becomes an error of write(),
  std::signal(SIGXFSZ, SIG_IGN);  // and so does a write beyond the limit of file sizes
  return oomdoctor::cli::guarded([&] { return oomdoctor::cli::run({words + 1, words + count}); });
}
