// oomdoctor ci: prints the verdict, then writes every report that a CI job can use to the paths where the CI system
// expects it. A report that cannot be written is a note. The default exit status is 0, so that the job keeps its own
// result.
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <random>
#include <set>

#include "base/error.h"
#include "cli/analysis.h"
#include "cli/ci_system.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/inputs.h"
#include "cli/log_search.h"
#include "cli/neighbours.h"
#include "cli/output_file.h"
#include "cli/shared_report.h"
#include "render/writer.h"
#include "report/escape.h"

extern char** environ;

namespace oomdoctor::cli {
namespace {

constexpr const char* output_folder = "oomdoctor-out";
/// GitHub rejects a whole summary of more than 1 MiB, and Buildkite such an annotation. The limit is lower because
/// other steps may have written to the same summary.
constexpr std::size_t largest_summary = 900 * 1024;

/// The files are the same on every system. Their names are those in the systems' templates.
struct ReportFile {
  std::string_view writer;
  const char* name;
};
constexpr std::array<ReportFile, 7> files = {{{"terminal", "report.txt"},
                                              {"html", "report.html"},
                                              {"json", "report.json"},
                                              {"markdown", "report.md"},
                                              {"sarif", "oomdoctor.sarif"},
                                              {"junit", "junit.xml"},
                                              {"gitlab", "gl-code-quality.json"}}};

/// Runs one step of the command. If it fails, a note says so, and the next step follows. A reader that closes standard
/// output early does not want the rest of it.
void attempt(auto step) {
  try {
    step();
  } catch (const Error& error) {
    print_note(error.what());
  } catch (const BrokenPipe&) {
  }
}

/// The logs on the command line, or else the logs that find_logs() finds. In the second case, prints a note with their
/// names.
std::vector<LogSource> find_inputs(const Arguments& arguments, Options& options) {
  if (!arguments.words.empty()) return resolve_inputs(arguments.words, options, arguments.scope);
  const std::vector<std::string> found = find_logs();
  const std::string more = found.size() > 1 ? fmt::format(" and {} more", found.size() - 1) : "";
  print_note(fmt::format("no log given; reading {}{}", found.front(), more));
  return resolve_inputs(found, options, arguments.scope);
}

/// The report files.
class ReportFiles {
 public:
  /// Writes each file that can be written.
  void write(SharedReport& report, RenderOptions view) {
    bool has_folder = false;
    attempt([&] {
      make_folder(output_folder);
      has_folder = true;
    });
    if (!has_folder) return;
    view.color = view.quiet = false;
    view.verbose = true;
    for (const auto& file : files)
      attempt([&] {
        const Writer& writer = *find_writer(file.writer);
        write_file(fmt::format("{}/{}", output_folder, file.name), writer.write(report.of(writer), view));
        written_.insert(file.writer);
      });
  }

  /// "" if there is none.
  std::string find_path(std::string_view writer) const {
    for (const auto& file : files)
      if (file.writer == writer && written_.contains(writer)) return fmt::format("{}/{}", output_folder, file.name);
    return "";
  }

 private:
  std::set<std::string_view> written_;
};

/// The Markdown report, or a short reference to its file if the report is too long.
std::string write_summary(SharedReport& report, const ReportFiles& written) {
  const Writer& writer = *find_writer("markdown");
  std::string text = writer.write(report.of(writer), {});
  if (text.size() <= largest_summary) return text;
  const std::string path = written.find_path("markdown");
  return "The memory report is too long for this place" + (path.empty() ? "" : "; it is in " + path) + ".\n";
}

/// Writes outputs of the GitHub step. Each value ends with a random delimiter line, so that log text cannot forge an
/// output.
void set_outputs(const Report& report, const ReportFiles& written, const std::string& path) {
  std::random_device random;
  const std::string end = fmt::format("oomdoctor_{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
  const std::pair<const char*, std::string> outputs[] = {{"verdict", std::string(to_string(report.verdict.outcome))},
                                                         {"cause", report.verdict.cause},
                                                         {"retry", report.verdict.retry.decision},
                                                         {"sarif", written.find_path("sarif")},
                                                         {"html", written.find_path("html")}};
  std::string text;
  for (const auto& [name, value] : outputs) text += fmt::format("{}<<{}\n{}\n{}\n", name, end, plain_line(value), end);
  append_to_file(path, text);
}

void emit_github(SharedReport& report, const ReportFiles& written, const RenderOptions& view) {
  const Writer& writer = *find_writer("github");
  attempt([&] { print_commands(writer.write(report.of(writer), view)); });
  attempt([&] {
    if (const std::string path = environment("GITHUB_STEP_SUMMARY"); !path.empty())
      append_to_file(path, write_summary(report, written));
  });
  attempt([&] {
    if (const std::string path = environment("GITHUB_OUTPUT"); !path.empty())
      set_outputs(report.of(writer), written, path);
  });
}

/// Adds an annotation to the build with the agent's own program. Without that program there is no annotation, only a
/// note. The fixed context replaces the annotation of an earlier attempt.
void emit_buildkite(SharedReport& report, const ReportFiles& written, const Report& whole) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> text(std::tmpfile(), std::fclose);
  const std::string summary = write_summary(report, written);
  if (!text || std::fwrite(summary.data(), 1, summary.size(), text.get()) != summary.size() || std::fflush(text.get()))
    return;
  std::rewind(text.get());
  const Outcome outcome = whole.verdict.outcome;
  std::string words[] = {"buildkite-agent",
                         "annotate",
                         "--context",
                         "oomdoctor",
                         "--style",
                         outcome == Outcome::oom                                             ? "error"
                         : outcome == Outcome::no_oom || outcome == Outcome::ended_otherwise ? "info"
                                                                                             : "warning"};
  std::vector<char*> pointers;
  for (auto& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fileno(text.get()), 0);
  pid_t agent = 0;
  const int error = posix_spawnp(&agent, words[0].c_str(), &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  if (error == 0)
    while (waitpid(agent, &status, 0) < 0 && errno == EINTR) continue;
  if (error != 0 || status != 0) print_note("buildkite-agent could not add the annotation");
}

}  // namespace

int run_ci(const Arguments& arguments) {
  RenderOptions view = make_render_options(arguments);
  const CiSystem system = ci_system();
  if (arguments.value_or("color", "auto") == "auto" && shows_colour(system))
    view.color = environment("NO_COLOR").empty();
  Options options = diagnose_options(arguments);
  const std::vector<LogSource> logs = find_inputs(arguments, options);
  Report whole = diagnose(logs, options);
  add_neighbours(whole);
  SharedReport report(whole, arguments, true);
  const Writer& terminal = *find_writer("terminal");
  attempt([&] { print(terminal.write(report.of(terminal), view)); });
  ReportFiles written;
  written.write(report, view);
  if (system == CiSystem::github) emit_github(report, written, view);
  if (system == CiSystem::buildkite) emit_buildkite(report, written, whole);
  return exit_status(whole, arguments.value_or("fail-on", "never"));
}

}  // namespace oomdoctor::cli
