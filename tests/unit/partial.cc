// Cases written to JSON and read back, and parts merged in any order: the verdict is that of the scanned case.
#include "serialize/partial.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>

#include "base/error.h"
#include "base/natural_order.h"
#include "catch.h"
#include "fold/scanner.h"
#include "oomdoctor/diagnose.h"
#include "samples.h"
#include "serialize/json.h"
#include "temporary_folder.h"
#include "text/digest.h"

namespace oomdoctor {
namespace {

namespace fs = std::filesystem;

ScanResult scan_one(const std::string& name, std::string text) {
  static const Scanner scanner(all_parsers());
  Source source = Source::of_text(name, std::move(text));
  return scanner.scan(source);
}

bool is_same(const Bucket& a, const Bucket& b) {
  return a.n == b.n && a.x == b.x && a.t == b.t && a.y == b.y && a.low == b.low && a.high == b.high &&
         a.x_low == b.x_low && a.x_high == b.x_high && a.restart == b.restart;
}

bool is_same(const Series& a, const Series& b) {
  return std::equal(a.buckets().begin(), a.buckets().end(), b.buckets().begin(), b.buckets().end(),
                    [](const Bucket& ours, const Bucket& theirs) { return is_same(ours, theirs); });
}

std::string refusal_of(const std::string& line) {
  try {
    read_part(line, "part.jsonl:3");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::vector<LogSource> some_logs() {
  std::vector<LogSource> logs;
  for (const auto& path : testing::law_samples())
    logs.push_back({testing::sample_name(path), testing::read_file(path)});
  std::sort(logs.begin(), logs.end(),
            [](const LogSource& a, const LogSource& b) { return natural_less(a.path, b.path); });
  return logs;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const auto& line : lines) text += line + '\n';
  return text;
}

}  // namespace

TEST_CASE("the case of every sample reads back unchanged", "[partial]") {
  for (const LogSource& log : some_logs()) {
    CAPTURE(log.path);
    const ScanResult scanned = scan_one(log.path, *log.memory);
    const PartId id{log.path, digest_of_text(*log.memory)};
    const std::string line = partial_line(id, scanned);
    CHECK(line.find('\n') == std::string::npos);
    CHECK(read_part_id(line, "here") == id);
    const ScanResult back = read_part(line, "here");
    // A second writing equals the first one, so nothing is lost.
    CHECK(partial_line(id, back) == line);
    REQUIRE(back.series.size() == scanned.series.size());
    for (std::size_t i = 0; i < back.series.size(); ++i) CHECK(is_same(back.series[i], scanned.series[i]));
  }
}

TEST_CASE("values that no log contains read back, too", "[partial]") {
  ScanResult made;
  made.inputs.emplace_back().path = "a\xff\xc3(b.log";
  Incident incident;
  incident.evidence.excerpt = std::string("\x80\xfe null \0 byte", 14);
  incident.oom.request = Bytes{std::numeric_limits<i64>::max(), 1};
  incident.oom.free = Bytes{};
  incident.when.time = 0.0;
  incident.when.epoch = 0.1 + 0.2;
  incident.origin.rank = 0;
  incident.when.order = 7;
  made.incidents.push_back(incident);
  Series s;
  s.metric = Metric::input_length;
  s.quantum = 5e-324;
  s.add(0, 1e300, 1.0 / 3);
  s.add(-1, 0, -0.0);
  made.series.push_back(s);
  made.settings["\xf0\x28"] = {"v", {}};
  made.remarks.push_back({{}, {}, {}, Exit{0, std::nullopt}});
  made.remarks.push_back({{}, {}, {}, Remark{"phase/load", 0.0}});
  made.lose({.what = "the rest of the log", .why = "Input/output error", .path = "a\xff.log"});
  made.lose({.what = "samples", .why = "", .only_samples = true, .at = Evidence{}});
  const PartId id{made.inputs.front().path, "d"};
  const std::string line = partial_line(id, made);
  CHECK(read_part_id(line, "here").path == id.path);
  const ScanResult back = read_part(line, "here");
  CHECK(back.inputs.front().path == id.path);
  const Incident& i = back.incidents.at(0);
  CHECK(i.evidence.excerpt == incident.evidence.excerpt);
  CHECK(i.oom.request == incident.oom.request);
  CHECK(i.oom.free == Bytes{});
  CHECK_FALSE(i.oom.capacity);
  CHECK(i.when.time == 0.0);
  CHECK(i.when.epoch == 0.1 + 0.2);
  CHECK(i.origin.rank == 0);
  CHECK(back.series.at(0).quantum == 5e-324);
  CHECK(back.series.at(0).buckets().at(0).y == 1.0 / 3);
  CHECK(back.series.at(0).buckets().at(1).restart);
  CHECK(back.settings.contains("\xf0\x28"));
  CHECK(std::get<Exit>(back.remarks.at(0).what).code == 0);
  CHECK_FALSE(std::get<Exit>(back.remarks.at(0).what).signal);
  CHECK(std::get<Remark>(back.remarks.at(1).what).number == 0.0);
  CHECK(back.lost == made.lost);
  CHECK(partial_line(id, back) == line);
}

TEST_CASE("values of a long series, joined, read back unchanged", "[partial]") {
  Series s;
  for (std::size_t i = 0; i < 3 * Series::max_buckets; ++i) {
    const auto at = static_cast<double>(i);
    s.add(at, 0.5 * at, 1e9 + at * static_cast<double>(i % 7));
  }
  s.add(0, 9000, 1e9);  // a restart
  REQUIRE(s.buckets().front().n > 1);
  ScanResult made;
  made.inputs.emplace_back().path = "a.log";
  made.series.push_back(s);
  const ScanResult back = read_part(partial_line({"a.log", "d"}, made), "here");
  REQUIRE(back.series.size() == 1);
  CHECK(is_same(back.series.front(), s));
  CHECK(back.series.front().buckets().back().restart);
}

TEST_CASE("numbers that JSON does not have read back, too", "[partial]") {
  ScanResult made;
  made.inputs.emplace_back().path = "a.log";
  for (const double number : {HUGE_VAL, -HUGE_VAL, std::nan("")})
    made.remarks.push_back({{}, {}, {}, Remark{"phase/load", number}});
  const ScanResult back = read_part(partial_line({"a.log", "d"}, made), "here");
  REQUIRE(back.remarks.size() == 3);
  const auto number = [&](std::size_t i) { return std::get<Remark>(back.remarks[i].what).number.value(); };
  CHECK(number(0) == HUGE_VAL);
  CHECK(number(1) == -HUGE_VAL);
  CHECK(std::isnan(number(2)));
}

TEST_CASE("text that is not a part is refused with its position", "[partial]") {
  const std::string good = partial_line({"a.log", "d"}, scan_one("a.log", "step 1 | allocated 3.000 GiB\n"));
  CHECK(refusal_of(good).empty());
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string line = good;
    const auto at = line.find(from);
    REQUIRE(at != std::string::npos);
    return refusal_of(line.replace(at, from.size(), to));
  };
  const std::string begin = "part.jsonl:3: this is not a part of a case: ";
  CHECK(refusal_of("") == begin + "it is not a whole line of JSON");
  CHECK(refusal_of(good.substr(0, good.size() / 2)) == begin + "it is not a whole line of JSON");
  CHECK(refusal_of("[1]") == begin + "it does not say so");
  CHECK(refusal_of("{\"oomdoctor_partial\":1}") == begin + "there is no case in it");
  CHECK(with("\"oomdoctor_partial\":1", "\"oomdoctor_partial\":2") ==
        "part.jsonl:3: it is of version 2 of the partial format; this oomdoctor reads 1");
  CHECK(with("\"metric\":\"allocated\"", "\"metric\":\"heap\"") == begin + "case.series.metric: 'heap' is not known");
  CHECK(with("\"n\":1", "\"n\":0") == begin + "case.series.buckets: they do not add up");
  CHECK(with("\"n\":1", "\"n\":1e3") == begin + "case.series.n: it is not a whole number");
  CHECK(with("\"n\":1", "\"n\":18446744073709551615") == begin + "case.series.n: it is not a whole number");
  CHECK(with("\"buckets\":[[", "\"buckets\":[[1,") == begin + "case.series.buckets: a value has 3 or 8 numbers");
  CHECK(with("\"line\":1", "\"line\":\"one\"") == begin + "case.series.first.line: it is not a whole number");
  CHECK(with("\"case\":{", "\"case\":{\"incidents\":7,") == begin + "case.incidents: it is not a list");
  CHECK(with("\"case\":{", "\"case\":{\"remarks\":[{\"when\":{\"order\":-1}}],") ==
        begin + "when.order: it is not a line of a file");
  CHECK(refusal_of("{\"oomdoctor_partial\":1,\"case\":" + std::string(100000, '[')) ==
        begin + "it is nested too deeply");
  std::string many = "{\"oomdoctor_partial\":1,\"path\":\"a\",\"digest\":\"d\",\"case\":{\"incidents\":[";
  for (int i = 0; i < 300; ++i) many += i == 0 ? "{}" : ",{}";
  CHECK(refusal_of(many + "]}}") == begin + "case.incidents: it has more than 256 items");
}

TEST_CASE("merged parts give the same report as one reading of all logs", "[partial]") {
  const std::vector<LogSource> logs = some_logs();
  REQUIRE(logs.size() > 20);
  const std::string direct = json_text(diagnose(logs));
  std::vector<std::string> lines;
  read_parts(logs, {}, [&](std::string_view line) { lines.emplace_back(line); });
  REQUIRE(lines.size() == logs.size());
  const testing::TemporaryFolder folder;
  CHECK(json_text(merge({folder.write("all.jsonl", joined(lines))})) == direct);

  // Any tree of merges over any division, with duplicate parts.
  std::mt19937 random(7);
  const auto upto = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n)(random); };
  for (int tree = 0; tree < 8; ++tree) {
    std::vector<std::vector<std::string>> piles(2 + upto(5));
    for (const auto& line : lines) piles[upto(piles.size() - 1)].push_back(line);
    for (std::size_t i = 0; i < 5; ++i) piles[upto(piles.size() - 1)].push_back(lines[upto(lines.size() - 1)]);
    for (auto& pile : piles) std::shuffle(pile.begin(), pile.end(), random);
    while (piles.size() > 1) {
      std::shuffle(piles.begin(), piles.end(), random);
      const std::string a = folder.write("a.jsonl", joined(piles.back()));
      piles.pop_back();
      const std::string b = folder.write("b.jsonl", joined(piles.back()));
      piles.pop_back();
      std::vector<std::string> both;
      merge_parts({a, b}, [&](std::string_view line) { both.emplace_back(line); });
      piles.push_back(both);
    }
    const std::string last = folder.write("last.jsonl", joined(piles.front()));
    CHECK(json_text(merge({last, last})) == direct);
    std::vector<std::string> again;
    merge_parts({last}, [&](std::string_view line) { again.emplace_back(line); });
    CHECK(again == lines);
  }
}

