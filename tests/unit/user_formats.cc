// Formats that users declare: the values that they read, and errors that quote the line of the file.
#include "formats/user_formats.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.h"
#include "catch.h"
#include "fold/scanner.h"
#include "formats/format_list.h"

using namespace oomdoctor;

namespace {

constexpr std::string_view by_form = R"([[format]]
name    = "trainer/step"
anchor  = "gpu_resident="
form    = "it={step} ~gpu_resident={allocated}"
unit    = "MiB"
example = "it=40 loss=2.8 gpu_resident=5120.5"
)";

constexpr std::string_view by_regex = R"([[format]]
name    = "trainer/step"
anchor  = "gpu_resident="
regex   = 'it=(?<step>\d{1,9}) .{0,80}gpu_resident=(?<allocated>[\d.]{1,12})'
unit    = "MiB"
kind    = "gauge"
label   = "mine"
example = "it=40 loss=2.8 gpu_resident=5120.5"
)";

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string out(text);
  const auto at = out.find(from);
  REQUIRE(at != std::string::npos);
  return out.replace(at, from.size(), to);
}

Error error_of(std::string_view text) {
  try {
    UserFormats(all_parsers()).add("my.toml", text);
  } catch (const Error& error) {
    return error;
  }
  return Error("no error");
}

/// Message, excerpt and help, one per line.
std::string error_text(std::string_view text) {
  const Error error = error_of(text);
  return error.what() + ("\n" + error.excerpt()) + "\n" + error.help();
}

ScanResult scan_with(std::string_view formats, std::string log) {
  UserFormats user(all_parsers());
  user.add("my.toml", formats);
  std::vector<Source> sources;
  sources.push_back(Source::of_text("test.log", std::move(log)));
  return Scanner(user.parsers()).scan(sources);
}

constexpr std::string_view steps =
    "it=10 loss=2.9 gpu_resident=5000.5\nit=20 loss=2.8 gpu_resident=5010.5\nit=30 loss=2.7 gpu_resident=5020.5\n";

}  // namespace

TEST_CASE("a form and a regex read the same series") {
  for (const std::string_view formats : {by_form, by_regex}) {
    const ScanResult c = scan_with(formats, std::string(steps));
    REQUIRE(c.series.size() == 1);
    const Series& s = c.series.front();
    CHECK(s.metric == Metric::allocated);
    CHECK(s.kind == SeriesKind::gauge);
    CHECK(s.n == 3);
    CHECK(s.last_x == 30);
    CHECK(s.first_value == 5000.5 * static_cast<double>(MiB));
    CHECK(s.quantum == Approx(0.1 * static_cast<double>(MiB)));
    CHECK(s.unit == "MiB");
    CHECK(s.label == (formats == by_form ? "" : "mine"));
    CHECK(s.first_evidence.reader == "trainer/step");
    CHECK(c.coverage.by_parser.at("my.toml") == 3);
  }
}

TEST_CASE("units follow their letters") {
  const auto first = [](std::string_view unit) {
    const ScanResult c = scan_with(replaced(by_form, "\"MiB\"", "\"" + std::string(unit) + "\""), std::string(steps));
    return c.series.empty() ? 0 : c.series.front().first_value;
  };
  CHECK(first("B") == 5000.5);
  CHECK(first("KB") == 5000.5e3);
  CHECK(first("KiB") == 5000.5 * 1024);
  CHECK(first("MB") == 5000.5e6);
  CHECK(first("GB") == 5000.5e9);
  CHECK(first("GiB") == 5000.5 * static_cast<double>(GiB));
}

TEST_CASE("a unit may have other letters in the log, and may be several of one") {
  const std::string text = replaced(by_form, "unit    = \"MiB\"", "unit = \"1000 KiB\"\nprinted = \"MB\"");
  const ScanResult c = scan_with(text, std::string(steps));
  REQUIRE(c.series.size() == 1);
  CHECK(c.series.front().first_value == 5000.5 * 1024e3);
  CHECK(c.series.front().unit == "MB");
}

