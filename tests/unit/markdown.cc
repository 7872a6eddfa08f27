// No text of a log means anything to GitHub or GitLab, wherever a page of Markdown shows it. The test reads a page as
// they do: it leaves out code, resolves the escapes, splits the text at tags, and looks for references in each piece.
#include <array>
#include <regex>
#include <string>
#include <vector>

#include "catch.h"
#include "compare/comparison.h"
#include "redact/redact.h"
#include "render/markdown.h"
#include "render/screens.h"
#include "report/escape.h"
#include "sample_reports.h"

using namespace oomdoctor;

namespace {

/// The end of the code that begins at byte `at` with backticks: a run of the same length closes it.
std::size_t end_of_code(const std::string& page, std::size_t at) {
  const std::size_t size = std::min(page.find_first_not_of('`', at), page.size()) - at;
  for (std::size_t i = at + size; (i = page.find('`', i)) != std::string::npos;) {
    const std::size_t end = std::min(page.find_first_not_of('`', i), page.size());
    if (end - i == size) return end;
    i = end;
  }
  FAIL("code without an end: " << page.substr(at, 80));
  return page.size();
}

/// The pieces of text in which references are sought.
std::vector<std::string> visible_pieces(const std::string& page) {
  constexpr std::array<std::pair<std::string_view, char>, 3> entities = {
      {{"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}}};
  std::vector<std::string> pieces(1);
  for (std::size_t i = 0; i < page.size();) {
    const std::string_view rest = std::string_view(page).substr(i);
    const auto* const entity =
        std::find_if(entities.begin(), entities.end(), [&](const auto& each) { return rest.starts_with(each.first); });
    if (page[i] == '`' || page[i] == '<') {
      i = page[i] == '`' ? end_of_code(page, i) : page.find('>', i) + 1;
      pieces.emplace_back();
    } else if (entity != entities.end()) {
      pieces.back() += entity->second;
      i += entity->first.size();
    } else {
      if (page[i] == '\\' && i + 1 < page.size()) ++i;
      pieces.back() += page[i++];
    }
  }
  return pieces;
}

/// What the platforms turn into links, mentions, images and labels.
const std::vector<std::regex>& references() {
  static const std::vector<std::regex> all = [] {
    std::vector<std::regex> made;
    for (const char* form : {R"(@[\w-])",
                             R"(#\d)",
                             R"(!\d)",
                             R"(!\[)",
                             R"(\$\d)",
                             R"(&\d)",
                             R"(%[\w"-])",
                             R"(~[^\s])",
                             R"(\^alert#\d)",
                             R"(\*iteration:)",
                             R"(\[\w+:)",
                             R"(\[\[)",
                             R"(\b[Gg][HhLl]-\d)",
                             R"(\b[A-Z][A-Z0-9_]+-\d)",
                             R"(\bGHSA-\w)",
                             R"(\b[0-9a-fA-F]{7,40}\b)",
                             R"(:[\w+-]+:)",
                             R"(://)",
                             R"(\b[Ww]{3}\.)",
                             R"([\w-]+/[\w-]+>)",
                             R"(\{\+)"})
      made.emplace_back(form);
    return made;
  }();
  return all;
}

std::string first_reference(const std::string& page) {
  for (const std::string& piece : visible_pieces(page))
    for (const std::regex& form : references())
      if (std::smatch match; std::regex_search(piece, match, form)) return match.str() + " in " + piece;
  return "";
}

/// Texts of which each is a reference.
const std::vector<std::string> texts = {
    "GH-123.log",
    "gh-123",
    "octo!77.log",
    "x %44.log",
    "%\"next release\"",
    "%v1-0",
    "#12",
    "group/project#3",
    "@someone",
    "@group/team",
    "org/repo@0123456789abcdef0123456789abcdef01234567",
    "0123456",
    "deadbeef",
    "&5",
    "~bug",
    "~\"to do\"",
    "$12",
    "^alert#7",
    "[vulnerability:3]",
    "[issue:group/project/12]",
    "[[wiki page]]",
    "![image](x.png)",
    "*iteration:\"now\"",
    "group/project>",
    "PROJ-12",
    "CVE-2021-44228",
    "GHSA-4xqq-m2hx-25v8",
    ":smile:",
    "std::b::c",
    "file.py:100:",
    "https://host.example/x",
    "www.host.example",
    "WWW.host.example",
    "a@b.example",
    "mailto:a@b.example",
    "{+ added +}",
    "`#12",
    "``` @someone",
    "\\#12",
    "\\\\@someone",
    "<b>#12",
    "&#35;12",
};

/// A report with the text in each of its texts, at their beginning or at their end.
Report report_with(const std::string& text, bool at_end) {
  Report report = samples::fatal();
  report.incidents.push_back(report.incidents[0]);
  report.incidents[1].follows = "i1";
  report.incidents[1].occurrences = {samples::at(7)};
  for (int rank = 0; rank < 4; ++rank)
    report.ranks.push_back({rank, rank == 1, 10, "allocated", 1e9, 2e9, 3e9, false, samples::at(3)});
  report.notes.push_back({"warning", "cut off", samples::cited(3, "a line", "line")});
  report.settings = {{"batch_size", "8", samples::at(1)}};
  visit_texts(report, [&](std::string& each, Location*) { each = at_end ? each + " " + text : text + " " + each; });
  return report;
}

}  // namespace

TEST_CASE("the references that the tests look for are found", "[markdown]") {
  for (const std::string& text : texts) {
    CAPTURE(text);
    if (text[0] != '`' && text[0] != '<' && text[0] != '\\' && !text.starts_with("&#"))
      CHECK(first_reference(text) != "");
  }
  CHECK(first_reference("`#12` and `` @a`b `` 95% of 3 * 4, ranks 0-3; a/b > c & d\n```\n#12\n```\n").empty());
}

TEST_CASE("no inline text is a reference, and it looks the same", "[markdown]") {
  for (const std::string& text : texts)
    for (const std::string& whole : {text, "in " + text, "(" + text + ")", text + " " + text, "x" + text}) {
      const std::string page = markdown_inline(whole);
      CAPTURE(whole, page);
      CHECK(first_reference(page) == "");
      std::string shown;
      for (const std::string& piece : visible_pieces(page)) shown += piece;
      CHECK(shown == whole);
    }
}

TEST_CASE("no text of a report is a reference, wherever the page shows it", "[markdown]") {
  for (const std::string& text : texts)
    for (const bool at_end : {false, true}) {
      const Report report = report_with(text, at_end);
      const std::string page = markdown_text(report);
      CAPTURE(text, at_end);
      CHECK(first_reference(page) == "");
      std::string shown;
      for (const std::string& piece : visible_pieces(page)) shown += piece;
      std::size_t times = 0;
      for (std::size_t at = 0; (at = shown.find(text, at)) != std::string::npos; ++at) ++times;
      CHECK(times > 20);
    }
}

TEST_CASE("no text of two reports is a reference in their comparison", "[markdown]") {
  for (const std::string& text : texts)
    for (const bool at_end : {false, true}) {
      const Report good = report_with(text, at_end);
      Report bad = good;
      bad.series[0].max_value *= 2;
      bad.settings[0].value += "0";
      CAPTURE(text, at_end);
      CHECK(first_reference(comparison_markdown(compare(good, bad))) == "");
    }
}

TEST_CASE("inline text begins no block", "[markdown]") {
  CHECK(markdown_inline("- x") == "\\- x");
  CHECK(markdown_inline("-5 GiB") == "-5 GiB");
  CHECK(markdown_inline("--- x") == "\\--- x");
  CHECK(markdown_inline("+ x") == "\\+ x");
  CHECK(markdown_inline("1. x") == "1\\. x");
  CHECK(markdown_inline("12) x") == "12\\) x");
  CHECK(markdown_inline("1.5 GiB") == "1.5 GiB");
  CHECK(markdown_inline("===") == "\\===");
  CHECK(markdown_inline("/close") == "\\/close");
  CHECK(markdown_inline("/label bug") == "\\/label bug");
  CHECK(markdown_inline("/proc/meminfo has 2^30 bytes") == "/proc/meminfo has 2^30 bytes");
  CHECK(markdown_inline("      code") == "code");
  CHECK(markdown_inline("# title") == "#<!-- --> title");
  CHECK(markdown_inline("95% of 24 GiB, step 100: loss 3.5 * 2").find("<!--") == std::string::npos);
}
