// The short report of every sample: it fits a screen, says nothing twice, and ends with a command if it has one.
#include <algorithm>
#include <array>
#include <cmath>
#include <regex>
#include <set>

#include "catch.h"
#include "lines.h"
#include "oomdoctor/diagnose.h"
#include "render/terminal.h"
#include "report/advice_words.h"
#include "samples.h"

using namespace oomdoctor;
using testing::lines_of;

namespace {

/// The text without line breaks and without the indentation of lines.
std::string flat_text(const std::string& text) {
  std::string flat;
  for (const char c : text)
    if (c != '\n' && !(c == ' ' && flat.ends_with(' ')))
      flat += c;
    else if (!flat.ends_with(' '))
      flat += ' ';
  return flat;
}

/// Sentences of four words and more.
std::vector<std::string> sentences_of(const std::string& text) {
  const std::string flat = flat_text(text);
  std::vector<std::string> sentences;
  for (std::size_t from = 0; from < flat.size();) {
    const auto end = std::min(flat.find(". ", from), flat.size());
    const std::string sentence = flat.substr(from, end - from);
    if (std::count(sentence.begin(), sentence.end(), ' ') >= 3) sentences.push_back(sentence);
    from = end + 2;
  }
  return sentences;
}

template <class Text>
std::vector<Text> printed_twice(const std::vector<Text>& all) {
  std::set<Text> met;
  std::vector<Text> twice;
  for (const Text& text : all)
    if (!met.insert(text).second) twice.push_back(text);
  return twice;
}

/// "1.96 GiB", "640 bytes": the sizes of a report.
std::vector<std::string> sizes_in(const std::string& text) {
  static const std::regex size(R"(\b\d+(?:\.\d+)? (?:[KMGT]iB|bytes)\b)");
  std::vector<std::string> sizes;
  for (std::sregex_iterator it(text.begin(), text.end(), size), end; it != end; ++it) sizes.push_back(it->str());
  return sizes;
}

/// The confidence at the end of the first sentence, and that of the line below the rule; nullopt without one.
std::optional<std::string> first_confidence(std::string_view text) {
  static const std::regex confidence(R"(\((\d{1,2}%)\)\s*$)");
  const std::string part(text);
  std::smatch found;
  return std::regex_search(part, found, confidence) ? std::optional(found[1].str()) : std::nullopt;
}

}  // namespace

TEST_CASE("the first and the last part of a short report agree", "[laws]") {
  std::size_t compared = 0;
  for (const auto& path : testing::law_samples()) {
    const std::string name = path.filename().string();
    const Report report = diagnose({{name, testing::read_file(path)}});
    if (!has_cause(report.verdict) || report.verdict.outcome != Outcome::oom) continue;
    const std::string text = terminal_text(report, {.width = 400});
    INFO(testing::sample_name(path) << "\n" << text);
    const auto rule = text.find("\n── ");
    const auto last = rule == text.npos ? text.npos : text.find('\n', rule + 1) + 1;
    REQUIRE(last != text.npos);
    CHECK(text.starts_with("error[" + report.verdict.cause + "]: "));
    const auto first = first_confidence(std::string_view(text).substr(0, text.find('\n')));
    CHECK(first == first_confidence(std::string_view(text).substr(last, text.find('\n', last) - last)));
    CHECK(first.has_value());
    ++compared;
  }
  CHECK(compared * testing::one_sample_in > 300);
}

TEST_CASE("the rows of an unclear cause add up to all", "[laws]") {
  std::size_t unclear = 0;
  for (const auto& path : testing::law_samples()) {
    const Report report = diagnose({{path.filename().string(), testing::read_file(path)}});
    if (has_cause(report.verdict) || report.verdict.cause.empty() || report.causes.empty()) continue;
    INFO(testing::sample_name(path));
    long percents = 0;
    for (const CandidateRow& row : candidate_rows(report)) percents += std::lround(100 * row.probability);
    CHECK(percents <= 100);
    CHECK(percents >= 95);  // fewer than 5% have no row
    ++unclear;
  }
  CHECK(unclear * testing::one_sample_in > 100);
}

TEST_CASE("advice that is popular everywhere is printed where the log tries or suggests it", "[laws]") {
  const auto short_report = [](const std::string& sample) {
    return terminal_text(
        diagnose({{"train.log", testing::read_file(testing::source_folder() / "samples" / (sample + ".log"))}}), {});
  };
  for (const auto& [advice, shown, hidden] : {std::array{"allow_growth", "tensorflow/growth_tried", "tensorflow/bfc"},
                                              std::array{"empty_cache", "prescriptions/empties_cache", "stories/leak"},
                                              std::array{"More GPUs with DDP", "", "stories/model_states_optimizer"}}) {
    const std::string tries = shown;
    INFO(advice);
    CHECK((tries.empty() || short_report(tries).find(advice) != std::string::npos));
    CHECK(short_report(hidden).find(advice) == std::string::npos);
  }
}

TEST_CASE("the short report of a sample fits a screen and repeats nothing", "[laws]") {
  constexpr std::size_t max_lines = 28;
  constexpr std::size_t shortest = 20;  // bytes of a line that counts: shorter ones are rules and parts of commands
  std::size_t samples = 0, with_repeated_size = 0;
  for (const auto& path : testing::law_samples()) {
    const std::string name = path.filename().string();
    const Report report = diagnose({{name, testing::read_file(path)}});
    const std::string text = terminal_text(report, {.width = 100});
    auto lines = lines_of(text);
    INFO(testing::sample_name(path) << "\n" << text);
    CHECK(lines.size() <= max_lines);
    std::erase_if(lines, [](const std::string& line) { return line.size() < shortest; });
    CHECK(printed_twice(lines).empty());
    CHECK(printed_twice(sentences_of(text)).empty());
    const std::string flat = flat_text(text);
    const auto headline = flat.find(report.verdict.headline);
    CHECK((headline == flat.npos || flat.find(report.verdict.headline, headline + 1) == flat.npos));
    // A failure that is not the verdict is not an error in the first line.
    if (report.verdict.outcome == Outcome::ended_otherwise && !report.incidents.empty())
      CHECK(text.starts_with("error: the "));
    // With more than four settings, the log does not show which of them is the user's.
    if (!report.fixes.empty() && !report.fixes.front().settings.empty() && report.fixes.front().settings.size() <= 4) {
      const std::string& command = report.fixes.front().settings.front().text;
      const auto end =
          std::min({command.find('\n'), command.find("   #"), std::size_t{40}});  // before a remark or a line break
      CHECK(text.find(command.substr(0, end)) != std::string::npos);
    }
    ++samples;
    with_repeated_size += !printed_twice(sizes_in(text)).empty();
  }
  INFO(with_repeated_size << " of " << samples << " reports print a size twice");
  // Where a reason, a command and the runs of a log need it again. In a part of the samples it may be more of them.
  const std::size_t one_in = testing::one_sample_in == 1 ? 12 : 8;
  CHECK(with_repeated_size * one_in <= samples);
}
