// The statements of a comparison, and especially the statements that it must not make.
#include "compare/comparison.h"

#include "approved.h"
#include "base/bytes.h"
#include "compare/setting_effects.h"
#include "growth/steady.h"
#include "render/screens.h"
#include "sample_reports.h"
#include "serialize/json.h"

using namespace oomdoctor;
using samples::gib;

namespace {

/// A series that settles at a level, in GiB.
ReportSeries level_series(double level, std::string metric = "allocated") {
  ReportSeries series;
  series.id = "series-1";
  series.metric = std::move(metric);
  series.kind = "gauge";
  series.unit = "GiB";
  series.n = 40;
  series.first_step = 1;
  series.last_step = 40;
  series.quantum = 0.01 * static_cast<double>(GiB);
  series.first_value = series.last_value = series.max_value = level * static_cast<double>(GiB);
  series.steady = ReportLevel{series.max_value, series.max_value, series.max_value, 40};
  series.trend.shape = "flat";
  series.first = samples::at(2);
  series.last = samples::at(41);
  return series;
}

/// A series that grows without a bound, in GiB and in MiB per step.
ReportSeries leaking_series(double from, double pace, double steps = 40) {
  ReportSeries series = level_series(from);
  const double slope = pace * static_cast<double>(MiB);
  series.steady.reset();
  series.last_step = 1 + steps;
  series.last_value = series.max_value = series.first_value + slope * steps;
  series.trend.leak = true;
  series.trend.confidence = 0.9;
  series.trend.shape = "linear";
  series.trend.slope = {slope, 0.98 * slope, 1.02 * slope};
  return series;
}

Report run_of(std::vector<ReportSeries> series, std::vector<std::pair<std::string, std::string>> settings = {}) {
  Report report;
  report.tool_version = "0.1.0";
  report.inputs = {{"run.log", "log", 4000, 60, "", false}};
  report.verdict.outcome = Outcome::no_oom;
  report.verdict.headline = "no failure for want of memory in 60 lines";
  report.series = std::move(series);
  for (auto& [name, value] : settings) report.settings.push_back({name, value, samples::at(1)});
  return report;
}

Report failed(Report report) {
  report.verdict.outcome = Outcome::oom;
  return report;
}

Explanation explanation_of(Report good, Report bad) { return compare(std::move(good), std::move(bad)).explanation; }

}  // namespace

TEST_CASE("comparison: the same run twice has no differences", "[comparison]") {
  const Report run = run_of({level_series(10), leaking_series(3, 4)}, {{"batch_size", "8"}});
  const Comparison all = compare(run, run);
  CHECK_FALSE(all.grew);
  CHECK(all.explanation == Explanation::nothing_grew);
  CHECK(all.settings.empty());
  CHECK(all.same_settings == 1);
  for (const auto& series : all.series) {
    CHECK(series.peak.change == Change::same);
    CHECK(series.slope.change == Change::same);
  }
}

TEST_CASE("comparison: a difference within the print step or the noise does not count", "[comparison]") {
  ReportSeries good = level_series(10), bad = level_series(10.01);
  CHECK(compare(run_of({good}), run_of({bad})).series[0].peak.change == Change::same);
  bad = level_series(10.02);
  CHECK(compare(run_of({good}), run_of({bad})).series[0].peak.change == Change::more);
  bad.steady->low = good.steady->low - 1;
  bad.steady->high += static_cast<double>(GiB);
  CHECK(compare(run_of({good}), run_of({bad})).series[0].peak.change == Change::same);
  CHECK(compare(run_of({good}), run_of({bad})).series[0].steady.change == Change::same);
}

TEST_CASE("comparison: series match by the program that measures and by the quantity", "[comparison]") {
  auto rank = [](ReportSeries series, int number) {
    series.rank = number;
    return series;
  };
  const Comparison all =
      compare(run_of({rank(level_series(10), 0), rank(level_series(11), 1), level_series(5, "used")}),
              run_of({rank(level_series(12), 1), rank(level_series(10), 0), level_series(6, "host_rss")}));
  REQUIRE(all.series.size() == 2);
  CHECK(all.series[0].good.rank == 1);
  CHECK(all.series[0].peak.difference() == static_cast<double>(GiB));
  CHECK(all.series[1].peak.change == Change::same);
  CHECK(all.only_good == std::vector<std::string>{"GPU memory used"});
  CHECK(all.only_bad == std::vector<std::string>{"host RAM of the process"});
  // A device index may change if the match is unambiguous.
  ReportSeries moved = level_series(12);
  moved.device = 3;
  CHECK(compare(run_of({level_series(10)}), run_of({moved})).series.size() == 1);
  CHECK(compare(run_of({level_series(10)}), run_of({moved, rank(moved, 1)})).series.empty());
}

