#include "report/html_citations.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/escape.h"
#include "report/words.h"

namespace oomdoctor::html {
namespace {

bool is_in(const std::vector<const Location*>& all, const Location& at) {
  return std::any_of(all.begin(), all.end(),
                     [&](const Location* other) { return other->line == at.line && other->path == at.path; });
}

bool is_before(const Location& a, const Location& b) { return a.path != b.path ? a.path < b.path : a.line < b.line; }

}  // namespace

Citations::Citations(const Report& report) : report_(report) {
  for (const auto& incident : report.incidents)
    if (!incident.follows) add(incident.location, failures_);
  const auto add_reasons = [&](const ReportCause& cause) {
    for (const auto* reasons : {&cause.because, &cause.against})
      for (const Reason& reason : *reasons)
        for (const Location& at : reason.locations) add(at, lines_);
  };
  for (const auto& cause : report.causes) add_reasons(cause);
  if (report.why_not) add_reasons(*report.why_not);
  for (const auto& fix : report.fixes)
    for (const Location& at : fix.locations) add(at, lines_);
  std::stable_sort(lines_.begin(), lines_.end(),
                   [](const Location* a, const Location* b) { return is_before(*a, *b); });
}

/// The page can show only lines that the report quotes.
void Citations::add(const Location& at, std::vector<const Location*>& to) {
  if (!at.excerpt.empty() && !is_in(failures_, at) && !is_in(lines_, at)) to.push_back(&at);
}

std::string Citations::id(const Location& at) const {
  const auto input = std::find_if(report_.inputs.begin(), report_.inputs.end(),
                                  [&](const ReportInput& of) { return of.path == at.path; });
  return fmt::format("line-{}-{}", input - report_.inputs.begin() + 1, at.line);
}

std::string Citations::anchor(const Location& at) const {
  return is_in(failures_, at) || is_in(lines_, at) ? fmt::format(" id=\"{}\"", id(at)) : "";
}

std::string Citations::link(const Location& at, const std::string& text) const {
  if (anchor(at).empty()) return html_inline(text);
  return fmt::format("<a href=\"#{}\">{}</a>", id(at), html_inline(text));
}

std::string Citations::links(std::vector<Location> all, std::size_t most) const {
  if (all.empty()) return {};
  std::stable_sort(all.begin(), all.end(), is_before);
  const bool one_input = report_.inputs.size() == 1;
  const std::size_t named = std::min(all.size(), most);
  std::string text = !one_input ? "" : all.size() == 1 ? "line " : "lines ";
  for (std::size_t i = 0; i < named; ++i) {
    if (i > 0) text += i + 1 == all.size() ? " and " : ", ";
    text += link(all[i], one_input ? std::to_string(all[i].line) : short_location(report_, all[i]));
  }
  if (all.size() > named) text += fmt::format(" and {} more", all.size() - named);
  return text;
}

}  // namespace oomdoctor::html
