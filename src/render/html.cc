#include "render/html.h"

#include <array>

#include "render/document.h"
#include "render/html_sections.h"
#include "render/markdown.h"
#include "report/advice_words.h"
#include "report/escape.h"
#include "report/incident_words.h"
#include "report/words.h"

namespace oomdoctor::html {
namespace {

std::string log_name(const Report& report) {
  if (report.inputs.empty()) return {};
  const std::string& path = report.inputs.front().path;
  const std::string more =
      report.inputs.size() > 1 ? fmt::format(" and {} more", report.inputs.size() - 1) : std::string();
  return (path == "-" ? "standard input" : path) + more;
}

std::string framework_name(const Report& report, const ReportIncident* incident) {
  if (const std::string torch = find_setting(report, "torch"); !torch.empty()) return "PyTorch " + torch;
  if (incident == nullptr) return {};
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> names = {{{"pytorch", "PyTorch"},
                                                                                   {"tensorflow", "TensorFlow"},
                                                                                   {"jax", "JAX"},
                                                                                   {"vllm", "vLLM"},
                                                                                   {"sglang", "SGLang"},
                                                                                   {"mindspore", "MindSpore"}}};
  for (const auto& [id, name] : names)
    if (id == incident->framework) return std::string(name);
  return incident->framework;
}

void add_fact(Document& page, std::string_view name, const std::string& value) {
  if (!value.empty()) page.add("<div><dt>{}</dt><dd>{}</dd></div>", name, html_inline(value));
}

/// The page may not load, send or embed anything, and may use only this script and this style sheet. What the script
/// draws itself (blob:) never leaves the page.
std::string policy(const PageAsset& style, const PageAsset& script, bool draws) {
  return fmt::format("default-src 'none'; script-src '{}'; style-src '{}';{} base-uri 'none'; form-action 'none'",
                     script.hash, style.hash, draws ? " img-src blob:;" : "");
}

}  // namespace

void add_head(Document& page, const std::string& title, const PageAsset& style, const PageAsset& script, bool draws) {
  page.add("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
  page.add("<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n", policy(style, script, draws));
  page.add("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
  page.add("<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n");
  page.add("<title>{}</title>\n<style>{}</style>\n</head>\n", html_inline(title), style.text);
}

const ReportIncident* main_incident(const Report& report) {
  const ReportIncident* named = verdict_incident(report);
  return named != nullptr || report.incidents.empty() ? named : &report.incidents.front();
}

void add_facts(Document& page, const Content& content) {
  const Report& report = content.report;
  const ReportIncident* incident = main_incident(report);
  page.add("<dl class=\"facts\">");
  add_fact(page, "Log", log_name(report));
  add_fact(page, "Job", report.job);
  if (incident != nullptr) add_fact(page, "Host", incident->host);
  if (is_all_clear(report) || verdict_gpu_words(report).empty())
    add_fact(page, "GPU", incident == nullptr ? find_gpu(report, {}) : gpu_of_failure(report, *incident));
  add_fact(page, "Framework", framework_name(report, incident));
  if (incident != nullptr && incident->time && incident != verdict_incident(report))
    add_fact(page, "Failed at", time_text(*incident->time));
  add_fact(page, "oomdoctor", report.tool_version);
  page.add("</dl>\n");
}

}  // namespace oomdoctor::html

namespace oomdoctor {
namespace {

using html::Content;

std::string page_title(const Report& report) {
  std::string title = verdict_words(report);
  if (!report.inputs.empty()) title += ": " + report.inputs.front().path;
  if (report.inputs.size() > 1) title += fmt::format(" and {} more", report.inputs.size() - 1);
  return title;
}

struct Section {
  std::string_view id, title;
  std::string body;
};

/// A section with the output of these functions.
template <class... Writers>
Section section(std::string_view id, std::string_view title, const Content& content, Writers... writers) {
  Document body;
  (writers(body, content), ...);
  return {id, title, body.take()};
}

void add_section(Document& page, const Section& of) {
  if (!of.body.empty()) page.add("<section id=\"{}\">\n<h2>{}</h2>\n{}</section>\n", of.id, of.title, of.body);
}

/// Verdict and first fix, next to the best pictures of the failure: memory over the run and where it was, else the
/// failing line. Empties the section that it shows, so that it does not appear twice.
void add_first_view(Document& page, const Content& content, std::initializer_list<Section*> sections) {
  page.add("<div class=\"first-view\">\n<section id=\"verdict\" class=\"{}\">\n", html::tone(content.report));
  html::add_verdict(page, content);
  html::add_first_fix(page, content);
  page.add("</section>\n");
  if (!content.plots.empty()) {
    page.add("<div>\n");
    html::add_chart(page, content.plots.front());
    html::add_account_bar(page, content);
    page.add("</div>\n");
  } else {
    for (Section* candidate : sections)
      if (!candidate->body.empty()) {
        add_section(page, *candidate);
        candidate->body.clear();
        break;
      }
  }
  page.add("</div>\n");
}

void add_navigation(Document& page, const std::vector<const Section*>& sections) {
  page.add("<nav aria-label=\"Sections\"><ul><li><a href=\"#verdict\">Verdict</a></li>");
  for (const Section* of : sections)
    if (!of->body.empty()) page.add("<li><a href=\"#{}\">{}</a></li>", of->id, of->title);
  page.add("</ul></nav>\n");
}

void add_body(Document& page, const Content& content) {
  Section fixes = section("fixes", "Fixes", content, html::add_fixes);
  const auto add_bar_unless_above = [](Document& out, const Content& of) {
    if (of.plots.empty()) html::add_account_bar(out, of);
  };
  Section account = section("account", "Where the memory was", content, add_bar_unless_above, html::add_account_table);
  Section snapshot = section("snapshot", "Allocator snapshot", content, html::add_snapshots);
  Section memory = section("memory", "Memory over the run", content, html::add_series);
  Section evidence = section("evidence", "Evidence", content, html::add_failures, html::add_reasons);
  Section inputs = section("inputs", "Inputs", content, html::add_inputs);
  page.add("<header class=\"top\">\n");
  html::add_facts(page, content);
  page.add("</header>\n");
  add_navigation(page, {&fixes, &account, &snapshot, &memory, &evidence, &inputs});
  page.add("<main>\n");
  add_first_view(page, content, {&account, &snapshot, &evidence});
  for (const Section* of : {&fixes, &account, &snapshot, &memory, &evidence, &inputs}) add_section(page, *of);
  page.add("</main>\n");
}

}  // namespace

std::string html_text(const Report& report, const PageAssets& assets) {
  const Content content(report);
  Document page;
  html::add_head(page, page_title(report), assets.style, assets.script, true);
  page.add("<body>\n");
  add_body(page, content);
  // After the report, because a browser shows what it has read so far.
  page.add("<template id=\"markdown\">{}</template>\n", html_block(markdown_text(report)));
  page.add("<script>{}</script>\n</body>\n</html>\n", assets.script.text);
  return page.take();
}

}  // namespace oomdoctor