TEST_CASE("comparison: one setting explains growth of a plausible size only", "[comparison]") {
  const auto good = run_of({level_series(10)}, {{"batch_size", "8"}, {"optimizer", "adamw"}});
  const auto bad = [&](double level, std::string batch, std::string optimizer = "adamw") {
    return run_of({level_series(level)}, {{"batch_size", std::move(batch)}, {"optimizer", std::move(optimizer)}});
  };
  CHECK(explanation_of(good, bad(14, "12")) == Explanation::setting);
  CHECK(explanation_of(good, bad(30, "12")) ==
        Explanation::undetermined);  // three times the memory for half as many samples more
  CHECK(explanation_of(good, bad(14, "4")) == Explanation::undetermined);
  CHECK(explanation_of(good, bad(14, "12", "lion")) == Explanation::undetermined);
  CHECK(explanation_of(good, bad(14, "8")) == Explanation::undetermined);
  CHECK(explanation_of(good, run_of({level_series(14)})) ==
        Explanation::undetermined);  // a setting that is not printed may differ
  const auto two =
      run_of({level_series(14)}, {{"batch_size", "12"}, {"optimizer", "adamw"}, {"sequence_length", "2048"}});
  const auto one =
      run_of({level_series(10)}, {{"batch_size", "8"}, {"optimizer", "adamw"}, {"sequence_length", "1024"}});
  CHECK(explanation_of(one, two) == Explanation::settings);
}

TEST_CASE("comparison: longer inputs", "[comparison]") {
  ReportSeries shorter = level_series(1, "input_length"), longer = shorter;
  shorter.quantum = longer.quantum = 1;
  shorter.max_value = 512, longer.max_value = 2048;
  shorter.steady.reset(), longer.steady.reset();
  Report good = run_of({level_series(10)}, {{"batch_size", "8"}}),
         bad = run_of({level_series(14)}, {{"batch_size", "8"}});
  good.input_lengths = {shorter}, bad.input_lengths = {longer};
  const Comparison all = compare(good, bad);
  CHECK(all.explanation == Explanation::inputs);
  CHECK(all.headline.find("longest input 512 → 2048") != std::string::npos);
}

TEST_CASE("comparison: growth at every step, and a longer run", "[comparison]") {
  CHECK(explanation_of(run_of({level_series(10)}), run_of({leaking_series(10, 50)})) == Explanation::growth);
  CHECK(explanation_of(run_of({leaking_series(10, 10)}), run_of({leaking_series(10, 50)})) == Explanation::growth);
  CHECK(explanation_of(run_of({leaking_series(10, 50)}), run_of({leaking_series(10, 50, 200)})) ==
        Explanation::longer_run);
  // The leak is a small part of the difference.
  CHECK(explanation_of(run_of({level_series(10)}), run_of({leaking_series(20, 1)})) == Explanation::undetermined);
  // Growth that has just begun is reported, although the peak is not higher.
  ReportSeries high = level_series(12);
  const Comparison young = compare(run_of({high}), run_of({leaking_series(10, 20)}));
  CHECK(young.grew);
  CHECK(young.headline == "allocated grows, and peaks no higher yet; it grows step by step in the bad run");
}

TEST_CASE("comparison: the cache grows around constant tensors", "[comparison]") {
  CHECK(explanation_of(run_of({level_series(10), level_series(12, "reserved")}),
                       run_of({level_series(10), level_series(16, "reserved")})) == Explanation::cache);
  // If the tensors grow with it, they need the explanation.
  const Comparison both = compare(run_of({level_series(12, "reserved"), level_series(10)}),
                                  run_of({level_series(18, "reserved"), level_series(15)}));
  REQUIRE(both.grew);
  CHECK(both.series[0].good.metric == "allocated");
}

TEST_CASE("comparison: a failure without growth", "[comparison]") {
  const Report good = run_of({level_series(10)}, {{"capacity", "24GiB"}});
  CHECK(explanation_of(good, failed(run_of({level_series(10)}, {{"capacity", "16GiB"}}))) == Explanation::smaller_gpu);
  CHECK(explanation_of(good, failed(good)) == Explanation::undetermined);
  CHECK(only_bad_failed(compare(good, failed(good))));
  CHECK_FALSE(only_bad_failed(compare(failed(good), failed(good))));
}

TEST_CASE("comparison: without a common series there is neither growth nor health", "[comparison]") {
  const Comparison all = compare(run_of({level_series(10)}), run_of({}));
  CHECK(all.series.empty());
  CHECK(all.explanation == Explanation::undetermined);
  CHECK(all.headline == "there is nothing to compare");
}

TEST_CASE("comparison: GB has one size in both runs, whichever each run assumed", "[comparison]") {
  ReportSeries good = level_series(10), bad = level_series(10);
  good.unit = bad.unit = "GB";
  good.quantum = 0.1 * static_cast<double>(GiB);
  const double decimal = 1e9 / static_cast<double>(GiB);
  for (double* value : {&bad.quantum, &bad.max_value, &bad.steady->value, &bad.steady->low, &bad.steady->high})
    *value *= decimal;
  for (const bool swapped : {false, true}) {
    const Comparison all = swapped ? compare(run_of({bad}), run_of({good})) : compare(run_of({good}), run_of({bad}));
    CHECK(all.series[0].peak.change == Change::same);
    CHECK(all.series[0].good.max_value == Approx(10e9));
    CHECK(all.series[0].bad.max_value == Approx(10e9));
  }
}

