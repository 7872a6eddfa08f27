// oomdoctor run: runs a command, and analyses what it left behind if it dies.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "cli/analysis.h"
#include "cli/ci_system.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/output_file.h"
#include "cli/shared_report.h"
#include "render/writer.h"
#include "run/supervisor.h"

namespace oomdoctor::cli {
namespace {

constexpr const char* default_folder = "oomdoctor-run";
constexpr const char* newest_link = "latest";  ///< in a folder of several runs
constexpr int most_runs = 10000;               ///< in one folder

/// The folder of this run, and the one around it that gets a link to it.
struct RunFolders {
  RunFolder folder;
  std::optional<RunFolder> around = {};
  std::string name = {};  ///< of the folder in the one around it
};

/// The first free name of `first`, `first`-2, …; several ranks may start at the same time.
RunFolder make_numbered_folder(const std::string& first, int from) {
  for (int i = from; i <= most_runs; ++i) {
    std::string path = i > 1 || from > 1 ? fmt::format("{}-{}", first, i) : first;
    if (auto folder = make_private_folder(path)) return {std::move(*folder), std::move(path)};
  }
  throw Error(fmt::format("there are too many folders {}-…", first), "", "remove some, or use --folder DIR");
}

/// A new folder: the one asked for; if that exists, a new one in it; without --folder the first free one of
/// oomdoctor-run, oomdoctor-run-2, …
RunFolders make_place(const Arguments& arguments) {
  auto asked = arguments.value("folder");
  if (!asked) return {make_numbered_folder(default_folder, 1)};
  while (asked->size() > 1 && asked->ends_with('/')) asked->pop_back();
  if (auto folder = make_private_folder(*asked)) return {{std::move(*folder), *asked}};
  RunFolders place{make_numbered_folder(*asked + "/run", 1), RunFolder(open_folder(*asked), *asked)};
  place.name = place.folder.path().substr(asked->size() + 1);
  return place;
}

/// Where the working directory takes no folder: a new one among the temporary files.
std::optional<RunFolders> make_temporary_place() {
  std::error_code error;
  std::string path = (std::filesystem::temp_directory_path(error) / "oomdoctor-run-XXXXXX").string();
  if (error || mkdtemp(path.data()) == nullptr) return std::nullopt;
  return RunFolders{{open_folder(path), path}};
}

/// The command counts more than its evidence, so it runs in any case.
std::optional<RunFolders> find_place(const Arguments& arguments) {
  try {
    return make_place(arguments);
  } catch (const Error& error) {
    print_note(error.what());
  }
  try {
    return make_temporary_place();
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// True if the command reached its end, or the user stopped it.
bool ended_well(const CommandEnd& ending) {
  constexpr int interrupted = 128 + SIGINT;
  return ending.signal == SIGINT || (ending.signal == 0 && (ending.status == 0 || ending.status == interrupted));
}

std::vector<LogSource> list_sources(const RunEvidence& evidence) {
  std::vector<LogSource> sources;
  for (const RunEvidence::Log& log : evidence.logs) sources.push_back({log.path, log.text});
  return sources;
}

/// Writes a file into the folder of the run, for its owner only, as the output is. What cannot be written is a note.
void write_report(const RunFolder& folder, const char* name, std::string_view text) {
  const Descriptor file = folder.create(name);
  if (file.is_open() && write_all(file.number(), text)) return;
  print_note(fmt::format("cannot write {}: {}", folder.path_of(name), std::strerror(errno)));
  if (file.is_open()) folder.remove(name);
}

/// Reports on standard error, because standard output is the command's, and into the folder.
void report_run(const Arguments& arguments, const RunFolders& place, const RunEvidence& evidence) {
  const Report whole = diagnose(list_sources(evidence), diagnose_options(arguments));
  RenderOptions view = make_render_options(arguments);
  if (arguments.value_or("color", "auto") == "auto") view.color = view.color && is_interactive();
  SharedReport report(whole, arguments, runs_in_ci());
  const Writer& terminal = *find_writer("terminal");
  print_error('\n' + terminal.write(report.of(terminal), view));
  view.color = view.quiet = false;
  view.verbose = true;
  for (const auto& [format, name] :
       {std::pair("terminal", "report.txt"), {"html", "report.html"}, {"json", "report.json"}}) {
    const Writer& writer = *find_writer(format);
    write_report(place.folder, name, writer.write(report.of(writer), view));
  }
  if (place.around) place.around->link(newest_link, place.name);
  const std::string_view incomplete = evidence.incomplete;
  print_note(fmt::format("the run's output, samples and reports are in {}/{}", place.folder.path(),
                         incomplete.empty() ? "" : fmt::format(", but output.log is incomplete: {}", incomplete)));
}

/// In a process of its own, so an error here is a sentence and nothing else.
void try_report(const Arguments& arguments, const RunFolders& place, const RunEvidence& evidence) {
  try {
    report_run(arguments, place, evidence);
  } catch (const Error& error) {
    print_note(error.what());
    throw;
  }
}

/// Ends as the command ended: with its status, or by its signal.
int end_alike(const CommandEnd& ending) {
  if (ending.signal == 0) return ending.status;
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);  // the command's core is the interesting one
  std::signal(ending.signal, SIG_DFL);
  sigset_t it;
  sigemptyset(&it);
  sigaddset(&it, ending.signal);
  kill(getpid(), ending.signal);
  sigprocmask(SIG_UNBLOCK, &it, nullptr);
  return 128 + ending.signal;  // a signal that does not end a program, or process 1 of a container
}

int run_unobserved(const std::vector<std::string>& words) {
  const StartFailure failure = become(words);
  print_note(failure.what());
  return failure.status;
}

}  // namespace

int run_run(const Arguments& arguments) {
  if (arguments.words.empty()) throw Error("run needs a command", "", "for example: oomdoctor run python train.py");
  diagnose_options(arguments);  // a mistyped option should not cost a run
  make_render_options(arguments);
  const std::optional<RunFolders> place = find_place(arguments);
  if (!place) {
    print_note("the command is not observed: no folder for its output can be made");
    return run_unobserved(arguments.words);
  }
  if (!arguments.has("quiet")) print_note(fmt::format("recording into {}/", place->folder.path()));
  const RunPlan plan{[&](const CommandEnd& ending) { return !ended_well(ending) || arguments.has("always"); },
                     [&](const RunEvidence& evidence) { try_report(arguments, *place, evidence); },
                     place->around ? std::vector{place->around->descriptor()} : std::vector<int>{}};
  try {
    const SupervisedEnd end = supervise(arguments.words, place->folder, plan);
    if (plan.wants_report(end.command) && !end.reported)
      print_note(fmt::format("the report could not be made; try: oomdoctor analyze {}", place->folder.path()));
    return end_alike(end.command);
  } catch (const StartFailure& error) {
    print_note(error.what());
    return error.status;
  } catch (const CannotObserve& error) {
    print_note(error.what());
  }
  return run_unobserved(arguments.words);
}

}  // namespace oomdoctor::cli