TEST_CASE("the numbers without max_ may have a kind beside that of the maxima") {
  std::string text = replaced(by_form, "~gpu_resident={allocated}", "gpu_resident={allocated} peak={max_allocated}");
  text = replaced(text, "it=40 loss=2.8 gpu_resident=5120.5", "it=4 gpu_resident=51 peak=60");
  const ScanResult c =
      scan_with(text + "kind = \"reset_maximum\"\ncurrent = \"sampled_gauge\"\n", "it=4 gpu_resident=51 peak=60");
  REQUIRE(c.series.size() == 2);
  for (const Series& s : c.series)
    CHECK(s.kind == (s.metric == Metric::max_allocated ? SeriesKind::reset_maximum : SeriesKind::sampled_gauge));
}

TEST_CASE("a kind of maximum applies to the max_ numbers, or to all numbers if none has that name") {
  const auto kinds = [](std::string_view names, std::string_view example) {
    std::string text = replaced(by_form, "~gpu_resident={allocated}", names);
    text = replaced(text, "it=40 loss=2.8 gpu_resident=5120.5", example) + "kind = \"reset_maximum\"\n";
    std::string out;
    for (const Series& s : scan_with(text, std::string(example)).series)
      out += std::string(to_string(s.metric)) + "=" + std::string(to_string(s.kind)) + " ";
    return out;
  };
  CHECK(kinds("gpu_resident={memory}", "it=4 gpu_resident=51") == "memory=reset_maximum ");
  CHECK(kinds("gpu_resident={allocated} peak={max_allocated}", "it=4 gpu_resident=51 peak=60") ==
        "allocated=gauge max_allocated=reset_maximum ");
}

TEST_CASE("a user's format overrides the shipped readers for memory only") {
  // A shipped fallback would read "memory: 12.5GB" of this line and choose the unit itself.
  constexpr std::string_view formats = R"([[format]]
name    = "mine/memory"
anchor  = "memory: "
form    = "step {step} memory: {used}GB"
unit    = "GB"
example = "step 7 memory: 12.5GB"
)";
  const ScanResult c = scan_with(formats, "step 1 memory: 12.5GB\nstep 2 memory: 12.6GB\nstep 3 memory: 12.7GB\n");
  REQUIRE(c.series.size() == 1);
  CHECK(c.series.front().metric == Metric::used);
  CHECK(c.series.front().first_value == 12.5e9);
  // A shipped framework form would read the memory as well. Its step still counts, and host memory would.
  constexpr std::string_view megatron =
      "(after 50 iterations) memory (MB) | allocated: 20144.27 | max allocated: "
      "23118.51 | reserved: 24810.0 | max reserved: 24810.0";
  std::string mine = replaced(formats, "\"memory: \"", "\"| reserved: \"");
  mine = replaced(mine, "step {step} memory: {used}GB", "| reserved: {reserved} |");
  mine = replaced(mine, "step 7 memory: 12.5GB", "| allocated: 1.5 | reserved: 2.5 |");
  const ScanResult both = scan_with(mine, std::string(megatron) + "\n");
  REQUIRE(both.series.size() == 1);
  CHECK(both.series.front().first_value == 24810e9);
  CHECK(both.series.front().last_x == 50);
}

TEST_CASE("a user's format of host memory leaves GPU memory to the shipped readers") {
  const auto metrics_with = [&](const std::string& number) {
    const std::string format = "[[format]]\nname = \"mine/tag\"\nanchor = \"tag \"\nform = \"tag {" + number +
                               "}\"\nunit = \"MiB\"\nexample = \"tag 1.5\"\n";
    const ScanResult found = scan_with(format,
                                       "(after 50 iterations) memory (MB) | allocated: 20144.27 | max allocated: "
                                       "23118.51 | reserved: 24810.0 | max reserved: 24810.0 | tag 5.5\n");
    std::vector<Metric> out;
    for (const Series& series : found.series) out.push_back(series.metric);
    std::sort(out.begin(), out.end());
    return out;
  };
  using Metrics = std::vector<Metric>;
  const Metrics gpu{Metric::allocated, Metric::reserved, Metric::max_allocated, Metric::max_reserved};
  for (const auto& [name, metric] : {std::pair{"host_rss", Metric::host_rss},
                                     {"host_used", Metric::host_used},
                                     {"host_available", Metric::host_available}}) {
    CAPTURE(name);
    Metrics all = gpu;
    all.push_back(metric);
    CHECK(metrics_with(name) == all);
  }
  CHECK(metrics_with("used") == Metrics{Metric::used});
}

