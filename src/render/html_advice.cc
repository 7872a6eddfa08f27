// The main content of the page: the verdict, the fixes, what won't help, and the open questions.
#include <fmt/ranges.h>

#include <algorithm>

#include "base/ascii.h"
#include "render/html_sections.h"
#include "report/advice_words.h"
#include "report/escape.h"
#include "report/incident_words.h"
#include "report/series_choice.h"
#include "report/series_words.h"
#include "report/words.h"

namespace oomdoctor::html {
namespace {

constexpr std::size_t fixes_open = 3;  ///< the first one is next to the verdict

void add_all_clear(Document& page, const Report& report) {
  const auto lines = plural(report.coverage.lines, "line", "lines");
  page.add("<p class=\"outcome\">{}</p>\n<h1>Nothing in {} says that memory ran out</h1>\n", verdict_words(report),
           lines);
  const auto series = sort_series(report);
  const std::string growing = growing_series_words(report);
  if (!growing.empty())
    page.add("<p>But {}.</p>\n", html_inline(growing));
  else if (!series.empty() && !is_single(*series.front()))
    page.add("<p>{}: {}.</p>\n", html_inline(capitalised(series_title(report, *series.front()))),
             html_inline(trend_words(*series.front())));
  if (const std::string headroom = headroom_words(report); growing.empty() && !headroom.empty())
    page.add("<p>{}</p>\n", html_inline(headroom));
  page.add("<p class=\"muted\">Looked for {}.</p>\n", html_inline(performed_checks_words(report)));
}

std::string make_title(const Report& report) {
  if (has_cause(report.verdict)) return cause_name(report.verdict);
  return capitalised(conclusion_words(report));  // other outputs print it after the outcome
}

/// The sizes in a text, in their printed form: "48.0 MiB". Nothing if it has other numbers also.
std::vector<std::string_view> find_sizes(std::string_view text) {
  std::vector<std::string_view> sizes;
  constexpr std::string_view digits = "0123456789";
  for (auto from = text.find_first_of(digits); from != text.npos; from = text.find_first_of(digits, from)) {
    const auto end = std::min(text.find_first_not_of("0123456789.", from), text.size());
    const std::string_view unit = text.substr(end, std::min(text.find_first_of(" ,;.)", end + 1), text.size()) - end);
    if (unit != " bytes" && !(unit.size() == 4 && unit.ends_with("iB"))) return {};
    sizes.push_back(text.substr(from, end + unit.size() - from));
    from = end + unit.size();
  }
  return sizes;
}

/// Whether `text` has these sizes; false if there are none.
bool has_sizes(std::string_view text, const std::vector<std::string_view>& sizes) {
  return !sizes.empty() && std::all_of(sizes.begin(), sizes.end(), [&](auto size) { return has_size(text, size); });
}

/// The rest of the headline. What other lines than that of the failure say of the memory has links to them, unless the
/// strongest reason of the cause, which follows, says all of it.
void add_rest(Document& page, const Content& content, const std::string& rest) {
  const Report& report = content.report;
  const ReportIncident* of = verdict_incident(report);
  const bool is_known = of != nullptr && of->numbers.empty() && !of->other_memory.empty() &&
                        has_cause(report.verdict) && lower(rest).starts_with(lower(of->other_memory)) &&
                        !report.causes.empty() && !report.causes.front().because.empty();
  if (!is_known) {
    if (!rest.empty()) page.add("<p>{}</p>\n", with_code(rest));
    return;
  }
  const auto& reasons = report.causes.front().because;
  const auto sizes = find_sizes(of->other_memory);
  if (has_sizes(reasons.front().text, sizes)) return;
  std::vector<Location> lines;
  for (const Reason& reason : reasons)
    for (const std::string_view size : sizes)
      if (has_size(reason.text, size)) lines.insert(lines.end(), reason.locations.begin(), reason.locations.end());
  page.add("<p>{}</p>\n", cited(capitalised(of->other_memory), content.citations.links(lines, 4)));
}

/// The headline without the cause, because the cause is the title.
std::string rest_of_headline(const Verdict& verdict, const std::string& title) {
  std::string_view rest = verdict.headline;
  for (const std::string_view known : {std::string_view(title), std::string_view("cause unclear")})
    if (rest.starts_with(known)) rest.remove_prefix(known.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(":; "), rest.size()));
  return capitalised(std::string(rest)) == title ? "" : capitalised(std::string(rest));
}

/// The strongest reason of the cause, with its lines. The section Evidence has the others.
void add_why(Document& page, const Content& content) {
  const Report& report = content.report;
  if (!has_cause(report.verdict) || report.causes.empty() || report.causes.front().because.empty()) return;
  const Reason& reason = report.causes.front().because.front();
  page.add("<p>{}</p>\n", cited(capitalised(reason.text), content.citations.links(reason.locations, 4)));
}

/// Which GPU and which rank, when, how much was requested, and how much was free; and whether others grow also.
void add_moment(Document& page, const Report& report, const std::string& title) {
  const ReportIncident* of = verdict_incident(report);
  const auto is_new = [&](const std::string& words) {
    return !words.empty() && lower(title).find(lower(words)) == title.npos;
  };
  std::vector<std::string> parts;
  if (const std::string gpu = verdict_gpu_words(report); !gpu.empty()) parts.push_back(gpu);
  if (of != nullptr) {
    if (const std::string moment = moment_words(*of); is_new(moment)) parts.push_back(moment);
    if (const std::string who = incident_circumstances(*of); !who.empty()) parts.push_back(who);
    if (of->ranks.size() > 1)
      parts.push_back("the same on " +
                      plural(static_cast<std::int64_t>(of->ranks.size()) - 1, "other rank", "other ranks"));
    if (of->time) parts.push_back("failed at " + time_text(*of->time));
    for (const std::string& words : {of->numbers, of->other_memory})
      if (is_new(words)) parts.push_back(words);
  }
  if (!parts.empty())
    page.add("<p class=\"moment muted\">{}</p>\n", html_inline(fmt::format("{}", fmt::join(parts, " · "))));
  const ReportSeries* growing = find_leaking_series(report);
  const std::string alone = growing == nullptr ? "" : only_growing_words(report, *growing);
  if (!is_new(alone)) return;
  const auto note = std::find_if(report.notes.begin(), report.notes.end(),
                                 [&](const ReportNote& n) { return n.text.starts_with(alone); });
  page.add("<p>{}.</p>\n", html_inline(capitalised(note == report.notes.end() ? alone : note->text)));
}

/// The number and the title, and the columns: savings and cost. A probability belongs to a cause, not to a fix.
void add_fix_head(Document& page, const Report& report, std::size_t index, std::string_view element) {
  const ReportFix& fix = report.fixes[index];
  page.add("<{0} class=\"fix-title\">{1}. {2}</{0}><span class=\"columns\">", element, index + 1, with_code(fix.title));
  page.add("<span class=\"unless\">{}</span>", fix.if_not_already ? "skip if already set" : "");
  std::string saves = saving_words(fix);
  if (const auto enough = sufficiency_words(fix); !enough.empty())
    saves += (saves.empty() ? "" : ", ") + std::string(enough);
  page.add("<span class=\"saves\">{}</span>", html_inline(saves));
  page.add("<span class=\"cost\">{}</span></span>\n", html_inline(cost_words(fix)));
}

/// What the card says of the failure. The reasons of fixes do not repeat it.
std::string card_words(const Report& report) {
  std::string words = report.verdict.headline;
  if (const ReportIncident* of = verdict_incident(report); of != nullptr)
    words += "; " + of->numbers + "; " + of->other_memory;
  if (has_cause(report.verdict) && !report.causes.empty() && !report.causes.front().because.empty())
    words += "; " + report.causes.front().because.front().text;
  return words;
}

/// The reason of a fix without the sentences that only have numbers of the card: "Memory grows by 48.0 MiB per step."
std::string new_reason(const ReportFix& fix, const std::string& card) {
  constexpr std::ptrdiff_t longest = 12;  // words; a longer sentence explains something
  std::string kept;
  for (std::string_view rest = fix.why; !rest.empty();) {
    const auto end = std::min(rest.find(". "), rest.size());
    const std::string_view sentence = rest.substr(0, std::min(end + 2, rest.size()));
    rest.remove_prefix(sentence.size());
    const auto sizes = find_sizes(sentence);
    if (std::count(sentence.begin(), sentence.end(), ' ') >= longest || !has_sizes(card, sizes)) kept += sentence;
  }
  while (kept.ends_with(' ')) kept.pop_back();
  return kept;
}

/// "fix 3", of each fix of the report that excludes this one.
std::vector<std::string> excluded_fixes(const Report& report, const ReportFix& fix) {
  const auto names = [](const ReportFix& one, const ReportFix& other) {
    return std::find(one.not_with.begin(), one.not_with.end(), other.id) != one.not_with.end();
  };
  std::vector<std::string> excluded;
  for (std::size_t i = 0; i < report.fixes.size(); ++i)
    if (names(fix, report.fixes[i]) || names(report.fixes[i], fix)) excluded.push_back(fmt::format("fix {}", i + 1));
  return excluded;
}

void add_fix_body(Document& page, const Content& content, const ReportFix& fix) {
  const std::string why = new_reason(fix, card_words(content.report));
  // The lines of what the card says are in the card.
  const std::string lines = why == fix.why ? content.citations.links(fix.locations, 4) : "";
  if (!why.empty()) page.add("<p>{}</p>\n", cited(why, lines));
  if (why.empty() && !lines.empty()) page.add("<p>See {}.</p>\n", lines);
  for (const FixSetting& setting : fix.settings) {
    const std::string place = setting.scope + (setting.from.empty() ? "" : " (now " + setting.from + ")");
    if (setting.prose)
      page.add("<p class=\"instruction\"><span class=\"muted\">{}:</span> {}</p>\n", html_inline(place),
               html_inline(plain_line(setting.text)));
    else
      add_command(page, place, setting.text, setting.gap);
  }
  if (!fix.verify.empty()) page.add("<p class=\"muted\">{}: {}.</p>\n", success_label(fix), with_code(fix.verify));
  if (!fix.saves_formula.empty()) page.add("<p class=\"muted\">Savings: {}.</p>\n", html_inline(fix.saves_formula));
  if (const auto others = excluded_fixes(content.report, fix); !others.empty())
    page.add("<p class=\"muted\">Not together with {}.</p>\n", fmt::join(others, ", "));
}

void add_other_fixes(Document& page, const Content& content) {
  const Report& report = content.report;
  if (report.fixes.size() < 2) return;
  page.add("<ol class=\"fixes\">\n");
  for (std::size_t i = 1; i < report.fixes.size(); ++i) {
    page.add("<li><details{}><summary class=\"fix-head\">", i < fixes_open ? " open" : "");
    add_fix_head(page, report, i, "strong");
    page.add("</summary>\n");
    add_fix_body(page, content, report.fixes[i]);
    page.add("</details></li>\n");
  }
  page.add("</ol>\n");
}

/// The lines of a text as HTML.
std::vector<std::string> html_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t from = 0; from <= text.size();) {
    const auto end = std::min(text.find('\n', from), text.size());
    lines.push_back(html_inline(plain_line(text.substr(from, end - from))));
    from = end + 1;
  }
  return lines;
}

