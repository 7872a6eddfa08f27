// oomdoctor list: the ids of a kind, each with one line. oomdoctor schema stands here too: it prints what is known by
// heart.
#include <algorithm>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/knowledge.h"
#include "parse/parser.h"
#include "report/layout.h"
#include "report/schema.h"
#include "report/utf8.h"

namespace oomdoctor::cli {
namespace {

struct Row {
  std::string id, says;
};

std::vector<Row> rows_of(const auto& rules) {
  std::vector<Row> rows;
  for (const auto& [id, rule] : rules) rows.push_back({id, rule.title});
  return rows;
}

std::vector<Row> fact_rows() {
  std::vector<Row> rows;
  for (const auto& spec : fact_specs())
    rows.push_back({std::string(spec.name), std::string(spec.says) + " (" + std::string(unit_words(spec.unit)) + ")"});
  return rows;
}

std::vector<Row> format_rows() {
  std::vector<Row> rows;
  for (const auto& format : list_formats(all_parsers())) rows.push_back({format.name, format.says});
  return rows;
}

std::vector<Row> rows_for(const Arguments& arguments) {
  const std::string& kind = arguments.words.front();
  if (kind == "facts") return fact_rows();
  if (kind == "formats") return format_rows();
  const RulePack rules = rules_of(arguments);
  if (kind == "causes") return rows_of(rules.causes());
  return kind == "fixes" ? rows_of(rules.fixes()) : rows_of(rules.myths());
}

}  // namespace

RulePack rules_of(const Arguments& arguments) {
  RulePack pack = RulePack::load(shipped_rules());
  if (const auto folder = arguments.value("rules")) pack.add_folder(*folder);
  return pack;
}

std::string_view unit_words(FactUnit unit) {
  switch (unit) {
    case FactUnit::truth:
      return "yes or no";
    case FactUnit::bytes:
      return "bytes";
    case FactUnit::ratio:
      return "share";
    case FactUnit::count:
      return "number";
    case FactUnit::text:
      return "text";
    case FactUnit::steps:
      return "steps";
    case FactUnit::bytes_per_step:
      return "bytes per step";
    case FactUnit::version:
      return "version";
  }
  return "";
}

int run_list(const Arguments& arguments) {
  const TerminalView view = view_of(arguments);
  const auto rows = rows_for(arguments);
  int widest = 0;
  for (const auto& row : rows) widest = std::max(widest, columns_of(row.id));
  Page page(view.width, Paint{view.color});
  for (const auto& row : rows)
    page.text(page.paint.bold(pad(row.id, std::min(widest, view.width / 2))) + "  ", row.says);
  print(page.str());
  return 0;
}

int run_schema(const Arguments&) {
  print(report_schema());
  return 0;
}

}  // namespace oomdoctor::cli