TEST_CASE("formats from two files work together, and the list names the file and line of each") {
  UserFormats user(all_parsers());
  user.add("a.toml", by_form);
  user.add("b.toml", replaced(by_regex, "trainer/step", "trainer/other"));
  const auto formats = list_formats(user.parsers());
  REQUIRE(formats.size() > 2);
  const FormatInfo &last = formats.back(), &before = formats[formats.size() - 2];
  CHECK(before.name == "trainer/step");
  CHECK(before.source == "a.toml:1");
  CHECK(before.unit == "MiB (2^20)");
  CHECK(before.kind == "gauge");
  CHECK(last.parser == "b.toml");
  CHECK(user.parsers().size() == all_parsers().size() + 2);
}

TEST_CASE("an unknown or missing key") {
  CHECK(error_text(replaced(by_form, "unit   ", "unti   ")) ==
        "my.toml:1: the key \"unit\" is missing\n[[format]]\n^\ndid you write \"unti\" for it?");
  CHECK(error_text(std::string(by_form) + "lable = \"x\"\n") ==
        "my.toml:7: unknown key \"lable\"\nlable = \"x\"\n^\ndid you mean label?");
  CHECK(error_text(std::string(by_form) + "zzzzzzzz = 1\n") ==
        "my.toml:7: unknown key \"zzzzzzzz\"\nzzzzzzzz = 1\n^\n"
        "a format has name, anchor, form or regex, unit, kind, label, example and expect");
  CHECK(error_text("[[formats]]\n") == "my.toml:1: unknown key \"formats\"\n[[formats]]\n  ^\ndid you mean format?");
}

TEST_CASE("an unknown unit or kind") {
  CHECK(error_text(replaced(by_form, "\"MiB\"", "\"Mib\"")) ==
        "my.toml:5: there is no unit \"Mib\"\nunit    = \"Mib\"\n          ^\ndid you mean MiB?");
  CHECK(error_text(replaced(by_form, "\"MiB\"", "\"pages\"")) ==
        "my.toml:5: there is no unit \"pages\"\nunit    = \"pages\"\n          ^\n"
        "choose one of: B, KB, KiB, MB, MiB, GB, GiB, TB, TiB");
  CHECK(error_text(replaced(by_regex, "\"gauge\"", "\"guage\"")) ==
        "my.toml:6: there is no kind \"guage\"\nkind    = \"guage\"\n          ^\ndid you mean gauge?");
}

TEST_CASE("an error about an unknown number points into the form or the regex") {
  CHECK(error_text(replaced(by_form, "{allocated}", "{alocated}")) ==
        "my.toml:4: there is no number \"alocated\"\nform    = \"it={step} ~gpu_resident={alocated}\"\n"
        "                                    ^\ndid you mean allocated?");
  CHECK(error_text(replaced(by_regex, "<step>", "<stepp>")) ==
        "my.toml:4: there is no number \"stepp\"\n"
        "regex   = 'it=(?<stepp>\\d{1,9}) .{0,80}gpu_resident=(?<allocated>[\\d.]{1,12})'\n"
        "                 ^\ndid you mean step?");
  CHECK(error_of(replaced(by_form, "it={step} ~gpu_resident={allocated}", "gpu_resident=")).what() ==
        std::string("my.toml:4: the form names no number"));
  CHECK(error_of(replaced(by_regex, "(?<step>\\d{1,9}) .{0,80}gpu_resident=(?<allocated>[\\d.]{1,12})", "(\\d{1,9})"))
            .what() == std::string("my.toml:4: the regex names no number"));
}

TEST_CASE("an unclosed form") {
  CHECK(error_text(replaced(by_form, "={allocated}", "={allocated")) ==
        "my.toml:4: a { has no }\nform    = \"it={step} ~gpu_resident={allocated\"\n"
        "                                   ^\nwrite {skip} for a number that does not matter");
  CHECK(error_of(replaced(by_form, "it={step}", "<it={step}")).what() == std::string("my.toml:4: a < has no >"));
  CHECK(error_of(replaced(by_form, "it={step}", "<a<it={step}>>")).what() ==
        std::string("my.toml:4: parts in < and > do not nest"));
  CHECK(error_of(replaced(by_form, "it={step}", "<a><b><c><d><e><f><g>it={step}")).what() ==
        std::string("my.toml:4: at most six parts may be absent"));
}

