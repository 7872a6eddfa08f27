// oomdoctor explain: one cause, fix, myth, fact or format with all that its rule or reader says.
#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/error.h"
#include "cli/analysis.h"
#include "cli/ci_system.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/formats.h"
#include "cli/inputs.h"
#include "cli/knowledge.h"
#include "cli/shared_report.h"
#include "report/grades.h"
#include "report/layout.h"
#include "report/sink.h"
#include "report/terminal_sections.h"
#include "report/words.h"

namespace oomdoctor::cli {
namespace {

void add_title(Page& page, std::string_view kind, const std::string& id, const std::string& title,
               const std::string& source = {}) {
  page.text("", page.paint.bold(plain_line(title)));
  page.text("",
            page.paint.dim(plain_line(fmt::format("{} {}{}", kind, id, source.empty() ? "" : " (" + source + ")"))));
}

void add_part(Page& page, std::string_view name, const std::string& text) {
  if (!text.empty()) page.text(fmt::format("  {:<9} ", name), plain_line(text));
}

/// Text that a rule file wraps as it likes is filled anew; a blank line parts paragraphs.
void add_prose(Page& page, std::string_view text) {
  while (!text.empty()) {
    const auto end = std::min(text.find("\n\n"), text.size());
    if (const std::string paragraph = plain_line(text.substr(0, end));
        paragraph.find_first_not_of(' ') != std::string::npos) {
      page.blank();
      page.text("", paragraph.substr(paragraph.find_first_not_of(' ')));
    }
    text.remove_prefix(std::min(end + 2, text.size()));
  }
}

void explain_cause(Page& page, const RulePack& rules, const CauseRule& cause) {
  add_title(page, "cause", cause.id, cause.title, cause.source);
  add_prose(page, cause.explain.text());
  page.heading("Signs");
  page.text("  ",
            page.paint.dim(fmt::format("before any sign: {:.1f}% of failures. A weight of +1 makes the cause 2.7 times "
                                       "as likely, of -1 as much less.",
                                       100 * cause.prior)));
  for (const auto& sign : cause.signs) {
    page.text(fmt::format("  {:>+5.1f}  ", sign.weight),
              plain_line(sign.why.text()) + (sign.definitional ? " (this proves it)" : ""));
    page.text("         ", page.paint.dim("if " + plain_line(sign.condition.text())));
  }
  for (const auto& ceiling : cause.ceilings) {
    page.text("  ", fmt::format("at most {:.0f}%: {}", 100 * ceiling.at_most, plain_line(ceiling.why)));
    page.text("         ", page.paint.dim("if " + plain_line(ceiling.condition.text())));
  }
  if (cause.possible) {
    page.text("  ", "ruled out: " + plain_line(cause.impossible));
    page.text("         ", page.paint.dim("unless " + plain_line(cause.possible->text())));
  }
  page.heading("Fixes");
  bool any = false;
  for (const auto& [id, fix] : rules.fixes()) {
    if (std::find(fix.causes.begin(), fix.causes.end(), cause.id) == fix.causes.end()) continue;
    page.text(fmt::format("  {}  ", page.paint.bold(plain_line(id))), plain_line(fix.title));
    any = true;
  }
  if (!any) page.text("  ", "None: " + plain_line(cause.no_fix));
}

void explain_fix(Page& page, const FixRule& fix) {
  add_title(page, "fix", fix.id, fix.title, fix.source);
  page.blank();
  add_part(page, "for", fmt::format("{}", fmt::join(fix.causes, ", ")));
  add_part(page, "when", fix.when.text());
  add_part(page, "held back", fix.held_back.text());
  if (fix.already) add_part(page, "done if", fix.already->text());
  add_part(page, "saves", !fix.saves_formula.empty() || !fix.saves ? fix.saves_formula : fix.saves->text());
  if (fix.saves && !fix.saves_formula.empty()) add_part(page, "computed", fix.saves->text());
  add_part(page, "why", fix.why.text());
  add_part(page, "cost", cost_text(fix.cost));
  add_part(page, "risk", risk_text(fix.risk));
  add_part(page, "not with", fmt::format("{}", fmt::join(fix.not_with, ", ")));
  add_part(page, "worked if", fix.verify);
  if (!fix.settings.empty()) page.heading("Settings");
  for (const auto& setting : fix.settings) {
    page.text("  ", plain_line(setting.scope) +
                        (setting.when ? page.paint.dim("  if " + plain_line(setting.when->text())) : ""));
    page.lines(terminal::command_rows(page, setting.text.text(), 4));
  }
}

void explain_myth(Page& page, const MythRule& myth) {
  add_title(page, "myth", myth.id, myth.title, myth.source);
  page.blank();
  add_part(page, "why not", myth.because.text());
  add_part(page, "when", myth.when.text());
}

void explain_fact(Page& page, const FactSpec& fact) {
  add_title(page, "fact", std::string(fact.name), std::string(fact.says));
  page.blank();
  add_part(page, "unit", std::string(unit_words(fact.unit)));
  add_part(page, "computed", std::string(formula_of(fact.name)));
  add_part(page, "get it by", std::string(fact.how_to_get));
}

void explain_format(Page& page, const FormatInfo& format) {
  add_title(page, "format", format.name, format.title);
  page.blank();
  add_part(page, "kind", format.kind);
  add_part(page, "unit", format.unit);
  add_part(page, "from", format.source);
  page.heading("Example");
  page.text("  ", plain_block(format.example));
}

/// "megatron": all formats whose names begin so. False when there is none.
bool explain_family(Page& page, const std::vector<FormatInfo>& formats, const std::string& family) {
  std::vector<FormatInfo> own;
  for (const FormatInfo& format : formats)
    if (format.name.starts_with(family + "/")) own.push_back(format);
  if (!own.empty()) add_formats(page, families_of(own));
  return !own.empty();
}

/// False when no table has the id. Ids of causes use "_" and those of fixes "-", facts have a dot and formats a slash:
/// they do not collide in practice.
bool explain(Page& page, const RulePack& rules, const std::vector<FormatInfo>& formats, const std::string& id) {
  if (const auto cause = rules.causes().find(id); cause != rules.causes().end())
    explain_cause(page, rules, cause->second);
  else if (const auto fix = rules.fixes().find(id); fix != rules.fixes().end())
    explain_fix(page, fix->second);
  else if (const auto myth = rules.myths().find(id); myth != rules.myths().end())
    explain_myth(page, myth->second);
  else if (const FactSpec* fact = find_fact_spec(id))
    explain_fact(page, *fact);
  else {
    const auto format = std::find_if(formats.begin(), formats.end(), [&](const auto& f) { return f.name == id; });
    if (format == formats.end()) return explain_family(page, formats, id);
    explain_format(page, *format);
  }
  return true;
}

std::string sizes_of(const ReportFix& fix) {
  if (!fix.saves_high_bytes) return "";
  return fmt::format("{} to {}", bytes_text(fix.saves_low_bytes.value_or(0)), bytes_text(*fix.saves_high_bytes));
}

/// What the log makes of the thing: the value of a fact, the signs of a cause, the saving of a fix.
void add_numbers(Page& page, const Report& report, const std::string& id) {
  page.heading("In " + plain_line(report.inputs.front().path) + (report.inputs.size() > 1 ? ", …" : ""));
  const std::size_t before = page.str().size();
  for (const std::string& line : report.trace)
    if (line.starts_with(id + " ")) page.text("  ", plain_line(line));
  if (report.why_not) {
    page.text("  ", percent_text(report.why_not->probability));
    for (const auto& [word, reasons] :
         {std::pair{"for it", &report.why_not->because}, {"but", &report.why_not->against}})
      for (const auto& because : *reasons) page.text(fmt::format("  {:<7} ", word), plain_line(because.text));
  }
  for (const ReportFix& fix : report.fixes)
    if (fix.id == id) {
      add_part(page, "saves", sizes_of(fix));
      add_part(page, "why", fix.why);
    }
  for (const HeldBack& held : report.held_back)
    if (held.id == id) add_part(page, "held back", held.because);
  if (page.str().size() == before) page.text("  ", "It says nothing about that.");
}

std::vector<std::string> all_ids(const RulePack& rules, const std::vector<FormatInfo>& formats) {
  std::vector<std::string> ids;
  for (const auto& [id, rule] : rules.causes()) ids.push_back(id);
  for (const auto& [id, rule] : rules.fixes()) ids.push_back(id);
  for (const auto& [id, rule] : rules.myths()) ids.push_back(id);
  for (const auto& spec : fact_specs()) ids.emplace_back(spec.name);
  for (const auto& format : formats) ids.push_back(format.name);
  return ids;
}

}  // namespace

int run_explain(const Arguments& arguments) {
  if (arguments.words.empty())
    throw Error("explain needs an id, and optionally a log: oomdoctor explain leak train.log", "",
                "oomdoctor list causes shows ids");
  const TerminalView view = view_of(arguments);
  const RulePack rules = rules_of(arguments);
  const std::vector<FormatInfo> formats = formats_of(arguments);
  const std::string& id = arguments.words.front();
  Page page(view.width, Paint{view.color});
  if (!explain(page, rules, formats, id)) {
    const std::string near = suggestion(id, all_ids(rules, formats));
    throw Error(fmt::format("unknown id '{}': no cause, fix, myth, fact or format has it", id), "",
                near.empty() ? "oomdoctor list causes|fixes|myths|facts|formats shows all ids" : near);
  }
  if (arguments.words.size() > 1) {
    Options options = diagnose_options(arguments);
    options.trace = true;
    if (rules.causes().contains(id)) options.why_not = id;
    const Report report = diagnose(inputs_of({arguments.words.begin() + 1, arguments.words.end()}), options);
    add_numbers(page, SharedReport(report, arguments, runs_in_ci()).of(*find_writer("terminal")), id);
  }
  print(page.str());
  return 0;
}

}  // namespace oomdoctor::cli