TEST_CASE("two paths with the same content are two logs, one path read twice is one log", "[partial]") {
  const testing::TemporaryFolder folder;
  const std::string text = "step 1 | allocated 3.000 GiB\n";
  std::string parts;
  for (const char* name : {"a.log", "b.log", "a.log"})
    parts += partial_line({name, "d"}, scan_one(name, text)) + "\r\n\n";
  const Report r = merge({folder.write("p.jsonl", parts)});
  REQUIRE(r.inputs.size() == 2);
  CHECK(r.inputs[0].path == "a.log");
  CHECK(r.inputs[1].path == "b.log");
}

TEST_CASE("an error about a truncated file of parts names the line", "[partial]") {
  const testing::TemporaryFolder folder;
  const std::string line = partial_line({"a.log", "d"}, scan_one("a.log", "step 1 | allocated 3.000 GiB\n"));
  const std::string cut = line.substr(0, line.size() - 20), path = folder.write("cut.jsonl", "\n" + cut);
  try {
    merge({path});
    FAIL();
  } catch (const Error& error) {
    CHECK(std::string(error.what()) == path + ":2: this is not a part of a case: it is not a whole line of JSON");
  }
  CHECK_THROWS_AS(merge({path + ".absent"}), Error);
  for (const std::string& both : {line + "\n" + cut, cut + "\n" + line}) {  // two parts of one log: the whole one stays
    const Report report = merge({folder.write("both.jsonl", both)});
    CHECK(report.inputs.size() == 1);
    CHECK(report.lost.empty());
  }
  const Report nothing = merge({folder.write("empty.jsonl", "")});
  CHECK(nothing.inputs.empty());
  CHECK(nothing.verdict.outcome == Outcome::possible_oom);
}

}  // namespace oomdoctor