TEST_CASE("a regex that does not parse, or that repeats without a bound") {
  const Error broken = error_of(replaced(by_regex, "(?<allocated>[\\d.]{1,12})", "(?<allocated>[\\d.]{1,12}"));
  CHECK(std::string(broken.what()).starts_with("my.toml:4: the regex cannot be read: "));
  CHECK(broken.excerpt().starts_with("regex   = 'it=(?<step>"));
  CHECK(error_text(replaced(by_regex, ".{0,80}", ".*")) ==
        "my.toml:4: a repetition has no upper bound\n"
        "regex   = 'it=(?<step>\\d{1,9}) .*gpu_resident=(?<allocated>[\\d.]{1,12})'\n"
        "                                ^\nwrite {0,80} for *, {1,80} for +");
  CHECK(error_of(replaced(by_regex, "{1,9}", "+")).what() == std::string("my.toml:4: a repetition has no upper bound"));
  CHECK(error_of(replaced(by_regex, "{1,9}", "{1,}")).what() ==
        std::string("my.toml:4: a repetition has no upper bound"));
  CHECK(error_of(replaced(by_regex, "[\\d.]", "[\\d.*+]")).what() == std::string("no error"));
  CHECK(error_of(replaced(by_regex, "{1,9}", "{1,9}+")).what() == std::string("no error"));
}

TEST_CASE("a regex that would never end, or that names a number twice") {
  const std::string number = "(?<allocated>[\\d.]{1,12})";
  const auto why = [&](const std::string& instead) {
    return std::string(error_of(replaced(by_regex, number, instead)).what());
  };
  const auto many = [](const std::string& piece, int n) {
    std::string all;
    while (n-- > 0) all += piece;
    return all;
  };
  CHECK(why(many("a?", 10000) + number) == "my.toml:4: a regex has at most 600 bytes");
  CHECK(why(many("a?", 40) + number) == "my.toml:4: a regex has at most 32 repetitions");
  CHECK(why("a{0,100000}" + number) == "my.toml:4: a repetition counts to 1000 at most");
  CHECK(why("(?:(?:a{0,90}b{0,90}){0,90}){0,90}" + number) ==
        "my.toml:4: repetitions inside of each other make too many");
  CHECK(why("((((x{0,99})){0,99})){0,99}" + number) == "my.toml:4: repetitions inside of each other make too many");
  CHECK(why(number + " " + number) == "my.toml:4: there are two groups \"allocated\"");
  CHECK(why("(?:of ){0,3}" + number) == "no error");
}

TEST_CASE("a group in another spelling would change the group numbers") {
  for (const std::string_view group : {"(?P<step>\\d{1,9})", "(?|(\\d)|(\\d\\d))", "\\Q(\\E"}) {
    const std::string what = error_of(replaced(by_regex, "(?<step>\\d{1,9})", group)).what();
    CAPTURE(group, what);
    CHECK((what == "my.toml:4: a group is (?<name>…), (…) or (?:…)" ||
           what.starts_with("my.toml:4: the regex cannot be read: ")));
  }
  CHECK(error_of(replaced(by_regex, "it=", "(?i)[[:alpha:](]{2}=")).what() == std::string("no error"));
}

TEST_CASE("a format needs either a form or a regex") {
  CHECK(error_of(std::string(by_form) + "regex = 'it=(?<step>\\d{1,9})'\n").what() ==
        std::string("my.toml:4: a format has a form or a regex, and not both"));
  CHECK(error_of(replaced(by_form, "form    = \"it={step} ~gpu_resident={allocated}\"\n", "")).what() ==
        std::string("my.toml:2: a format has a form or a regex, and not both"));
}

TEST_CASE("an anchor that is too short") {
  CHECK(error_text(replaced(by_form, "\"gpu_resident=\"", "\"it=\"")) ==
        "my.toml:3: an anchor has at least four bytes\nanchor  = \"it=\"\n          ^\n"
        "take a text that is on every such line and on no other");
}

