#include "cli/guarded.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "base/error.h"
#include "cli/ci_system.h"
#include "cli/console.h"
#include "report/escape.h"

namespace oomdoctor::cli {
namespace {

constexpr int killed_by_pipe = 128 + SIGPIPE;  // as shells report a death by SIGPIPE

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

}  // namespace

// write(2), because no memory is left to build a message.
int report_out_of_memory() {
  constexpr std::string_view words = "oomdoctor: there is not enough memory for this; --jobs 1 takes the least\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, words.data(), words.size());
  return exit_error;
}

int guarded(const std::function<int()>& work) {
  try {
    return work();
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

}  // namespace oomdoctor::cli
