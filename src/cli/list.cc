// oomdoctor list: the ids of a kind, each with one line. oomdoctor schema is also here.
#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/estimate_words.h"
#include "cli/formats.h"
#include "cli/inputs.h"
#include "cli/knowledge.h"
#include "cli/model_config.h"
#include "cli/published_models.h"
#include "facts/gpu_models.h"
#include "formats/format_table.h"
#include "formats/user_formats.h"
#include "render/layout.h"
#include "report/escape.h"
#include "report/utf8.h"
#include "serialize/schema.h"

namespace oomdoctor::cli {
namespace {

struct ListRow {
  std::string id, description;
};

/// One entry of a list: an id and its description.
std::vector<ListRow> list_rows(const auto& rules) {
  std::vector<ListRow> rows;
  for (const auto& [id, rule] : rules) rows.push_back({id, rule.title});
  return rows;
}

std::vector<ListRow> fact_rows() {
  std::vector<ListRow> rows;
  for (const auto& spec : fact_specs())
    rows.push_back(
        {std::string(spec.name), std::string(spec.description) + " (" + std::string(unit_words(spec.unit)) + ")"});
  return rows;
}

std::vector<ListRow> model_rows() {
  std::vector<ListRow> rows;
  for (const PublishedModel& model : published_models())
    rows.push_back({model.name, model_words(interpret_config(model.config).shape)});
  return rows;
}

/// The GPUs of `estimate --card`, as people type them.
std::vector<ListRow> gpu_rows() {
  std::vector<ListRow> rows;
  for (const GpuModel& model : gpu_models())
    rows.push_back({short_gpu_name(model), fmt::format("{}, {:.2f} GiB", model.name, model.gibibytes)});
  return rows;
}

std::vector<ListRow> rows_for(const Arguments& arguments) {
  const std::string& kind = arguments.words.front();
  if (kind == "models") return model_rows();
  if (kind == "gpus") return gpu_rows();
  if (kind == "facts") return fact_rows();
  const RulePack rules = load_rules(arguments);
  if (kind == "causes") return list_rows(rules.causes());
  return kind == "fixes" ? list_rows(rules.fixes()) : list_rows(rules.myths());
}

std::string write_markdown(const std::vector<ListRow>& rows) {
  std::string text = "| id | says |\n|---|---|\n";
  for (const auto& row : rows) text += "| " + markdown_code(row.id) + " | " + markdown_inline(row.description) + " |\n";
  return text;
}

void add_rows(Page& page, const std::vector<ListRow>& rows) {
  int widest = 0;
  for (const auto& row : rows) widest = std::max(widest, count_columns(row.id));
  for (const auto& row : rows)
    page.text(page.paint.bold(pad(plain_line(row.id), std::min(widest, page.width() / 2))) + "  ",
              plain_line(row.description));
}

}  // namespace

RulePack load_rules(const Arguments& arguments) {
  RulePack pack = shipped_rules();
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
    case FactUnit::version_number:
      return "version";
  }
  return "";
}

std::vector<FormatInfo> load_formats(const Arguments& arguments) {
  UserFormats formats(all_parsers());
  for (const auto& file : find_format_files(arguments)) formats.add_file(file);
  return list_formats(formats.parsers());
}

int run_list(const Arguments& arguments) {
  const RenderOptions view = make_render_options(arguments);
  const bool markdown = arguments.value("format") == "markdown";
  Page page(view.width, Paint{view.color, view.ascii});
  if (arguments.words.front() == "formats") {
    const auto families = group_by_family(load_formats(arguments));
    if (markdown) return print(formats_page(families)), 0;
    add_formats(page, families);
  } else {
    const auto rows = rows_for(arguments);
    if (markdown) return print(write_markdown(rows)), 0;
    add_rows(page, rows);
  }
  print(page.str());
  return 0;
}

int run_schema(const Arguments& arguments) {
  const std::string& of = arguments.words.front();
  print(of == "partial"         ? partial_schema()
        : of == "jsonl"         ? jsonl_schema()
        : of == "own-formats"   ? own_formats_schema({list_units(), list_kinds(), shortest_anchor})
        : of == "comparison"    ? comparison_schema()
        : of == "estimate"      ? estimate_schema()
        : of == "survey"        ? survey_schema()
        : of == "survey-totals" ? survey_totals_schema()
                                : report_schema());
  return 0;
}

}  // namespace oomdoctor::cli
