// oomdoctor snapshot: allocator snapshots by themselves.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "cli/analysis.h"
#include "cli/ci_system.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/inputs.h"
#include "cli/shared_report.h"
#include "render/writer.h"

namespace oomdoctor::cli {
namespace {

/// None of the files could be read as a snapshot: the first note says why not.
[[noreturn]] void refuse(const Report& report) {
  for (const ReportNote& note : report.notes)
    if (!note.code.empty()) throw Error(note.text);
  throw Error(fmt::format("{} is not an allocator snapshot", report.inputs.front().path), "",
              "oomdoctor analyze reads logs");
}

}  // namespace

int run_snapshot(const Arguments& arguments) {
  if (arguments.words.empty())
    throw Error("no snapshot given", "",
                "pass a file that torch.cuda.memory._dump_snapshot() wrote: oomdoctor snapshot memory_snapshot.pickle");
  const RenderOptions view = make_render_options(arguments);
  const std::string format = arguments.value_or("format", "terminal");
  const auto writer = std::find_if(snapshot_writers().begin(), snapshot_writers().end(),
                                   [&](const Writer& one) { return one.name == format; });
  Options options = diagnose_options(arguments);
  const auto inputs = resolve_inputs(arguments.words, options, arguments.scope);
  const Report report = diagnose(inputs, options);
  if (report.snapshots.empty()) refuse(report);
  print(writer->write(SharedReport(report, arguments, runs_in_ci()).of(*writer), view));
  return 0;
}

}  // namespace oomdoctor::cli
