#include "report/html.h"

#include "report/document.h"
#include "report/escape.h"
#include "report/html_sections.h"
#include "report/markdown.h"
#include "report/words.h"

namespace oomdoctor {
namespace {

using html::Content;

/// The page may not load, send or embed anything, and may use only this script and this style sheet.
std::string policy(const PageAssets& assets) {
  return fmt::format("default-src 'none'; script-src '{}'; style-src '{}'; base-uri 'none'; form-action 'none'",
                     assets.script.hash, assets.style.hash);
}

void add_head(Document& page, const Report& report, const PageAssets& assets) {
  page.add("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
  page.add("<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n", policy(assets));
  page.add("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
  page.add("<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n");
  std::string title = outcome_words(report.verdict.outcome);
  if (!report.inputs.empty()) title += ": " + report.inputs.front().path;
  if (report.inputs.size() > 1) title += fmt::format(" and {} more", report.inputs.size() - 1);
  page.add("<title>{}</title>\n<style>{}</style>\n</head>\n", html_inline(title), assets.style.text);
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

/// Verdict and first fix, next to the best picture of the failure: memory over the run, else the memory breakdown, else
/// the failing line. Empties the section that it shows, so that it does not appear twice.
void add_first_view(Document& page, const Content& content, std::initializer_list<Section*> sections) {
  page.add("<div class=\"first-view\">\n<section id=\"verdict\" class=\"{}\">\n", html::tone(content.report));
  html::add_verdict(page, content);
  html::add_first_fix(page, content);
  page.add("</section>\n");
  if (!content.plots.empty()) {
    html::add_chart(page, content.plots.front());
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
  Section account = section("account", "Where the memory was", content, html::add_account);
  Section memory = section("memory", "Memory over the run", content, html::add_series);
  Section evidence = section("evidence", "Evidence", content, html::add_failures, html::add_reasons);
  Section inputs = section("inputs", "Inputs", content, html::add_inputs);
  page.add("<header class=\"top\">\n");
  html::add_facts(page, content);
  page.add("</header>\n");
  add_navigation(page, {&fixes, &account, &memory, &evidence, &inputs});
  page.add("<main>\n");
  add_first_view(page, content, {&account, &evidence});
  for (const Section* of : {&fixes, &account, &memory, &evidence, &inputs}) add_section(page, *of);
  page.add("</main>\n");
}

}  // namespace

std::string html_text(const Report& report, const PageAssets& assets) {
  const Content content(report);
  Document page;
  add_head(page, report, assets);
  page.add("<body>\n");
  add_body(page, content);
  // After the report, because a browser shows what it has read so far.
  page.add("<template id=\"markdown\">{}</template>\n", html_block(markdown_text(report)));
  page.add("<script>{}</script>\n</body>\n</html>\n", assets.script.text);
  return page.take();
}

}  // namespace oomdoctor