/// The name of a GPU with its model: "GPU 0, NVIDIA A100-SXM4-80GB".
std::string with_model(const Report& report, std::optional<int> device, const std::string& name) {
  const std::string model = find_gpu(report, device);
  return name.empty() || model.empty() ? name + model : name + ", " + model;
}

}  // namespace

std::string gpu_of_failure(const Report& report, const ReportIncident& of) {
  return with_model(report, of.device, of.device ? memory_name(of) : "");
}

std::string verdict_gpu_words(const Report& report) {
  if (const ReportIncident* of = verdict_incident(report); of != nullptr)
    return of->kind == "device" || of->device ? gpu_of_failure(report, *of) : "";
  const ReportSeries* series = find_leaking_series(report);
  if (series == nullptr || series->metric.starts_with("host")) return "";
  const std::optional<int> device = series->device;
  return with_model(report, device, device ? fmt::format("{} {}", device_name(series->accelerator), *device) : "");
}

std::string cited(const std::string& text, const std::string& links) {
  const bool sentence = text.ends_with('.');
  const std::string words = with_code(sentence ? text.substr(0, text.size() - 1) : text);
  return words + (links.empty() ? "" : " (" + links + ")") + (sentence ? "." : "");
}

std::string with_code(const std::string& text) {
  const std::string escaped = html_inline(text);
  std::string out;
  for (std::size_t from = 0;;) {
    const auto begin = escaped.find('`', from);
    const auto end = begin == escaped.npos ? begin : escaped.find('`', begin + 1);
    if (end == escaped.npos) return out + escaped.substr(from);
    out += escaped.substr(from, begin - from) + "<code>" + escaped.substr(begin + 1, end - begin - 1) + "</code>";
    from = end + 1;
  }
}

