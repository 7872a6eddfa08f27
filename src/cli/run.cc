// oomdoctor run: runs a command, and analyses what it left behind if it dies.
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "cli/analysis.h"
#include "cli/ci_system.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/inputs.h"
#include "cli/output_file.h"
#include "cli/shared_report.h"
#include "render/writer.h"
#include "run/supervisor.h"

namespace oomdoctor::cli {
namespace {

constexpr const char* default_folder = "oomdoctor-run";

/// A new folder: the one asked for, or the first free one of oomdoctor-run, oomdoctor-run-2, …; several ranks may start
/// at the same time.
std::string make_run_folder(const Arguments& arguments) {
  constexpr int most = 10000;
  const auto asked = arguments.value("folder");
  if (asked) {
    make_folder(*asked);
    return *asked;
  }
  std::error_code error;
  for (int i = 1; i <= most; ++i) {
    const std::string folder = default_folder + (i > 1 ? "-" + std::to_string(i) : std::string());
    if (std::filesystem::create_directory(folder, error)) return folder;
    if (error) throw Error("cannot create the folder " + folder + ": " + error.message(), "", "use --folder DIR");
  }
  throw Error("there are too many folders oomdoctor-run-…", "", "remove some, or use --folder DIR");
}

void remove_run(const RunFiles& files, const std::string& folder) {
  std::error_code error;
  for (const std::string& file : {files.output, files.samples, files.gpus}) std::filesystem::remove(file, error);
  std::filesystem::remove(folder, error);  // not if there is anything else in it
}

/// True if the command reached its end, or the user stopped it.
bool ended_well(const CommandEnd& ending) {
  constexpr int interrupted = 128 + SIGINT;
  return ending.signal == SIGINT || (ending.signal == 0 && (ending.status == 0 || ending.status == interrupted));
}

/// Reports on standard error, because standard output is the command's, and into the folder.
void report_run(const Arguments& arguments, const std::string& folder, const RunFiles& files) {
  std::vector<std::string> logs;
  std::error_code error;
  for (const std::string& file : {files.output, files.samples, files.gpus})
    if (std::filesystem::exists(file, error)) logs.push_back(file);
  Options options = diagnose_options(arguments);
  const std::vector<LogSource> inputs = resolve_inputs(logs, options);
  const Report whole = diagnose(inputs, options);
  RenderOptions view = make_render_options(arguments);
  if (arguments.value_or("color", "auto") == "auto") view.color = view.color && is_interactive();
  SharedReport report(whole, arguments, runs_in_ci());
  const Writer& terminal = *find_writer("terminal");
  print_error('\n' + terminal.write(report.of(terminal), view));
  view.color = view.quiet = false;
  view.verbose = true;
  for (const auto& [format, name] : {std::pair("terminal", "report.txt"), {"html", "report.html"}, {"json", "report.json"}}) {
    const Writer& writer = *find_writer(format);
    write_file(folder + '/' + name, writer.write(report.of(writer), view));
  }
  print_note("the run's output, samples and reports are in " + folder + '/');
}

/// Ends as the command ended: with its status, or by its signal.
int end_alike(const CommandEnd& ending) {
  if (ending.signal == 0) return ending.status;
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);  // the command's core is the interesting one
  std::signal(ending.signal, SIG_DFL);
  kill(getpid(), ending.signal);
  return 128 + ending.signal;  // a signal that does not end a program
}

}  // namespace

int run_run(const Arguments& arguments) {
  if (arguments.words.empty()) throw Error("run needs a command", "", "for example: oomdoctor run -- python train.py");
  diagnose_options(arguments);  // a mistyped option should not cost a run
  make_render_options(arguments);
  const std::string folder = make_run_folder(arguments);
  const RunFiles files = files_of_run(folder);
  CommandEnd ending;
  try {
    ending = supervise(arguments.words, files);
  } catch (const StartFailure& error) {
    remove_run(files, folder);
    print_note(error.what());
    return error.status;
  }
  if (ended_well(ending) && !arguments.has("always")) {
    remove_run(files, folder);
    return end_alike(ending);
  }
  try {
    report_run(arguments, folder, files);
  } catch (const Error& error) {  // the command's end counts more
    print_note(error.what());
  }
  return end_alike(ending);
}

}  // namespace oomdoctor::cli
