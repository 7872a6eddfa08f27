// Invariants over all samples: a healthy log gets no alarm, damage loses no line, every parser has a sample.
#include <fmt/format.h>

#include <array>
#include <set>
#include <sstream>
#include <nlohmann/json.hpp>

#include "catch.h"
#include "facts/analysis.h"
#include "fold/scanner.h"
#include "oomdoctor/diagnose.h"
#include "samples.h"
#include "text/line_index.h"

namespace oomdoctor {
namespace {

Report read(const std::string& name, std::string text) { return diagnose({{name, std::move(text)}}); }

std::int64_t lines_in(const std::string& text) {
  std::int64_t ends = LineIndex(text).feeds(0, text.size());
  if (!text.empty() && text.back() != '\n') ++ends;
  return ends;
}

/// The text as a console of `width` columns would wrap it. Colours take no column.
std::string wrapped(const std::string& text, std::size_t width) {
  std::string out;
  std::size_t column = 0;
  bool escape = false;
  for (const char c : text) {
    escape |= c == '\x1b';
    if (c == '\n' || c == '\r')
      column = 0;
    else if (!escape && column++ == width)
      out.push_back('\n'), column = 1;
    if (escape && c != '\x1b' && c != '[' && (c < '0' || c > '?')) escape = false;
    out.push_back(c);
  }
  return out;
}

/// The series and the incidents of a report, without their positions in the file.
std::string build_account(const Report& r) {
  std::string out = std::string(to_string(r.verdict.outcome)) + '\n';
  for (const ReportSeries& s : r.series)
    out += fmt::format("{} {} rank {} device {}: {} to {} at most {}\n", s.metric, s.kind, s.rank.value_or(-1),
                       s.device.value_or(-1), s.n, s.last_value, s.max_value);
  for (const ReportIncident& i : r.incidents)
    out += fmt::format("{} handled {}: {} of {}, {} free, {} allocated, {} unallocated, {} others\n", i.kind, i.handled,
                       i.requested_bytes.value_or(-1), i.capacity_bytes.value_or(-1), i.free_bytes.value_or(-1),
                       i.allocated_bytes.value_or(-1), i.unallocated_bytes.value_or(-1), i.other_processes.size());
  return out;
}

/// A log in which no line is known may also be unrecognised.
bool is_no_failure(Outcome outcome) {
  return outcome == Outcome::no_oom || outcome == Outcome::ended_otherwise || outcome == Outcome::unrecognised;
}

}  // namespace

TEST_CASE("no healthy log is called a failure or a risk", "[law]") {
  const auto logs = testing::sample_logs("healthy");
  CHECK(logs.size() >= 30);
  for (const auto& path : logs) {
    CAPTURE(testing::sample_name(path));
    const Report r = read("healthy", testing::read_file(path));
    CHECK(is_no_failure(r.verdict.outcome));
    for (const ReportIncident& i : r.incidents) CHECK(i.handled);
  }
}

TEST_CASE("a truncated log is read to its end", "[law]") {
  const Scanner scanner(all_parsers());
  for (const auto& path : testing::law_samples()) {
    CAPTURE(testing::sample_name(path));
    const std::string text = testing::read_file(path);
    for (std::size_t k = 1; k <= 20; ++k) {
      const std::string cut = text.substr(0, text.size() * k / 21);
      std::vector<Source> sources;
      sources.push_back(Source::of_text("cut", cut));
      ScanResult scan = scanner.scan(sources);
      CHECK(scan.coverage.lines == lines_in(cut));
      CHECK(analyse(scan, {}).trends.size() == scan.series.size());
    }
  }
}

TEST_CASE("facts do not depend on the trends that were computed before them", "[law]") {
  const Scanner scanner(all_parsers());
  AnalysisOptions as_needed;
  as_needed.all_trends = false;
  std::size_t spared = 0;
  for (const auto& path : testing::law_samples()) {
    CAPTURE(testing::sample_name(path));
    std::vector<Source> sources;
    sources.push_back(Source::of_text("log", testing::read_file(path)));
    const ScanResult scan = scanner.scan(sources);
    const Analysis all = analyse(scan, {}), few = analyse(scan, as_needed);
    for (std::size_t i = 0; i < few.trends.size(); ++i) spared += !few.trends.is_computed(i);
    CHECK(few.main_series == all.main_series);
    CHECK(few.notes.size() == all.notes.size());
    const bool level = !few.primary && few.main_series && few.trends.is_level(*few.main_series);
    for (const FactSpec& spec : fact_specs()) {
      CAPTURE(spec.name);
      const Fact *in_all = all.facts.find(spec), *in_few = few.facts.find(spec);
      // Without a failure, a line names no level series.
      if (level && spec.name.starts_with("trend.") && in_few == nullptr) continue;
      REQUIRE((in_all == nullptr) == (in_few == nullptr));
      if (in_all != nullptr) CHECK(fact_text(spec, in_all->value) == fact_text(spec, in_few->value));
    }
  }
  CHECK(spared * testing::one_sample_in > 100);
}

TEST_CASE("every parser is used by a sample", "[law]") {
  std::set<std::string> seen;
  for (const auto& path : testing::sample_logs())
    for (const auto& [parser, count] : read("sample", testing::read_file(path)).coverage.by_parser) seen.insert(parser);
  for (const Parser* parser : all_parsers()) {
    CAPTURE(parser->name);
    CHECK(seen.contains(std::string(parser->name)));
  }
}

TEST_CASE("wrapping by a console changes the result of very few logs only", "[law]") {
  std::size_t broken = 0, different = 0;
  for (const auto& path : testing::law_samples()) {
    const std::string text = testing::read_file(path);
    const std::string plain = build_account(read("log", text));
    for (const std::size_t width : {60u, 80u, 120u}) {
      const std::string narrow = wrapped(text, width);
      if (narrow == text) continue;
      ++broken;
      if (build_account(read("log", narrow)) == plain) continue;
      ++different;
      UNSCOPED_INFO(testing::sample_name(path) << " at " << width << " columns");
    }
  }
  CHECK(broken * testing::one_sample_in > 600);
  // One or two breaks, each where a line may well end, do not show that a console made them.
  CHECK(different * 40 <= broken * testing::share_scatter);
}

TEST_CASE("what a log collector puts around the lines changes the result of very few logs only", "[law]") {
  using Form = std::string (*)(std::size_t, const std::string&);
  constexpr std::array<Form, 6> forms{
      [](std::size_t k, const std::string& line) {
        return fmt::format("2026-03-04T{:02}:{:02}:{:02}.1234567Z {}", k / 3600 % 24, k / 60 % 60, k % 60, line);
      },
      [](std::size_t k, const std::string& line) {
        return fmt::format("2026-03-04T{:02}:{:02}:{:02}.123456789Z stdout F {}", k / 3600 % 24, k / 60 % 60, k % 60,
                           line);
      },
      [](std::size_t, const std::string& line) { return "[pod/trainer-0/main] " + line; },
      [](std::size_t, const std::string& line) { return "trainer-1  | " + line; },
      [](std::size_t k, const std::string& line) {
        return fmt::format("Mar  4 {:02}:{:02}:{:02} node7 train.sh[4242]: {}", k / 3600 % 24, k / 60 % 60, k % 60,
                           line);
      },
      [](std::size_t k, const std::string& line) {
        return nlohmann::json{
            {"log", line + '\n'},
            {"stream", "stdout"},
            {"time", fmt::format("2026-03-04T{:02}:{:02}:{:02}.123456789Z", k / 3600 % 24, k / 60 % 60, k % 60)}}
            .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
      },
  };
  std::size_t collected = 0, different = 0;
  for (const auto& path : testing::law_samples()) {
    const std::string text = testing::read_file(path);
    std::string around;
    std::size_t lines = 0;
    const Form form = forms[testing::stable_hash(testing::sample_name(path)) % forms.size()];
    for (std::istringstream rest(text); std::getline(rest, around); ++lines) continue;
    if (lines < 4 || text.find('\0') != text.npos) continue;
    std::string out;
    std::size_t k = 0;
    for (std::istringstream rest(text); std::getline(rest, around);) out += form(k++, around) + '\n';
    ++collected;
    if (build_account(read("log", out)) == build_account(read("log", text))) continue;
    ++different;
    UNSCOPED_INFO(testing::sample_name(path) << ": " << out.substr(0, out.find('\n')));
  }
  CHECK(collected * testing::one_sample_in > 500);
  CHECK(different * 40 <= collected * testing::share_scatter);
}

TEST_CASE("memory breakdowns balance", "[law]") {
  for (const auto& path : testing::law_samples())
    for (const ReportIncident& i : read("sample", testing::read_file(path)).incidents) {
      if (!i.account) continue;
      CAPTURE(testing::sample_name(path), i.id);
      std::int64_t sum = i.account->unexplained_bytes;
      for (const Share& s : i.account->shares) sum += s.bytes;
      CHECK(sum == i.account->capacity_bytes);
    }
}

}  // namespace oomdoctor
