#include <cmath>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "oomdoctor/version.h"
#include "report/comparison.h"
#include "report/escape.h"

namespace oomdoctor {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value, bool whole) {
  if (!std::isfinite(value)) return nullptr;
  return whole ? Json(whole_number(std::round(value))) : Json(value);
}

Json location(const Location& at) { return {{"path", at.path}, {"line", at.line}, {"end_line", at.end_line}}; }

Json figure(const Figure& of, bool whole) {
  Json object = Json::object();
  if (of.good) object["good"] = number(*of.good, whole);
  if (of.bad) object["bad"] = number(*of.bad, whole);
  object["change"] = to_string(of.change);
  return object;
}

/// The fields of a series that differ between the runs. The report of the run has the rest under this id.
Json side(const ReportSeries& of) {
  return {
      {"id", of.id}, {"n", of.n}, {"grows", of.trend.leak}, {"shape", of.trend.shape}, {"location", location(of.last)}};
}

Json series(const SeriesComparison& of) {
  const bool whole = of.good.unit != "%";
  Json object = {{"metric", of.good.metric}};
  if (!of.good.label.empty()) object["label"] = of.good.label;
  if (of.good.rank) object["rank"] = *of.good.rank;
  if (of.good.device) object["device"] = *of.good.device;
  object["unit"] = whole ? "bytes" : "%";
  object["x_unit"] = of.good.x_unit;
  object["peak"] = figure(of.peak, whole);
  object["steady"] = figure(of.steady, whole);
  object["slope"] = figure(of.slope, false);
  object["good"] = side(of.good);
  object["bad"] = side(of.bad);
  return object;
}

Json input_length(const SeriesComparison& of) { return {{"longest", figure(of.peak, true)}}; }

Json setting(const SettingComparison& of) {
  Json object = {{"name", of.name}};
  const auto add = [&](const char* name, const std::optional<ReportSetting>& value) {
    if (value) object[name] = {{"value", value->value}, {"location", location(value->location)}};
  };
  add("good", of.good);
  add("bad", of.bad);
  object["need"] = to_string(of.need);
  if (of.factor) object["at_most_times"] = *of.factor;
  return object;
}

template <class Items, class Each>
Json list(const Items& items, Each each) {
  Json array = Json::array();
  for (const auto& item : items) array.push_back(each(item));
  return array;
}

Json run(const Report& report, const std::optional<i64>& capacity) {
  Json object = {{"inputs", list(report.inputs,
                                 [](const ReportInput& input) {
                                   return Json{{"path", input.path}, {"lines", input.lines}};
                                 })},
                 {"outcome", report.verdict.outcome},
                 {"cause", report.verdict.cause.empty() ? Json(nullptr) : Json(report.verdict.cause)},
                 {"headline", report.verdict.headline}};
  if (capacity) object["capacity_bytes"] = *capacity;
  return object;
}

}  // namespace

std::string comparison_json(const Comparison& all) {
  Json object = {{"schema_version", comparison_schema_version},
                 {"tool", {{"name", "oomdoctor"}, {"version", version}}},
                 {"good", run(all.good, all.good_capacity)},
                 {"bad", run(all.bad, all.bad_capacity)}};
  Json verdict = {{"grew", all.series.empty() ? Json(nullptr) : Json(all.grew)},
                  {"explanation", to_string(all.explanation)},
                  {"headline", all.headline},
                  {"because", all.because}};
  object["verdict"] = std::move(verdict);
  object["series"] = list(all.series, series);
  object["only_good"] = all.only_good;
  object["only_bad"] = all.only_bad;
  object["settings"] = list(all.settings, setting);
  object["same_settings"] = all.same_settings;
  object["input_lengths"] = list(all.input_lengths, input_length);
  object["limits"] = list(all.limits, [](const CheckedLimit& limit) {
    return Json{{"limit", limit.text}, {"told", limit.told}, {"beyond", limit.beyond}};
  });
  return json_visible(object.dump(2, ' ', false, Json::error_handler_t::replace)) + '\n';
}

}  // namespace oomdoctor