void add_command(Document& page, const std::string& place, const std::string& text, bool gap) {
  if (gap) {
    page.add("<p class=\"instruction\"><span class=\"muted\">{}:</span> <code>{}</code></p>\n", html_inline(place),
             fmt::format("{}", fmt::join(html_lines(text), "</code><br><code>")));
    return;
  }
  page.add("<div class=\"command\"><div class=\"command-head\"><span>{}</span></div><pre><code>{}</code></pre></div>\n",
           html_inline(place), html_block(text));
}

std::string_view tone(const Report& report) {
  if (report.verdict.outcome == Outcome::oom) return "bad";
  return is_all_clear(report) && growing_series_words(report).empty() ? "good" : "warn";
}

void add_verdict(Document& page, const Content& content) {
  const Report& report = content.report;
  const Verdict& verdict = report.verdict;
  if (is_all_clear(report)) return add_all_clear(page, report);
  const std::string probability = has_cause(verdict) ? html_inline(percent_text(verdict.confidence)) : "";
  const std::string title = make_title(report);
  page.add("<p class=\"outcome\">{}{}</p>\n<h1>{}</h1>\n", verdict_words(report),
           probability.empty() ? "" : " <span>cause: " + probability + "</span>", with_code(title));
  const std::string rest = rest_of_headline(verdict, title);
  add_rest(page, content, rest);
  add_moment(page, report, title + rest);
  add_why(page, content);
  if (is_unexplained(report))
    page.add(
        "<p>This may not be the log of a training job; <code>oomdoctor list formats</code> shows what oomdoctor "
        "reads.</p>\n");
  // If the first fix names the change, a line about it would repeat it.
  const std::string again = retry_words(verdict);
  if (!again.empty() && (verdict.retry.decision != "retry_with_change" || report.fixes.empty()))
    page.add("<p>Run again: {}</p>\n", with_code(again));
}

