// Laws over all samples: nothing healthy is called sick, damage loses no line, every parser is shown by a sample.
#include <set>

#include "analysis/analysis.h"
#include "catch.h"
#include "oomdoctor/diagnose.h"
#include "parse/scanner.h"
#include "samples.h"
#include "text/lines.h"

namespace oomdoctor {
namespace {

Report read(const std::string& name, std::string text) { return diagnose({{name, std::move(text)}}); }

std::int64_t lines_in(const std::string& text) {
  std::int64_t ends = count_line_ends(text);
  if (!text.empty() && text.back() != '\n' && text.back() != '\r') ++ends;
  return ends;
}

/// The text as a console of `width` columns would have broken it.
std::string wrapped(const std::string& text, std::size_t width) {
  std::string out;
  std::size_t column = 0;
  for (const char c : text) {
    if (c == '\n' || c == '\r')
      column = 0;
    else if (column++ == width)
      out.push_back('\n'), column = 1;
    out.push_back(c);
  }
  return out;
}

}  // namespace

TEST_CASE("nothing healthy is called a failure or a risk", "[law]") {
  const auto logs = testing::sample_logs("healthy");
  CHECK(logs.size() >= 30);
  for (const auto& path : logs) {
    CAPTURE(testing::sample_name(path));
    const Report r = read("healthy", testing::read_file(path));
    CHECK(r.verdict.outcome == "no_oom");
    for (const ReportIncident& i : r.incidents) CHECK(i.handled);
  }
}

TEST_CASE("a log cut anywhere is read to its end", "[law]") {
  const Scanner scanner(all_parsers());
  for (const auto& path : testing::sample_logs()) {
    CAPTURE(testing::sample_name(path));
    const std::string text = testing::read_file(path);
    for (std::size_t k = 1; k <= 20; ++k) {
      const std::string cut = text.substr(0, text.size() * k / 21);
      std::vector<Source> sources;
      sources.push_back(Source::of_text("cut", cut));
      Case story = scanner.scan(sources);
      CHECK(story.coverage.lines == lines_in(cut));
      CHECK(analyse(story, {}).trends.size() == story.series.size());
    }
  }
}

TEST_CASE("every parser is exercised by a sample", "[law]") {
  std::set<std::string> seen;
  for (const auto& path : testing::sample_logs())
    for (const auto& [parser, count] : read("sample", testing::read_file(path)).coverage.by_parser) seen.insert(parser);
  for (const Parser* parser : all_parsers()) {
    CAPTURE(parser->name);
    CHECK(seen.contains(std::string(parser->name)));
  }
}

TEST_CASE("a console's wrapping changes no number of a device message", "[law]") {
  for (const auto& path : testing::sample_logs("torch_oom")) {
    CAPTURE(testing::sample_name(path));
    const std::string text = testing::read_file(path);
    const Report plain = read("plain", text);
    for (const std::size_t width : {60u, 80u, 120u}) {
      CAPTURE(width);
      const Report broken = read("wrapped", wrapped(text, width));
      REQUIRE(broken.incidents.size() == plain.incidents.size());
      for (std::size_t i = 0; i < plain.incidents.size(); ++i) {
        CHECK(broken.incidents[i].requested_bytes == plain.incidents[i].requested_bytes);
        CHECK(broken.incidents[i].capacity_bytes == plain.incidents[i].capacity_bytes);
        CHECK(broken.incidents[i].free_bytes == plain.incidents[i].free_bytes);
        CHECK(broken.incidents[i].allocated_bytes == plain.incidents[i].allocated_bytes);
        CHECK(broken.incidents[i].unallocated_bytes == plain.incidents[i].unallocated_bytes);
        CHECK(broken.incidents[i].other_processes == plain.incidents[i].other_processes);
      }
    }
  }
}

TEST_CASE("accounts balance", "[law]") {
  for (const auto& path : testing::sample_logs())
    for (const ReportIncident& i : read("sample", testing::read_file(path)).incidents) {
      if (!i.account) continue;
      CAPTURE(testing::sample_name(path), i.id);
      std::int64_t sum = i.account->unexplained_bytes;
      for (const Share& s : i.account->shares) sum += s.bytes;
      CHECK(sum == i.account->capacity_bytes);
    }
}

}  // namespace oomdoctor
