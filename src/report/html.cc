#include "report/html.h"

#include "report/document.h"
#include "report/html_chart.h"
#include "report/html_sections.h"
#include "report/sink.h"
#include "report/words.h"

namespace oomdoctor {
namespace {

/// Nothing is loaded, sent or embedded, and only these scripts and this style sheet count.
std::string policy(const PageAssets& assets) {
  std::string scripts;
  for (const PageAsset* script : {&assets.chart_library, &assets.script})
    if (!script->text.empty()) scripts += fmt::format(" '{}'", script->hash);
  return fmt::format("default-src 'none'; script-src{}; style-src '{}'; base-uri 'none'; form-action 'none'", scripts,
                     assets.style.hash);
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

/// Behind the report: a browser shows what it has read so far.
void add_scripts(Document& page, const std::vector<Plot>& plots, const PageAssets& assets) {
  page.add("<script type=\"application/json\" id=\"plots\">{}</script>\n", html_json(html::chart_data(plots)));
  for (const PageAsset* script : {&assets.chart_library, &assets.script})
    if (!script->text.empty()) page.add("<script>{}</script>\n", script->text);
}

}  // namespace

std::string html_text(const Report& report, const PageAssets& assets) {
  const std::vector<Plot> plots = plots_of(report);
  Document page;
  add_head(page, report, assets);
  page.add("<body>\n<main>\n");
  html::add_verdict(page, report);
  html::add_fixes(page, report);
  html::add_account(page, report);
  html::add_series(page, report, plots);
  html::add_ranks(page, report);
  html::add_incidents(page, report);
  html::add_causes(page, report);
  html::add_remarks(page, report);
  html::add_evidence(page, report);
  page.add("</main>\n");
  add_scripts(page, plots, assets);
  page.add("</body>\n</html>\n");
  return page.take();
}

}  // namespace oomdoctor
