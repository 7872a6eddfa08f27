// Invariants of all patterns, line formats and tables of all parsers.
#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "base/ascii.h"
#include "catch.h"
#include "fold/scanner.h"
#include "formats/format_list.h"
#include "model/remark_ids.h"
#include "redact/secrets.h"
#include "samples.h"

namespace oomdoctor {
namespace {

ScanResult scan_text(const std::string& text) {
  static const Scanner scanner(all_parsers());
  std::vector<Source> sources;
  sources.push_back(Source::of_text("example", text));
  return scanner.scan(sources);
}

/// An unbounded repetition of something that matches nearly everything costs the length of the line.
bool unbounded(std::string_view regex, std::string& what) {
  for (std::size_t i = 0; i + 1 < regex.size(); ++i) {
    std::size_t end = 0;
    if (regex[i] == '\\') {
      end = i + 2;
      const char c = regex[i + 1];
      if (end < regex.size() && (regex[end] == '*' || regex[end] == '+') &&
          (c == 's' || c == 'S' || c == 'D' || c == 'W')) {
        what = regex.substr(i, 3);
        return true;
      }
      ++i;
      continue;
    }
    if (regex[i] == '.') {
      end = i + 1;
    } else if (regex[i] == '[') {
      end = regex.find(']', i + 3) + 1;
      if (regex[i + 1] != '^') {  // a class that lists its characters; a point in it is a literal point
        i = end - 1;
        continue;
      }
    } else {
      continue;
    }
    if (end < regex.size() && (regex[end] == '*' || regex[end] == '+')) {
      what = regex.substr(i, end - i + 1);
      return true;
    }
  }
  return false;
}

/// Readers of the machine, the job and the names of programs, which may match any other reader's example. One reads
/// what a program prints after the message of a failure.
bool may_match_any_example(std::string_view reader) {
  return reader.starts_with("circumstances/") || reader.starts_with("programs/") || reader == "prints/after_failure";
}

}  // namespace

TEST_CASE("exactly one reader matches each example, its own", "[law]") {
  const Scanner scanner(all_parsers());
  for (const Parser* parser : all_parsers()) {
    for (const Pattern& p : parser->patterns) {
      CAPTURE(p.name);
      std::vector<std::string> matching_formats = scanner.matching_formats(p.example);
      // The general reader may match as well: the words around an exact form are free.
      const bool several = p.non_exclusive || p.fallback || p.example.find('\n') != p.example.npos;
      if (p.name != "statements/failure" && several) std::erase(matching_formats, "statements/failure");
      std::erase_if(matching_formats, [&](const std::string& name) {
        return name != p.name && (may_match_any_example(p.name) || may_match_any_example(name));
      });
      if (p.name != "exceptions/python")
        std::erase(matching_formats, "exceptions/python");  // the exception that ended the run may be on the same line
      CHECK(matching_formats == std::vector<std::string>{std::string(p.name)});
    }
    for (const LineFormat& g : parser->gauges) {
      CAPTURE(g.name);
      std::vector<std::string> matching_formats = scanner.matching_formats(g.example);
      std::erase_if(matching_formats, may_match_any_example);
      CHECK(matching_formats == std::vector<std::string>{std::string(g.name)});
    }
  }
}

TEST_CASE("each example emits something", "[law]") {
  for (const Parser* parser : all_parsers())
    for (const Pattern& p : parser->patterns) {
      CAPTURE(p.name);
      const ScanResult c = scan_text(std::string(p.example));
      CHECK(c.incidents.size() + c.series.size() + c.settings.size() + c.remarks.size() + c.lost.size() +
                static_cast<std::size_t>(c.progress_lines) >
            0);
    }
}

TEST_CASE("the example of a line format gives a reading or a step", "[law]") {
  for (const Parser* parser : all_parsers())
    for (const LineFormat& g : parser->gauges) {
      CAPTURE(g.name);
      const ScanResult c = scan_text(std::string(g.example));
      CHECK(c.series.size() + static_cast<std::size_t>(c.progress_lines) > 0);
    }
}

TEST_CASE("no regex repeats nearly anything without a bound", "[law]") {
  for (const Parser* parser : all_parsers())
    for (const Pattern& p : parser->patterns) {
      std::string what;
      CAPTURE(p.name);
      CHECK_FALSE(unbounded(p.regex, what));
      CHECK(what == "");
      CHECK(p.regex.find("[^\\n]") == std::string_view::npos);  // a carriage return ends a line as well
    }
}

TEST_CASE("no regex for secrets repeats nearly anything without a bound", "[law]") {
  for (const std::string_view regex : secret_regexes()) {
    std::string what;
    CAPTURE(regex);
    CHECK_FALSE(unbounded(regex, what));
  }
}

TEST_CASE("a regex that is declared to begin at its anchor begins there", "[law]") {
  for (const Parser* parser : all_parsers())
    for (const Pattern& p : parser->patterns) {
      if (!p.before_anchor) continue;
      CAPTURE(p.name);
      Captures captures;
      const std::string text = "some words before it: " + std::string(p.example);
      REQUIRE(Regex(p.regex).search(text, captures) == Search::found);
      const std::string folded = p.fold_case ? lower(text) : text;
      std::vector<std::string_view> anchors(p.more_anchors.begin(), p.more_anchors.end());
      anchors.insert(anchors.end(), {p.anchor, p.second_anchor});
      CHECK(std::any_of(anchors.begin(), anchors.end(), [&](std::string_view anchor) {
        return folded.find(anchor, captures.begin) <= captures.begin + *p.before_anchor;
      }));
    }
}

TEST_CASE("names have the form file/name and are unique", "[law]") {
  std::set<std::string_view> seen;
  const auto check = [&](const Parser& parser, std::string_view name) {
    CAPTURE(name);
    CHECK(name.substr(0, name.find('/')) == parser.name);
    CHECK(seen.insert(name).second);
  };
  for (const Parser* parser : all_parsers()) {
    for (const Pattern& p : parser->patterns) check(*parser, p.name);
    for (const LineFormat& g : parser->gauges) check(*parser, g.name);
    for (const Table& t : parser->tables) check(*parser, t.name);
  }
}

TEST_CASE("each format names the source of its lines", "[law]") {
  for (const FormatInfo& format : list_formats(all_parsers())) {
    CAPTURE(format.name);
    CHECK(!format.source.empty());
  }
}

TEST_CASE("remarks have fixed ids only", "[law]") {
  std::set<std::string_view> known;
  for (const RemarkSpec& spec : remark_specs) known.insert(spec.id);
  for (const Parser* parser : all_parsers())
    for (const Pattern& p : parser->patterns) {
      CAPTURE(p.name);
      for (const Event& e : scan_text(std::string(p.example)).remarks)
        if (const auto* remark = std::get_if<Remark>(&e.what)) CHECK(known.contains(remark->id));
    }
}

TEST_CASE("a hostile line costs no more than a bounded search", "[law]") {
  // Every anchor, repeated: oomdoctor tries all patterns again and again on lines that nearly match.
  for (const Parser* parser : all_parsers())
    for (const Pattern& p : parser->patterns) {
      CAPTURE(p.name);
      std::string line;
      while (line.size() < 20000) line += std::string(p.anchor) + "((((     1111.11 GiB; ";
      CHECK(scan_text(line + "\n" + line + "\n").coverage.lines == 2);
    }
}

TEST_CASE("a near test sees its line only, and all digits are alike to it", "[law]") {
  std::mt19937 engine(9);
  const auto other_digits = [&](std::string text) {
    for (char& c : text)
      if (c >= '0' && c <= '9') c = static_cast<char>('0' + engine() % 10);
    return text;
  };
  const auto has_digit = [](std::string_view text) { return text.find_first_of("0123456789") != text.npos; };
  std::map<std::string_view, int> tested;
  for (const auto& log : testing::law_samples()) {
    const std::string text = testing::read_file(log), other = other_digits(text);
    for (const Parser* parser : all_parsers())
      for (const Pattern& p : parser->patterns) {
        if (p.may_match == nullptr) continue;
        std::vector<std::string_view> anchors{p.anchor, p.second_anchor};
        anchors.insert(anchors.end(), p.more_anchors.begin(), p.more_anchors.end());
        for (const std::string_view anchor : anchors) {
          if (anchor.empty() || has_digit(anchor)) continue;
          for (std::size_t at = text.find(anchor); at != text.npos; at = text.find(anchor, at + 1)) {
            const bool answer = p.may_match(text, at);
            const std::size_t before = text.find_last_of("\r\n", at), after = text.find_first_of("\r\n", at);
            const std::size_t begin = before == text.npos ? 0 : before + 1, end = std::min(after, text.size());
            const std::string line = text.substr(begin, end - begin) + "\n";
            CAPTURE(p.name, anchor, line);
            CHECK(answer == p.may_match(other, at));
            CHECK(answer == p.may_match(line, at - begin));
            CHECK(answer == p.may_match("| cached: 5 GPU memory\r" + line + "reserved | cached: 1 GB\n",
                                        at - begin + std::string_view("| cached: 5 GPU memory\r").size()));
            ++tested[p.name];
          }
        }
      }
  }
  CHECK(tested.size() * testing::one_sample_in > 30);
}

}  // namespace oomdoctor
