#include "cli/console.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <set>

#include "base/ascii.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/parse_whole.h"
#include "cli/ci_system.h"
#include "redact/redact.h"
#include "report/escape.h"

namespace oomdoctor::cli {
namespace {

constexpr int default_width = 100, narrowest = 40, widest = 400;
/// Longer lines are hard to read, however wide the window is. --width may set up to `widest`.
constexpr int widest_default = 120;

/// Takes the first of: --width, COLUMNS, the terminal's width, the default.
int choose_width(const Arguments& arguments) {
  if (const auto asked = arguments.value("width")) {
    const auto width = parse_whole<int>(*asked);
    if (!width || *width < narrowest || *width > widest)
      throw Error(fmt::format("invalid --width '{}'", *asked), "",
                  fmt::format("give a number from {} to {}", narrowest, widest));
    return *width;
  }
  auto width = parse_whole<int>(environment("COLUMNS"));
  if (!width || *width <= 0) {
    winsize size{};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) width = size.ws_col;
  }
  if (!width || *width <= 0) return default_width;
  return std::clamp(*width, narrowest, widest_default);
}

/// Takes the first of: --color, NO_COLOR and CLICOLOR_FORCE, whether standard output is a terminal.
bool choose_colour(const Arguments& arguments) {
  const std::string asked = arguments.value_or("color", "auto");
  if (asked != "auto") return asked == "always";
  const std::string forced = environment("CLICOLOR_FORCE");
  if (environment("NO_COLOR").empty() && !forced.empty() && forced != "0") return true;
  return environment("NO_COLOR").empty() && environment("TERM") != "dumb" && isatty(STDOUT_FILENO) == 1;
}

/// Whether the locale names a character set other than UTF-8. Containers and CI jobs often set no locale and show
/// UTF-8, so the default is false.
bool is_ascii_only() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string locale = lower(environment(name));
    if (locale.empty()) continue;
    return locale.find("utf-8") == locale.npos && locale.find("utf8") == locale.npos;
  }
  return false;
}

/// Several stages of a command may produce the same note.
std::set<std::string, std::less<>>& printed_notes() {
  static std::set<std::string, std::less<>> printed;
  return printed;
}

}  // namespace

bool is_interactive() { return isatty(STDERR_FILENO) == 1; }

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string output_text(std::string_view text) {
  return runs_in_ci() ? without_workflow_commands(text) : std::string(text);
}

std::string error_text(std::string_view lines) { return output_text(without_secrets(lines)); }

std::string note_text(std::string_view note) {
  return printed_notes().emplace(note).second ? error_text(fmt::format("oomdoctor: {}\n", plain_line(note))) : "";
}

void forget_notes() { printed_notes().clear(); }

void print(std::string_view text) { print_commands(output_text(text)); }

void print_commands(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = uninterrupted([&] { return write(STDOUT_FILENO, text.data(), text.size()); });
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {  // the other end of a pipe or socket decides whether this one waits
      pollfd output{STDOUT_FILENO, POLLOUT, 0};
      poll(&output, 1, -1);
    } else if (errno == EPIPE) {
      throw BrokenPipe{};
    } else {
      throw Error(fmt::format("cannot write to standard output: {}", std::strerror(errno)));
    }
  }
}

void print_error(std::string_view lines) { write_all(STDERR_FILENO, error_text(lines)); }

void print_note(std::string_view note) { write_all(STDERR_FILENO, note_text(note)); }

RenderOptions make_render_options(const Arguments& arguments) {
  std::error_code unknown;
  return {choose_width(arguments),  choose_colour(arguments), is_ascii_only(),
          arguments.has("verbose"), arguments.has("quiet"),   std::filesystem::current_path(unknown).string()};
}

}  // namespace oomdoctor::cli
