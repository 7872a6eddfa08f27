#include "render/ci_reports.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/advice_words.h"
#include "report/escape.h"
#include "report/findings.h"
#include "report/utf8.h"
#include "report/words.h"

namespace oomdoctor {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t max_description = 1024;  ///< GitHub's limit for the description of a rule

Json text(std::string_view of) { return {{"text", of}}; }

Json description(std::string_view of) { return text(utf8_prefix(plain_block(of), max_description)); }

/// The fixes for this cause; all fixes if the verdict's cause is undetermined.
std::vector<const ReportFix*> fixes_for(const Report& report, const std::string& rule) {
  const bool any = rule == "undetermined" && report.verdict.cause == rule;
  std::vector<const ReportFix*> fixes;
  for (const auto& fix : report.fixes)
    if (any || std::find(fix.causes.begin(), fix.causes.end(), rule) != fix.causes.end()) fixes.push_back(&fix);
  return fixes;
}

std::string help_text(const std::vector<const ReportFix*>& fixes) {
  std::string help;
  for (const auto* fix : fixes) {
    help += fmt::format("{}. {}\n", plain_line(fix->title), plain_line(fix->why));
    for (const auto& setting : fix->settings)
      help += fmt::format("{}: {}\n", plain_line(setting.scope), plain_block(setting.text));
  }
  return help;
}

std::string help_markdown(const std::vector<const ReportFix*>& fixes) {
  std::string help;
  for (const auto* fix : fixes) {
    help += fmt::format("**{}** {}\n\n", markdown_inline(fix->title), markdown_inline(fix->why));
    for (const auto& setting : fix->settings)
      help += fmt::format("{}:\n\n{}\n", markdown_inline(setting.scope), markdown_fence(setting.text));
    if (!fix->verify.empty()) help += fmt::format("It worked if {}.\n\n", markdown_inline(fix->verify));
  }
  return help;
}

/// What `oomdoctor explain` prints of a cause that has no page on a site.
std::string explanation_text(const CauseExplanation& of, bool markdown) {
  std::string text = markdown ? markdown_inline(of.text) + "\n\n" : plain_block(of.text) + '\n';
  for (const SignList& list : list_signs(of)) {
    text += markdown ? fmt::format("**{}**\n\n", list.title) : fmt::format("\n{}:\n", list.title);
    for (const std::string& one : *list.signs)
      text += fmt::format("- {}\n", markdown ? markdown_inline(one) : plain_line(one));
    if (markdown) text += '\n';
  }
  return text;
}

Json rule(const Report& report, const std::string& id) {
  const ReportCause* cause = find_cause(report, id);
  const std::string title = cause && !cause->title.empty() ? cause->title : "Memory is short, and why is not decided";
  Json object = {{"id", id}, {"shortDescription", description(plain_line(title))}};
  object["fullDescription"] = description(cause && !cause->explain.empty() ? cause->explain : title);
  const bool explained = cause != nullptr && !cause->explanation.text.empty();
  if (const auto fixes = fixes_for(report, id); !fixes.empty() || explained) {
    std::string plain = help_text(fixes), markdown = help_markdown(fixes);
    if (explained) {
      plain += (fixes.empty() ? "" : "\n") + explanation_text(cause->explanation, false);
      markdown += explanation_text(cause->explanation, true);
    }
    object["help"] = {{"text", plain}, {"markdown", markdown}};
  } else {
    object["help"] = text("The report has no fix for it.");
  }
  if (cause != nullptr && !cause->guide.empty()) object["helpUri"] = cause->guide;
  object["properties"] = {{"tags", {"memory"}}};
  return object;
}

Json physical_location(const std::string& path, std::int64_t line, std::int64_t end_line, const std::string& folder) {
  Json region = {{"startLine", std::max<std::int64_t>(line, 1)}};
  if (end_line > line) region["endLine"] = end_line;
  return {{"artifactLocation", {{"uri", percent_encoded(relative_path(path, folder))}}}, {"region", region}};
}

/// The lines of the log have numbers, and the message links to them by number.
Json result(const Finding& of, std::size_t rule_index, const std::string& folder) {
  Json object = {{"ruleId", of.rule}, {"ruleIndex", rule_index}, {"level", of.level}};
  std::string message = sarif_message(of.text), separator = "\n\nIn the log: ";
  Json related = Json::array();
  for (const auto& at : of.log) {
    const std::size_t id = related.size() + 1;
    message += fmt::format("{}[{}]({})", separator, sarif_message(place(at)), id);
    separator = ", ";
    Json location = {{"id", id}, {"physicalLocation", physical_location(at.path, at.line, at.end_line, folder)}};
    if (!at.excerpt.empty()) location["message"] = text(sarif_message(at.excerpt));
    related.push_back(std::move(location));
  }
  object["message"] = text(message);
  object["locations"] = Json::array({{{"physicalLocation", physical_location(of.file, of.line, of.line, folder)}}});
  if (!related.empty()) object["relatedLocations"] = std::move(related);
  object["partialFingerprints"] = {{"primaryLocationLineHash", of.fingerprint}};
  return object;
}

}  // namespace

std::string sarif_text(const Report& report, const std::string& folder) {
  std::vector<std::string> ids;
  Json rules = Json::array(), results = Json::array();
  for (const auto& finding : findings(report)) {
    const auto known = std::find(ids.begin(), ids.end(), finding.rule);
    const auto index = static_cast<std::size_t>(known - ids.begin());
    if (known == ids.end()) {
      ids.push_back(finding.rule);
      rules.push_back(rule(report, finding.rule));
    }
    results.push_back(result(finding, index, folder));
  }
  Json run = {
      {"tool", {{"driver", {{"name", "oomdoctor"}, {"semanticVersion", report.tool_version}, {"rules", rules}}}}},
      {"automationDetails", {{"id", "oomdoctor/"}}},
      {"results", results}};
  if (report.more_incidents > 0) run["properties"] = {{"more_incidents", report.more_incidents}};
  const Json log = {
      {"$schema", "https://json.schemastore.org/sarif-2.1.0.json"}, {"version", "2.1.0"}, {"runs", Json::array({run})}};
  return log.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace oomdoctor
