#include "cli/analysis.h"

#include <fmt/format.h>

#include <charconv>

#include "base/bytes.h"
#include "base/error.h"
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
  constexpr int most = 1024;
  int jobs = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), jobs);
  if (error != std::errc{} || end != text.data() + text.size() || jobs < 1 || jobs > most)
    throw Error(fmt::format("invalid --jobs '{}'", text), "", fmt::format("give a number from 1 to {}", most));
  return static_cast<std::size_t>(jobs);
}

/// Before anything is read, so that a typing error is not answered with a long analysis of nothing.
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

/// 2 for a failure that ended the work, 1 for a risk, signs or a failure that was survived, 0 for nothing.
int level_of(std::string_view outcome) {
  if (outcome == "oom") return 2;
  return outcome == "handled_oom" || outcome == "at_risk" || outcome == "possible_oom" ? 1 : 0;
}

}  // namespace

Options diagnose_options(const Arguments& arguments) {
  Options options;
  if (const auto size = arguments.value("capacity")) options.capacity_bytes = read_capacity(*size);
  options.rules_folder = arguments.value_or("rules", "");
  options.format_files = format_files_of(arguments);
  options.why_not = arguments.value_or("why-not", "");
  options.trace = arguments.has("trace");
  if (const auto jobs = arguments.value("jobs")) options.jobs = read_jobs(*jobs);
  if (!options.why_not.empty()) check_cause(options.why_not, options.rules_folder);
  return options;
}

int exit_status(const Report& report, const std::string& fail_on) {
  constexpr int nothing_read = 2;
  if (fail_on == "never") return 0;
  if (report.verdict.outcome == "unrecognised") return nothing_read;
  return level_of(report.verdict.outcome) >= (fail_on == "warning" ? 1 : 2) ? 1 : 0;
}

}  // namespace oomdoctor::cli