TEST_CASE("comparison: free memory is not usage", "[comparison]") {
  const Comparison all = compare(run_of({level_series(10, "free")}), run_of({level_series(4, "free")}));
  REQUIRE(all.grew);
  CHECK(all.series[0].peak.change == Change::unknown);
  CHECK(measure_growth(all.series[0]) == static_cast<double>(gib(6)));
}

TEST_CASE("comparison: limits", "[comparison]") {
  CHECK_FALSE(read_growth_limit("peak+5"));
  CHECK_FALSE(read_growth_limit("trend+5%"));
  Comparison all = compare(run_of({level_series(10)}), run_of({level_series(11)}));
  for (const char* text : {"peak+5%", "peak+15%", "steady+512MiB", "steady+2GiB", "slope+0%"}) {
    const auto limit = read_growth_limit(text);
    REQUIRE(limit);
    check_limit(all, *limit);
  }
  std::vector<std::size_t> beyond;
  for (const CheckedLimit& limit : all.limits) {
    CHECK(limit.told);
    beyond.push_back(limit.beyond.size());
  }
  CHECK(beyond == std::vector<std::size_t>{1, 0, 1, 0, 0});
  Comparison nothing = compare(run_of({}), run_of({}));
  check_limit(nothing, *read_growth_limit("peak+5%"));
  CHECK_FALSE(nothing.limits[0].told);
}

TEST_CASE("the effect of settings on the memory need", "[comparison]") {
  const auto device = [](const char* name, const char* from, const char* to) {
    const auto effect = find_setting_effect(name, from, to, MemoryKind::device);
    return effect ? effect->direction : 99;
  };
  CHECK(device("batch_size", "8", "16") == 1);
  CHECK(device("tensor_parallel", "2", "4") == -1);
  CHECK(device("precision", "bf16", "fp32") == 1);
  CHECK(device("precision", "bf16", "fp16") == 0);
  CHECK(device("precision", "bf16", "mixed") == 99);
  CHECK(device("checkpointing", "true", "false") == 1);
  CHECK(device("zero_stage", "0", "3") == -1);
  CHECK(device("num_workers", "2", "16") == 0);
  CHECK(device("attention", "sdpa", "eager") == 99);
  CHECK(device("optimizer", "sgd", "adamw") == 99);
  CHECK(find_setting_effect("num_workers", "2", "16", MemoryKind::host)->factor == 8);
  CHECK(find_setting_effect("sequence_length", "1024", "2048", MemoryKind::device)->factor == 4);
}

TEST_CASE("the steady level is the level after the warm-up", "[comparison]") {
  Series series;
  CHECK_FALSE(steady_level(series));
  for (int i = 0; i < 10; ++i) series.add(i, 0, 100.0 * i);
  for (int i = 10; i < 60; ++i) series.add(i, 0, 1000.0 + i % 3 - (i == 40 ? 600 : 0));
  const auto level = steady_level(series);
  REQUIRE(level);
  CHECK(level->value == 1001);
  CHECK(level->low == 1000);
  CHECK(level->high == 1002);
  CHECK(level->n >= 30);
  CHECK(level->n <= 52);
  Series short_series;
  for (int i = 0; i < 4; ++i) short_series.add(i, 0, 5);
  CHECK_FALSE(steady_level(short_series));
}

TEST_CASE("the comparisons match their approved texts", "[approved]") {
  Comparison batch = compare(
      run_of({level_series(10), level_series(11, "reserved")}, {{"batch_size", "8"}, {"precision", "bf16"}}),
      run_of({level_series(14), level_series(15.5, "reserved")}, {{"batch_size", "12"}, {"precision", "bf16"}}));
  check_limit(batch, *read_growth_limit("peak+5%"));
  check_limit(batch, *read_growth_limit("peak+60%"));
  const Comparison leak = compare(run_of({level_series(10)}), failed(run_of({leaking_series(10, 50)})));
  const Report hostile = samples::hostile();
  Report other = hostile;
  other.series[0].max_value *= 2;
  other.settings = {{"\x1b[31mname|`", "::error::value\n# x", samples::at(1, "<b>.log")}};
  const std::pair<const char*, Comparison> all[] = {
      {"batch", batch}, {"growth", leak}, {"hostile", compare(hostile, other)}};
  for (const auto& [name, comparison] : all) {
    const std::string stem = "comparison-" + std::string(name);
    check_approved(stem + ".txt", comparison_screen(comparison, {}));
    check_approved(stem + ".md", comparison_markdown(comparison));
    check_approved(stem + ".json", comparison_json(comparison));
    check_approved(stem + ".agent.txt", comparison_agent(comparison));
  }
  check_approved("comparison-batch-40.txt", comparison_screen(batch, {40, false, false, false}));
}
