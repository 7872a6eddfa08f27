// oomdoctor compare: reads a good and a bad run, and reports which memory grew.
#include <fmt/format.h>

#include "base/error.h"
#include "cli/analysis.h"
#include "cli/ci_system.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/inputs.h"
#include "cli/shared_report.h"
#include "render/screens.h"
#include "serialize/json.h"

namespace oomdoctor::cli {
namespace {

/// The limits of --fail-if. Throws Error for an invalid one.
std::vector<GrowthLimit> parse_limits(const Arguments& arguments) {
  std::vector<GrowthLimit> limits;
  for (const std::string& text : arguments.all("fail-if")) {
    const auto limit = read_growth_limit(text);
    if (!limit)
      throw Error(fmt::format("invalid --fail-if '{}'", text), "",
                  "use peak, steady or slope with a limit, for example peak+5% or steady+500MiB");
    limits.push_back(*limit);
  }
  return limits;
}

std::string write_comparison(const Comparison& comparison, const std::string& format, const RenderOptions& view) {
  if (format == "json") return comparison_json(comparison);
  if (format == "agent") return comparison_agent(comparison);
  return format == "markdown" ? comparison_markdown(comparison) : comparison_screen(comparison, view);
}

/// The report of one run, with the redaction that the output format requires.
Report shared_run(const std::string& word, const Arguments& arguments, Options options) {
  const auto logs = resolve_inputs({word}, options, arguments.scope);
  const Report report = diagnose(logs, options);
  return SharedReport(report, arguments, runs_in_ci()).of(*find_writer(arguments.value_or("format", "terminal")));
}

}  // namespace

int run_compare(const Arguments& arguments) {
  const RenderOptions view = make_render_options(arguments);
  const auto limits = parse_limits(arguments);
  if (arguments.words.size() != 2)
    throw Error(fmt::format("compare takes two runs, and {} {} named", arguments.words.size(),
                            arguments.words.size() == 1 ? "is" : "are"),
                "", "name a good one and a bad one: oomdoctor compare good.log bad.log");
  if (arguments.words[0] == "-" && arguments.words[1] == "-")
    throw Error("standard input can be only one of the two runs");
  const Options options = diagnose_options(arguments);
  const Report good = shared_run(arguments.words[0], arguments, options);
  const Report bad = shared_run(arguments.words[1], arguments, options);
  Comparison comparison = compare(good, bad);
  for (const GrowthLimit& limit : limits) check_limit(comparison, limit);
  print(write_comparison(comparison, arguments.value_or("format", "terminal"), view));
  if (limits.empty()) return 0;
  bool fails = only_bad_failed(comparison);
  for (const CheckedLimit& limit : comparison.limits) fails = fails || !limit.beyond.empty();
  if (fails) return 1;
  for (const CheckedLimit& limit : comparison.limits)
    if (!limit.told)
      throw Error(fmt::format("cannot check --fail-if {}: the runs have no series in common for it", limit.text), "",
                  "--format json shows the series of each run");
  return 0;
}

}  // namespace oomdoctor::cli