void add_first_fix(Document& page, const Content& content) {
  if (content.report.fixes.empty()) return;
  page.add("<div class=\"first-fix\">\n");
  if (is_about_earlier_run(content.report)) page.add("<p class=\"muted\">For the earlier run:</p>\n");
  page.add("<div class=\"fix-head\">");
  add_fix_head(page, content.report, 0, "h2");
  page.add("</div>\n");
  add_fix_body(page, content, content.report.fixes.front());
  page.add("</div>\n");
}

void add_fixes(Document& page, const Content& content) {
  const Report& report = content.report;
  add_other_fixes(page, content);
  if (const std::string plan = plan_words(report); !plan.empty()) page.add("<p>{}</p>\n", html_inline(plan));
  const auto wrong = shown_advice(report);
  if (!wrong.empty()) page.add("<h3>Won't help</h3>\n<ul>\n");
  for (const HeldBack* advice : wrong)
    page.add("<li><strong>{}</strong>: {}</li>\n", with_code(advice->title), with_code(advice->because));
  if (!wrong.empty()) page.add("</ul>\n");
  if (!report.questions.empty()) page.add("<h3>To narrow it down</h3>\n");
  for (const auto& question : report.questions) {
    page.add("<p>{}</p>\n", with_code(question.text));
    if (question.command.empty()) continue;
    if (question.prose)
      page.add("<p class=\"instruction\">{}.</p>\n", html_inline(capitalised(question.command)));
    else
      add_command(page, "run", question.command, question.gap);
  }
}

}  // namespace oomdoctor::html
