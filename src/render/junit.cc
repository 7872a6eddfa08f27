#include "render/ci_reports.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "report/escape.h"
#include "report/findings.h"
#include "report/incident_words.h"
#include "report/words.h"

namespace oomdoctor {
namespace {

constexpr std::size_t max_cases = 1000;

/// The name of a test case is the same in every run, so that a CI system shows since when it fails.
struct TestCase {
  std::string group, name;
  std::string failure;  ///< an XML element, or ""
  std::string skipped;  ///< the reason, or ""
};

/// `description` becomes the message, `details` the text of the element.
std::string failure_element(std::string_view type, const std::string& description, const std::string& details) {
  return fmt::format("<failure type=\"{}\" message=\"{}\">{}</failure>", xml_text(type),
                     xml_text(plain_line(description)), xml_text(details));
}

std::string failure_element(const Finding& of) {
  const auto end = std::min(of.text.find('\n'), of.text.size());
  std::string details = of.title;
  if (end < of.text.size()) details += of.text.substr(end);
  if (of.file != of.incident->location.path) details += fmt::format("\n{}:{}", of.file, of.line);
  for (const auto& at : of.log)
    if (!at.excerpt.empty()) details += fmt::format("\n{} {}", place(at), plain_line(at.excerpt));
  return failure_element(of.rule, of.text.substr(0, end), details);
}

/// The test cases in order, and a search for the case of an incident.
class Suite {
 public:
  // Cases exist for all ranks or logs first, so that passing ones appear as well. Then failures fill them in: errors
  // before consequences, and the first failure of a case stays.
  explicit Suite(const Report& report) {
    for (const auto& rank : report.ranks) at_rank(rank.rank);
    if (report.ranks.empty())
      for (const auto& input : report.inputs) at_log(input.path);
    for (const auto& finding : findings(report))
      if (finding.level != "error")
        warnings_ += fmt::format("Warning: {}\n{}\n", finding.title, finding.text);
      else if (TestCase& of = find_case(report, *finding.incident); of.failure.empty())
        of.failure = failure_element(finding);
    for (const auto& incident : report.incidents)
      if (incident.follows && !incident.handled)
        if (TestCase& of = find_case(report, incident); of.failure.empty())
          of.skipped = "a consequence of another failure: " + incident_title(incident);
    for (const auto& lost : report.lost) {
      if (lost.path.empty()) continue;
      if (TestCase& of = at_log(lost.path); of.failure.empty() && of.skipped.empty())
        of.skipped = "lost: " + lost_evidence_words(lost);
    }
    for (const auto& rank : report.ranks)
      if (TestCase& of = at_rank(rank.rank); rank.failed && of.failure.empty() && of.skipped.empty())
        of.failure = failure_element("undetermined", "out of memory", "");
    limit();
  }

  std::string str(const Report& report) const {
    const auto count = [&](auto field) {
      return std::count_if(cases_.begin(), cases_.end(), [&](const TestCase& of) { return !(of.*field).empty(); });
    };
    const std::string counts = fmt::format("name=\"oomdoctor\" tests=\"{}\" failures=\"{}\" errors=\"0\"",
                                           cases_.size(), count(&TestCase::failure));
    std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
    out += fmt::format("<testsuites {0}>\n  <testsuite {0} skipped=\"{1}\">\n", counts, count(&TestCase::skipped));
    out += properties(report);
    for (const auto& of : cases_) out += element(of);
    if (!warnings_.empty()) out += fmt::format("    <system-out>{}</system-out>\n", xml_text(warnings_));
    return out + "  </testsuite>\n</testsuites>\n";
  }

 private:
  TestCase& find(const std::string& group, const std::string& name) {
    const auto [found, is_new] = index_.try_emplace({group, name}, cases_.size());
    if (is_new) cases_.push_back({group, name, {}, {}});
    return cases_[found->second];
  }
  TestCase& at_rank(int rank) { return find("oomdoctor.rank", fmt::format("rank {}", rank)); }
  TestCase& at_log(const std::string& path) { return find("oomdoctor.log", path == "-" ? "standard input" : path); }
  TestCase& find_case(const Report& report, const ReportIncident& of) {
    return of.rank && !report.ranks.empty() ? at_rank(*of.rank) : at_log(of.location.path);
  }

  /// Limits the number of cases. Failed cases stay.
  void limit() {
    if (cases_.size() <= max_cases) return;
    std::stable_partition(cases_.begin(), cases_.end(), [](const TestCase& of) { return !of.failure.empty(); });
    more_ = cases_.size() - max_cases;
    cases_.resize(max_cases);
  }

  static std::string element(const TestCase& of) {
    const std::string start =
        fmt::format("    <testcase classname=\"{}\" name=\"{}\"", xml_text(of.group), xml_text(plain_line(of.name)));
    std::string inside = of.failure;
    if (inside.empty() && !of.skipped.empty())
      inside = fmt::format("<skipped message=\"{}\"/>", xml_text(plain_line(of.skipped)));
    return inside.empty() ? start + "/>\n" : fmt::format("{}>\n      {}\n    </testcase>\n", start, inside);
  }

  std::string properties(const Report& report) const {
    std::string out = "    <properties>\n";
    const auto add = [&](std::string_view name, const std::string& value) {
      out += fmt::format("      <property name=\"oomdoctor.{}\" value=\"{}\"/>\n", name, xml_text(plain_line(value)));
    };
    add("version", report.tool_version);
    add("outcome", std::string(to_string(report.verdict.outcome)));
    if (!report.verdict.cause.empty()) add("cause", report.verdict.cause);
    if (more_ > 0) add("more_cases", std::to_string(more_));
    return out + "    </properties>\n";
  }

  std::vector<TestCase> cases_;
  std::map<std::pair<std::string, std::string>, std::size_t> index_;
  std::size_t more_ = 0;
  std::string warnings_;
};

}  // namespace

std::string junit_text(const Report& report) { return Suite(report).str(report); }

}  // namespace oomdoctor
