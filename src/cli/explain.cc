// oomdoctor explain: one cause, fix, myth, fact or format, with the full text of its rule or parser; or the verdict
// without a cause.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/ascii.h"
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
#include "judge/causes.h"
#include "judge/rule_pack.h"
#include "render/layout.h"
#include "render/terminal_sections.h"
#include "report/advice_words.h"
#include "report/escape.h"
#include "report/utf8.h"
#include "report/words.h"

namespace oomdoctor::cli {
namespace {

constexpr std::string_view undetermined = "undetermined";  // what JSON prints for unclear_id

void add_title(Page& page, std::string_view kind, const std::string& id, const std::string& title) {
  page.text("", page.paint.bold(plain_line(title)));
  page.text("", page.paint.dim(plain_line(fmt::format("{} {}", kind, id))));
}

void add_part(Page& page, std::string_view name, const std::string& text) {
  if (!text.empty()) page.text(fmt::format("  {:<10} ", name), plain_line(text));
}

/// Fills text anew, because rule files wrap it anywhere; a blank line separates paragraphs.
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

void add_list(Page& page, std::string_view title, const std::vector<std::string>& texts) {
  if (!texts.empty()) page.heading(title);
  for (const std::string& text : texts) page.text("  - ", plain_line(text));
}

/// The rule of a cause as it is computed: prior, weights and conditions.
void add_rule(Page& page, const CauseRule& cause) {
  page.heading("Rule");
  page.text("  ", page.paint.dim(fmt::format("Prior: {:.1f}% of failures. A weight of +1 makes the cause 2.7 times as "
                                             "likely, a weight of -1 makes it 2.7 times less likely.",
                                             100 * cause.prior)));
  for (const auto& sign : cause.signs) {
    page.text(fmt::format("  {:>+5.1f}  ", sign.weight), plain_line(sign.why.text()));
    page.text("         ", page.paint.dim("if " + plain_line(sign.condition.text())));
  }
  for (const auto& ceiling : cause.ceilings) {
    page.text("  ", fmt::format("at most {:.0f}%: {}", 100 * ceiling.at_most, plain_line(ceiling.why)));
    page.text("         ", page.paint.dim("if " + plain_line(ceiling.condition.text())));
  }
  if (cause.possible) page.text("         ", page.paint.dim("only if " + plain_line(cause.possible->text())));
}

void add_fixes_of(Page& page, const CauseExplanation& cause) {
  page.heading("Fixes");
  int width = 0;
  for (const auto& [id, title] : cause.fixes) width = std::max(width, count_columns(id));
  for (const auto& [id, title] : cause.fixes)
    page.text("  " + page.paint.bold(pad(plain_line(id), width)) + "  ", plain_line(title));
  if (cause.fixes.empty()) page.text("  ", "None: " + plain_line(cause.no_fix));
}

/// `report` is the diagnosis of the user's log, for the numbers in the texts; null without a log.
void explain_rule(Page& page, const RulePack& rules, const CauseRule& cause, const Report* report, bool trace) {
  add_title(page, "cause", cause.id, cause.title);
  const CauseExplanation explanation = explain_cause(rules, cause);
  const ReportCause* judged = report && report->why_not ? &*report->why_not : nullptr;
  add_prose(page, judged ? judged->explain : explanation.text);
  if (!report)
    for (const SignList& list : list_signs(explanation)) add_list(page, list.title, *list.signs);
  if (trace) add_rule(page, cause);
  add_fixes_of(page, explanation);
  if (!cause.guide.empty()) {
    page.blank();
    page.text("", page.paint.dim("More: " + cause.guide));
  }
}

std::string savings_text(const ReportFix& fix) {
  if (!fix.saves_high_bytes) return "";
  return fmt::format("{} to {}", computed_bytes_text(fix.saves_low_bytes.value_or(0)),
                     computed_bytes_text(*fix.saves_high_bytes));
}

/// The rule of a fix as it is computed.
void add_rule(Page& page, const FixRule& fix) {
  page.heading("Rule");
  add_part(page, "offered if", fix.when.text());
  for (const HeldBackReason& reason : fix.held_back)
    add_part(page, "not if", reason.condition.text() + ": " + reason.because.text());
  if (fix.already) add_part(page, "done if", fix.already->text());
  if (fix.saves) add_part(page, "computed", fix.saves->text());
  for (const auto& setting : fix.settings)
    if (setting.when) add_part(page, "place if", plain_line(setting.scope) + ": " + setting.when->text());
}

/// The settings of a fix by scope, with the text to copy.
void add_places(Page& page, const std::vector<std::pair<std::string, std::string>>& settings) {
  if (!settings.empty()) page.heading("Settings");
  for (const auto& [scope, text] : settings) {
    page.text("  ", plain_line(scope));
    page.lines(terminal::command_rows(page, text, 6));
  }
}

/// `report` is the diagnosis of the user's log, for the numbers in the texts; null without a log.
void explain_fix(Page& page, const FixRule& fix, const Report* report, bool trace) {
  const ReportFix* computed = nullptr;
  if (report)
    for (const ReportFix& of : report->fixes)
      if (of.id == fix.id) computed = &of;
  add_title(page, "fix", fix.id, fix.title);
  add_prose(page, computed ? computed->why : fix.why.with_letters());
  page.blank();
  add_part(page, "fixes", fmt::format("{}", fmt::join(fix.causes, ", ")));
  add_part(page, "saves", computed && computed->saves_high_bytes ? savings_text(*computed) : fix.saves_formula);
  add_part(page, "cost", fmt::format("{}, {}", cost_text(fix.cost), risk_text(fix.risk)));
  add_part(page, "not with", fmt::format("{}", fmt::join(fix.not_with, ", ")));
  add_part(page, "fixed when", fix.verify);
  if (trace) add_rule(page, fix);
  std::vector<std::pair<std::string, std::string>> settings;
  if (computed)
    for (const FixSetting& setting : computed->settings) settings.emplace_back(setting.scope, setting.text);
  else
    for (const auto& setting : fix.settings) settings.emplace_back(setting.scope, setting.text.with_letters());
  add_places(page, settings);
}

void explain_myth(Page& page, const MythRule& myth, bool trace) {
  add_title(page, "myth", myth.id, myth.title);
  add_prose(page, "Won't help: " + myth.because.with_letters());
  if (!trace) return;
  page.heading("Rule");
  add_part(page, "said if", myth.when.text());
}

void explain_fact(Page& page, const FactSpec& fact) {
  add_title(page, "fact", std::string(fact.name), std::string(fact.description));
  page.blank();
  add_part(page, "unit", std::string(unit_words(fact.unit)));
  add_part(page, "computed", std::string(find_formula(fact.name)));
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

/// All formats of a family such as "megatron". Returns false if there is none.
bool explain_family(Page& page, const std::vector<FormatInfo>& formats, const std::string& family) {
  std::vector<FormatInfo> own;
  for (const FormatInfo& format : formats)
    if (format.name.starts_with(family + "/")) own.push_back(format);
  if (!own.empty()) add_formats(page, group_by_family(own));
  return !own.empty();
}

/// A question whose answer separates causes, with the command that answers it.
struct SettlingQuestion {
  std::string_view question, command;
};

constexpr auto settling_questions = std::to_array<SettlingQuestion>({
    {"Did it fail while loading the model, or in a step? Record both outputs, with the whole traceback",
     "python train.py 2>&1 | tee train.log"},
    {"Does memory grow, or is one step too large? Print it once per step",
     "print(step, torch.cuda.memory_allocated(), torch.cuda.memory_reserved())"},
    {"Does another process use the GPU, and how large is the GPU? Look before the run starts",
     "nvidia-smi --query-compute-apps=pid,used_memory --format=csv\n"
     "nvidia-smi --query-gpu=name,memory.total --format=csv"},
    {"Was it host RAM? The kernel's log names the process that it killed",
     "dmesg -T | grep -i -E 'oom|killed process'"},
    {"Not obvious? Let oomdoctor record all of this", "oomdoctor run python train.py"},
});

/// The verdict without a cause. `report` is the diagnosis of the user's log; null without a log.
void explain_unclear(Page& page, const RulePack& rules, const Report* report) {
  add_title(page, "verdict", std::string(unclear_id), "Out of memory, cause unclear");
  add_prose(page,
            "The log shows that memory ran out, but not why: several causes explain it, and none is clearly more "
            "probable than the others. A wrong cause would cost you more time than a question, so oomdoctor lists the "
            "probable ones.");
  page.heading("Questions that settle it");
  std::vector<Question> questions = report ? report->questions : std::vector<Question>{};
  if (questions.empty())
    for (const auto& [text, command] : settling_questions)
      questions.push_back({"", std::string(text), std::string(command)});
  for (const Question& question : questions) terminal::add_question(page, "  - ", question);
  page.heading("Causes");
  int width = 0;
  for (const auto& [id, cause] : rules.causes()) width = std::max(width, count_columns(id));
  const auto row = [&](const std::string& before, const std::string& id, const std::string& title) {
    page.text(before + page.paint.bold(pad(plain_line(id), width)) + "  ", plain_line(title));
  };
  if (report && !report->causes.empty()) {
    for (const ReportCause& cause : report->causes)
      if (cause.probability >= min_shown_probability)
        row(fmt::format("  {:>4}  ", percent_text(cause.probability)), cause.cause, cause.title);
  } else {
    for (const auto& [id, cause] : rules.causes()) row("  ", id, cause.title);
  }
  page.blank();
  page.text("", page.paint.dim("oomdoctor explain ID shows the signs and fixes of a cause."));
}

/// Returns false if no table has the id. Ids of causes contain "_", ids of fixes "-", facts a dot and formats a slash,
/// so they do not collide in practice.
bool explain(Page& page, const RulePack& rules, const std::vector<FormatInfo>& formats, const std::string& id,
             const Report* report, bool trace) {
  if (const auto cause = rules.causes().find(id); cause != rules.causes().end())
    explain_rule(page, rules, cause->second, report, trace);
  else if (const auto fix = rules.fixes().find(id); fix != rules.fixes().end())
    explain_fix(page, fix->second, report, trace);
  else if (const auto myth = rules.myths().find(id); myth != rules.myths().end())
    explain_myth(page, myth->second, trace);
  else if (id == unclear_id || id == undetermined)
    explain_unclear(page, rules, report);
  else if (const FactSpec* fact = find_fact_spec(id))
    explain_fact(page, *fact);
  else {
    const auto format = std::find_if(formats.begin(), formats.end(), [&](const auto& f) { return f.name == id; });
    if (format == formats.end()) return explain_family(page, formats, id);
    explain_format(page, *format);
  }
  return true;
}

void add_evidence(Page& page, const Report& report, const ReportCause& cause) {
  page.text("  ", page.paint.bold(percent_text(cause.probability)));
  for (const auto& [word, reasons] : {std::pair{"for it", &cause.because}, {"against", &cause.against}})
    for (const auto& because : *reasons) {
      const std::string where = short_locations(report, because.locations, 2);
      page.text(fmt::format("  {:<8} ", word),
                plain_line(because.text) + (where.empty() ? "" : page.paint.dim(" [" + plain_line(where) + "]")));
    }
}

/// The results of the log for this id: the value of a fact, the signs of a cause, the rank of a fix or why it won't
/// help.
void add_numbers(Page& page, const Report& report, const std::string& id) {
  page.heading("In " + plain_line(report.inputs.front().path) + (report.inputs.size() > 1 ? ", …" : ""));
  const std::size_t before = page.str().size();
  for (const std::string& line : report.trace)
    if (line.starts_with(id + " ")) page.text("  ", plain_line(line));
  if (report.why_not) add_evidence(page, report, *report.why_not);
  for (std::size_t i = 0; i < report.fixes.size(); ++i)
    if (report.fixes[i].id == id) page.text("  ", fmt::format("Fix {} of {}.", i + 1, report.fixes.size()));
  if (id == unclear_id || id == undetermined)
    page.text("  ", plain_line(verdict_words(report) + ". " + capitalised(conclusion_words(report))));
  for (const HeldBack& held : report.held_back)
    if (held.id == id) add_part(page, "won't help", held.because);
  if (page.str().size() == before) page.text("  ", "This log shows nothing about it.");
}

std::vector<std::string> all_ids(const RulePack& rules, const std::vector<FormatInfo>& formats) {
  std::vector<std::string> ids;
  for (const auto& [id, rule] : rules.causes()) ids.push_back(id);
  for (const auto& [id, rule] : rules.fixes()) ids.push_back(id);
  for (const auto& [id, rule] : rules.myths()) ids.push_back(id);
  for (const auto& spec : fact_specs()) ids.emplace_back(spec.name);
  for (const auto& format : formats) ids.push_back(format.name);
  ids.emplace_back(unclear_id);
  return ids;
}

}  // namespace

// The page without a log checks the id before any log is read. With a log, a second page has its numbers, redacted as
// for the terminal.
int run_explain(const Arguments& arguments) {
  if (arguments.words.empty())
    throw Error("explain needs an id, and optionally a log: oomdoctor explain leak train.log", "",
                "oomdoctor list causes shows ids");
  const RenderOptions view = make_render_options(arguments);
  const RulePack rules = load_rules(arguments);
  const std::vector<FormatInfo> formats = load_formats(arguments);
  const std::string& id = arguments.words.front();
  const bool trace = arguments.has("trace");
  Page page(view.width, Paint{view.color, view.ascii});
  if (!explain(page, rules, formats, id, nullptr, trace)) {
    const std::string near = suggestion(id, all_ids(rules, formats));
    throw Error(fmt::format("unknown id '{}': no verdict, cause, fix, myth, fact or format has it", id), "",
                near.empty() ? "oomdoctor list causes|fixes|myths|facts|formats shows all ids" : near);
  }
  if (arguments.words.size() == 1) return print(page.str()), 0;

  Options options = diagnose_options(arguments);
  options.trace = true;
  if (rules.causes().contains(id)) options.why_not = id;
  const auto inputs = resolve_inputs({arguments.words.begin() + 1, arguments.words.end()}, options, arguments.scope);
  const Report report = diagnose(inputs, options);
  if (const std::string lost = lost_evidence_words(report); !lost.empty()) print_note(lost);
  SharedReport shared(report, arguments, runs_in_ci());
  const Report& shown = shared.of(*find_writer("terminal"));
  Page filled(view.width, Paint{view.color, view.ascii});
  explain(filled, rules, formats, id, &shown, trace);
  add_numbers(filled, shown, id);
  print(filled.str());
  return 0;
}

}  // namespace oomdoctor::cli
