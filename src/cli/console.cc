#include "cli/console.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>

#include "base/error.h"
#include "cli/ci_system.h"
#include "report/redact.h"
#include "report/sink.h"

namespace oomdoctor::cli {
namespace {

constexpr int default_width = 100, narrowest = 40, widest = 400;
/// Lines longer than this are hard to read, however wide the window is; --width may ask for more.
constexpr int widest_by_itself = 120;

std::optional<int> number_in(const std::string& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// --width, then COLUMNS, then the terminal, then 100.
int width_of(const Arguments& arguments) {
  if (const auto asked = arguments.value("width")) {
    const auto width = number_in(*asked);
    if (!width || *width < narrowest || *width > widest)
      throw Error(fmt::format("--width cannot be '{}'", *asked), "",
                  fmt::format("it is a number from {} to {}", narrowest, widest));
    return *width;
  }
  auto width = number_in(environment("COLUMNS"));
  if (!width || *width <= 0) {
    winsize size{};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) width = size.ws_col;
  }
  if (!width || *width <= 0) return default_width;
  return std::clamp(*width, narrowest, widest_by_itself);
}

/// --color, then NO_COLOR, then whether somebody looks.
bool colour_of(const Arguments& arguments) {
  const std::string asked = arguments.value_or("color", "auto");
  if (asked != "auto") return asked == "always";
  return environment("NO_COLOR").empty() && environment("TERM") != "dumb" && isatty(STDOUT_FILENO) == 1;
}

/// What errno says.
[[noreturn]] void refuse(const std::filesystem::path& path) {
  throw Error(fmt::format("cannot write {}: {}", path.string(), errno != 0 ? std::strerror(errno) : "unknown reason"));
}

/// False when it cannot; errno says why.
bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

mode_t usual_permissions() {
  const mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

/// Writes beside the file and renames. False, with nothing done, where that cannot be, or would take more than the text
/// away: a link, a second name, another owner.
bool replaced(const std::filesystem::path& path, std::string_view text) {
  struct stat old {};
  const bool exists = lstat(path.c_str(), &old) == 0;
  if (exists &&
      !(S_ISREG(old.st_mode) && old.st_nlink == 1 && old.st_uid == geteuid() && access(path.c_str(), W_OK) == 0))
    return false;
  std::string beside = path.string() + ".XXXXXX";
  const int file = mkostemp(beside.data(), O_CLOEXEC);
  if (file < 0) return false;
  const bool permitted = fchmod(file, exists ? old.st_mode & 07777 : usual_permissions()) == 0;
  int failure = write_all(file, text) ? 0 : errno;
  if (close(file) != 0 && failure == 0) failure = errno;  // some file systems say only here that they are full
  if (failure == 0 && permitted && std::rename(beside.c_str(), path.c_str()) == 0) return true;
  unlink(beside.c_str());
  if (failure == 0) return false;
  errno = failure;
  refuse(path);
}

}  // namespace

bool is_interactive() { return isatty(STDERR_FILENO) == 1; }

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

void print(std::string_view text) {
  print_commands(runs_in_ci() ? without_workflow_commands(text) : std::string(text));
}

void print_commands(std::string_view text) {
  if (write_all(STDOUT_FILENO, text)) return;
  if (errno == EPIPE) throw BrokenPipe{};
  throw Error(fmt::format("cannot write to standard output: {}", std::strerror(errno)));
}

void print_error(std::string_view lines) {
  const std::string clean = without_secrets(lines);
  write_all(STDERR_FILENO, runs_in_ci() ? without_workflow_commands(clean) : clean);
}

void print_note(std::string_view note) { print_error(fmt::format("oomdoctor: {}\n", plain_line(note))); }

void write_file(const std::filesystem::path& path, std::string_view text, bool append) {
  if (!append && replaced(path, text)) return;
  errno = 0;
  std::ofstream file(path, std::ios::binary | (append ? std::ios::app : std::ios::trunc));
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (!file) refuse(path);
}

TerminalView view_of(const Arguments& arguments) {
  std::error_code unknown;
  return {width_of(arguments), colour_of(arguments), arguments.has("verbose"), arguments.has("quiet"),
          std::filesystem::current_path(unknown).string()};
}

}  // namespace oomdoctor::cli