TEST_CASE("an example without the anchor, one that the format does not read, and one with too many matches") {
  CHECK(error_text(replaced(by_form, "loss=2.8 gpu_resident", "loss=2.8 gpu_resid")) ==
        "my.toml:6: the example does not hold the anchor\nexample = \"it=40 loss=2.8 gpu_resid=5120.5\"\n"
        "          ^\nthe anchor is gpu_resident=");
  CHECK(error_text(replaced(by_form, "\"it=40", "\"step=40")) ==
        "my.toml:6: the form does not read the example\nexample = \"step=40 loss=2.8 gpu_resident=5120.5\"\n"
        "          ^\nit is a whole line, as the program prints it");
  CHECK(error_of(replaced(by_regex, "\"it=40", "\"step=40")).what() ==
        std::string("my.toml:8: the regex does not read the example"));
  CHECK(error_text(replaced(by_form, "\"MiB\"", "\"TiB\"")) ==
        "my.toml:6: no machine has the memory that the example says\n"
        "example = \"it=40 loss=2.8 gpu_resident=5120.5\"\n          ^\none is TiB: is that the unit?");
}

TEST_CASE("two formats with the same name") {
  CHECK(error_text(std::string(by_form) + std::string(by_regex)) ==
        "my.toml:8: there are two formats \"trainer/step\"\nname    = \"trainer/step\"\n          ^\n"
        "the other is my.toml:1");
  CHECK(error_of(replaced(by_form, "trainer/step", "megatron/memory")).help() == "the other is a shipped one");
  UserFormats user(all_parsers());
  user.add("a.toml", by_form);
  CHECK_THROWS_AS(user.add("b.toml", by_regex), Error);
  CHECK(error_of(replaced(by_form, "trainer/step", "trainer")).help() == "as in \"trainer/step\"");
}

TEST_CASE("a file that is not TOML, an empty file and a missing file") {
  const Error error = error_of("[[format]\nname = 1\n");
  CHECK(std::string(error.what()).starts_with("my.toml:1: "));
  CHECK(error.excerpt().starts_with("[[format]\n"));
  // Letters beyond ASCII outside of strings are not TOML, wherever they are.
  CHECK(error_text("# m\u00efne\n\u0457r. = 1\n").starts_with("my.toml:2: "));
  CHECK(error_text("a = 40'x\u00a6'\n").starts_with("my.toml:1: "));
  CHECK(error_text("at\u0457r.").starts_with("my.toml:1: "));
  CHECK(error_text("# mine\n[[*format]]\n") ==
        "my.toml:2: a table's name begins with a letter, a digit, _, - or a quotation mark\n[[*format]]\n  ^\n");
  CHECK(std::string(error_of("").what()) == "my.toml: there is no [[format]] in it");
  CHECK(error_text("format = 3\n") ==
        "my.toml:1: \"format\" must be a list of tables\nformat = 3\n         ^\nwrite [[format]]");
  CHECK(error_text(replaced(by_form, "\"MiB\"", "3")) ==
        "my.toml:5: \"unit\" must be a text\nunit    = 3\n          ^\n");
  UserFormats user(all_parsers());
  CHECK_THROWS_WITH(user.add_file("no/such.toml"), "file not found: no/such.toml");
}

TEST_CASE("a user's format does a bounded search on a hostile line") {
  std::string line;
  while (line.size() < 20000) line += "it=1 gpu_resident=1 ";
  CHECK(scan_with(by_regex, line + "\n" + line + "\n").coverage.lines == 2);
  CHECK(scan_with(by_form, line + "\n" + line + "\n").coverage.lines == 2);
}

TEST_CASE("the report names a regex that takes too many steps, and oomdoctor still reads the other lines") {
  std::string tries;
  for (int i = 0; i < 16; ++i) tries += "a?";
  const std::string formats = replaced(by_regex, "regex   = '", "regex   = '(?:" + tries + "a{16}x)?");
  std::string log;
  for (int step = 1; step <= 40; ++step)
    log += (step % 4 == 0 ? std::string(20, 'a') : "") + "it=" + std::to_string(step) +
           " loss=2 gpu_resident=" + std::to_string(5000 + step) + "\n";
  const ScanResult scan = scan_with(formats, log);
  REQUIRE(scan.notes.size() == 1);
  CHECK(scan.notes[0].text ==
        "format trainer/step: its regex took too many steps on 10 lines (first: line 4) and was not applied there; "
        "limit its repetitions");
  REQUIRE(scan.series.size() == 1);
  CHECK(scan.coverage.by_parser.begin()->second == 30);
}
