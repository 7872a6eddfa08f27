#include "cli/analysis.h"

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/parse_whole.h"
#include "cli/inputs.h"
#include "judge/rule_pack.h"

namespace oomdoctor::cli {
namespace {

i64 read_capacity(const std::string& text) {
  const auto digits = text.find_first_not_of("0123456789.,");
  const auto unit = text.find_first_not_of(' ', digits == std::string::npos ? text.size() : digits);
  const auto size = unit == std::string::npos ? std::nullopt : read_bytes(text.substr(0, digits), text.substr(unit));
  if (!size || size->count <= 0)
    throw Error(fmt::format("invalid --capacity '{}'", text), "",
                "give a number with a unit, for example 80GB or 23.69GiB");
  return size->count;
}

std::size_t read_jobs(const std::string& text) {
  constexpr int max_jobs = 1024;
  const auto jobs = parse_whole<int>(text);
  if (!jobs || *jobs < 1 || *jobs > max_jobs)
    throw Error(fmt::format("invalid --jobs '{}'", text), "", fmt::format("give a number from 1 to {}", max_jobs));
  return static_cast<std::size_t>(*jobs);
}

/// Checks the id before any log is read, so that a typing error fails at once and not after a long analysis.
void check_cause(const std::string& id, const std::string& rules_folder) {
  RulePack pack = shipped_rules();
  if (!rules_folder.empty()) pack.add_folder(rules_folder);
  std::vector<std::string> ids;
  for (const auto& [known, rule] : pack.causes()) {
    if (known == id) return;
    ids.push_back(known);
  }
  const std::string near = suggestion(id, ids);
  throw Error(fmt::format("unknown cause '{}'", id), "", near.empty() ? "oomdoctor list causes shows all" : near);
}

/// The severity of an outcome. 2: a failure ended the run. 1: a risk, a possible failure or a survived one. 0: neither.
int level_of(Outcome outcome) {
  if (outcome == Outcome::oom) return 2;
  return outcome >= Outcome::handled_oom ? 1 : 0;
}

}  // namespace

Options diagnose_options(const Arguments& arguments) {
  Options options;
  if (const auto size = arguments.value("capacity")) options.capacity_bytes = read_capacity(*size);
  options.rules_folder = arguments.value_or("rules", "");
  options.format_files = find_format_files(arguments);
  options.why_not = arguments.value_or("why-not", "");
  options.trace = arguments.has("trace");
  if (const auto jobs = arguments.value("jobs")) options.jobs = read_jobs(*jobs);
  if (!options.why_not.empty()) check_cause(options.why_not, options.rules_folder);
  return options;
}

int exit_status(const Report& report, const std::string& fail_on) {
  constexpr int nothing_readable = 2;
  if (fail_on == "never") return 0;
  const bool text = report.coverage.lines > 0 && report.lost.empty();
  if (report.verdict.outcome == Outcome::unrecognised && !text) return nothing_readable;
  return level_of(report.verdict.outcome) >= (fail_on == "warning" ? 1 : 2) ? 1 : 0;
}

}  // namespace oomdoctor::cli
