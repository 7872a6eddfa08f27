// The fields of the JSON of a comparison, version 1.0: see fields.h.
#pragma once

#include "compare/comparison.h"
#include "oomdoctor/version.h"
#include "report/report_fields.h"

namespace oomdoctor {

inline constexpr std::initializer_list<const char*> changes = {"unknown", "same", "more", "less"};

void fields(auto& field, Is<Figure> auto& of) {
  field.type("figure");
  field("good", of.good, as_value);
  field("bad", of.bad, as_value);
  field("change", of.change,
        {.description = "from good to bad; same: within print step and scatter", .values = changes});
}

/// The fields of a series that differ between the runs. The report of the run has the rest under this id.
void fields_of_side(auto& field, const ReportSeries& of) {
  field.type("side");
  field("id", of.id, {.description = "of the series in the report of this run"});
  field("n", of.n);
  field("grows", of.trend.leak, {.description = "without a bound"});
  field("shape", of.trend.shape);
  field("location", of.last);
}

void fields(auto& field, Is<SeriesComparison> auto& of) {
  const auto side = [](auto& run, auto& series) { fields_of_side(run, series); };
  const bool percent = of.good.unit == "%";
  field.type("series");
  field("metric", of.good.metric);
  field("label", of.good.label, if_any);
  field("rank", of.good.rank);
  field("device", of.good.device);
  field("unit", percent ? "%" : "bytes", {.values = {"bytes", "%"}});
  field("x_unit", of.good.x_unit, {.values = x_units});
  field.whole_values(!percent);
  field("peak", of.peak);
  field("steady", of.steady, {.description = "the median after the warm-up"});
  field.whole_values(false);  // a slope can be less than a byte per step
  field("slope", of.slope);
  field.object("good", of.good, side);
  field.object("bad", of.bad, side);
}

void fields(auto& field, Is<SettingComparison> auto& of) {
  const auto value = [](auto& run, auto& setting) {
    run.type("value");
    run("value", setting.value);
    run("location", setting.location);
  };
  field.type("setting");
  field("name", of.name);
  field.object("good", of.good, value);
  field.object("bad", of.bad, value);
  field("need", of.need,
        {.description = "what it does to the need for memory, all else being equal", .values = changes});
  field("at_most_times", of.factor, {.description = "by which the need grows at most"});
}

void fields(auto& field, Is<CheckedLimit> auto& of) {
  field("limit", of.text);
  field("told", of.told, {.description = "both runs have a series with this figure"});
  field("beyond", of.beyond, {.description = "places in series", .minimum = 0});
}

void fields_of_run(auto& field, const Report& report, const std::optional<std::int64_t>& capacity) {
  field.type("run");
  field.list("inputs", report.inputs, [](auto& input, auto& of) {
    input("path", of.path);
    input("lines", of.lines);
  });
  field("outcome", report.verdict.outcome, {.values = outcomes});
  field("cause", report.verdict.cause, {.null_if_empty = true});
  field("headline", report.verdict.headline);
  field("capacity_bytes", capacity);
}

void fields(auto& field, Is<Comparison> auto& of) {
  field.constant("schema_version", comparison_schema_version, {.pattern = "^1\\.[0-9]+$"});
  field.group("tool", [](auto& tool) {
    tool.constant("name", "oomdoctor");
    tool("version", version);
  });
  field.object("good", of.good, [&](auto& run, auto& report) { fields_of_run(run, report, of.good_capacity); });
  field.object("bad", of.bad, [&](auto& run, auto& report) { fields_of_run(run, report, of.bad_capacity); });
  field.group("verdict", [&](auto& verdict) {
    const std::optional<bool> grew = of.series.empty() ? std::nullopt : std::optional(of.grew);
    verdict("grew", grew, {.description = "the first series; null: there is none", .null_if_empty = true});
    verdict("explanation", of.explanation,
            {.values = {"nothing_grew", "growth", "longer_run", "cache", "setting", "settings", "inputs",
                        "smaller_card", "undetermined"}});
    verdict("headline", of.headline);
    verdict("because", of.because);
  });
  field("series", of.series, {.description = "that both have; the first is the one that the verdict is about"});
  field("only_good", of.only_good);
  field("only_bad", of.only_bad);
  field("settings", of.settings, {.description = "that differ"});
  field("same_settings", of.same_settings, as_count);
  field.list("input_lengths", of.input_lengths, [](auto& length, auto& series) { length("longest", series.peak); });
  field("limits", of.limits, {.description = "of --fail-if"});
}

}  // namespace oomdoctor
