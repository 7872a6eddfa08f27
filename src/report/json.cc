#include "report/json.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "report/escape.h"

namespace oomdoctor {
namespace {

using Json = nlohmann::ordered_json;  // keeps the contract's order of fields

/// Leaves an absent value out instead of writing null: the reader sees that the log did not print it.
template <class T>
void put(Json& object, const char* name, const std::optional<T>& value) {
  if (value) object[name] = *value;
}

void put_text(Json& object, const char* name, const std::string& text) {
  if (!text.empty()) object[name] = text;
}

/// Values of a series are bytes, so integers, unless their unit is "%". JSON has no infinity, so it becomes null.
Json number(double value, bool whole) {
  if (!std::isfinite(value)) return nullptr;
  if (whole && std::fabs(value) < 9e18) return std::llround(value);
  return value;
}

/// A step is an integer if its value is one.
Json step(double value) { return number(value, value == std::round(value)); }

template <class Items, class Each>
Json list(const Items& items, Each each) {
  Json array = Json::array();
  for (const auto& item : items) array.push_back(each(item));
  return array;
}

Json strings(const std::vector<std::string>& items) { return Json(items); }

Json location(const Location& at) { return {{"path", at.path}, {"line", at.line}, {"end_line", at.end_line}}; }

Json frame(const ReportFrame& at) {
  Json object = {{"file", at.file}, {"line", at.line}, {"function", at.function}};
  put_text(object, "code", at.code);
  return object;
}

Json input(const ReportInput& from) {
  Json object = {{"path", from.path}, {"kind", from.kind}, {"bytes", from.bytes}, {"lines", from.lines}};
  put_text(object, "compression", from.compression);
  if (from.truncated) object["truncated"] = true;
  return object;
}

Json run_end(const RunEnd& end) {
  return {{"kind", end.kind}, {"text", end.text}, {"location", location(end.location)}};
}

/// `cause` is always present, and null if there is nothing to explain. Scripts then need no check for the field.
Json verdict(const Verdict& said) {
  Json object = {{"outcome", said.outcome}};
  object["cause"] = said.cause.empty() ? Json(nullptr) : Json(said.cause);
  put_text(object, "cause_title", said.cause_title);
  object["confidence"] = said.confidence;
  object["headline"] = said.headline;
  put(object, "incident", said.incident);
  object["retry"] = {{"decision", said.retry.decision}};
  put_text(object["retry"], "change", said.retry.change);
  if (said.end) object["end"] = run_end(*said.end);
  return object;
}

Json run(const ReportRun& of) {
  Json object = {{"id", of.id}, {"path", of.path}, {"first_line", of.first_line}, {"last_line", of.last_line}};
  object["outcome"] = of.outcome;
  if (of.end) object["end"] = run_end(*of.end);
  object["headline"] = of.headline;
  return object;
}

Json account(const ReportAccount& of) {
  return {{"capacity_bytes", of.capacity_bytes},
          {"shares", list(of.shares,
                          [](const Share& s) {
                            return Json{{"label", s.label}, {"bytes", s.bytes}};
                          })},
          {"unexplained_bytes", of.unexplained_bytes},
          {"slack_bytes", of.slack_bytes}};
}

/// The numbers of the message as printed. The memory breakdown has sums and differences.
void put_sizes(Json& object, const ReportIncident& of) {
  put(object, "requested_bytes", of.requested_bytes);
  put(object, "capacity_bytes", of.capacity_bytes);
  put(object, "free_bytes", of.free_bytes);
  put(object, "process_bytes", of.process_bytes);
  put(object, "allocated_bytes", of.allocated_bytes);
  put(object, "reserved_bytes", of.reserved_bytes);
  put(object, "unallocated_bytes", of.unallocated_bytes);
  put(object, "private_pool_bytes", of.private_pool_bytes);
  put(object, "limit_bytes", of.limit_bytes);
}

Json incident(const ReportIncident& of) {
  Json object = {{"id", of.id}, {"kind", of.kind}, {"agent", of.agent}};
  put_text(object, "framework", of.framework);
  put_text(object, "message_format", of.message_format);
  object["location"] = location(of.location);
  object["occurrences"] = list(of.occurrences, location);
  if (of.more_occurrences > 0) object["more_occurrences"] = of.more_occurrences;
  object["handled"] = of.handled;
  put(object, "follows", of.follows);
  put(object, "device", of.device);
  put(object, "rank", of.rank);
  put(object, "pid", of.pid);
  put_text(object, "host", of.host);
  put(object, "step", of.step);
  put(object, "epoch", of.epoch);
  put_text(object, "phase", of.phase);
  put_sizes(object, of);
  if (!of.ranks.empty()) object["ranks"] = of.ranks;
  if (!of.other_processes.empty())
    object["other_processes"] = list(of.other_processes, [](const auto& p) {
      return Json{{"pid", p.first}, {"bytes", p.second}};
    });
  if (of.frame) object["frame"] = frame(*of.frame);
  if (of.ask_frame) object["ask_frame"] = frame(*of.ask_frame);
  if (of.account) object["account"] = account(*of.account);
  return object;
}

Json estimate(const ReportEstimate& of) {
  return {{"value", number(of.value, false)}, {"low", number(of.low, false)}, {"high", number(of.high, false)}};
}

/// null means that there is no upper bound. An absent field would mean a missing value.
Json forecast(const ReportForecast& of) {
  return {{"capacity_bytes", of.capacity_bytes},
          {"step", step(of.step)},
          {"step_low", step(of.step_low)},
          {"step_high", of.step_high ? step(*of.step_high) : Json(nullptr)},
          {"beyond_data", of.beyond_data}};
}

Json trend(const ReportTrend& of, bool whole) {
  Json object = {{"leak", of.leak}, {"shape", of.shape}, {"confidence", of.confidence}};
  object["slope"] = estimate(of.slope);
  object["acceleration"] = estimate(of.acceleration);
  if (of.onset_step) object["onset_step"] = step(*of.onset_step);
  object["change_points"] = list(of.change_points, step);
  if (of.period) object["period"] = step(*of.period);
  object["model"] = of.model;
  object["models"] = list(of.models, [](const auto& m) {
    return Json{{"name", m.first}, {"score", number(m.second, false)}};
  });
  if (of.forecast) object["forecast"] = forecast(*of.forecast);
  object["why"] = of.why;
  if (!of.stages.empty())
    object["stages"] = list(of.stages, [&](const ReportStage& s) {
      return Json{{"kind", s.kind},
                  {"first_step", step(s.first_step)},
                  {"last_step", step(s.last_step)},
                  {"first_value", number(s.first_value, whole)},
                  {"last_value", number(s.last_value, whole)},
                  {"slope", number(s.slope, false)}};
    });
  if (!of.curve.empty())
    object["curve"] = list(of.curve, [&](const ReportCurvePoint& p) {
      return Json::array({step(p.x), number(p.y, whole), number(p.low, whole), number(p.high, whole)});
    });
  return object;
}

/// Points are pairs, because a series has hundreds of them.
Json series(const ReportSeries& of) {
  const bool whole = of.unit != "%";
  Json object = {{"id", of.id}, {"metric", of.metric}, {"kind", of.kind}};
  put_text(object, "label", of.label);
  put(object, "rank", of.rank);
  put(object, "device", of.device);
  object["unit"] = of.unit;
  object["x_unit"] = of.x_unit;
  object["n"] = of.n;
  if (of.first_step) object["first_step"] = step(*of.first_step);
  if (of.last_step) object["last_step"] = step(*of.last_step);
  object["first_value"] = number(of.first_value, whole);
  object["last_value"] = number(of.last_value, whole);
  object["max_value"] = number(of.max_value, whole);
  object["quantum"] = number(of.quantum, whole);
  object["first_location"] = location(of.first);
  object["last_location"] = location(of.last);
  object["trend"] = trend(of.trend, whole);
  if (of.steady)
    object["steady"] = {{"value", number(of.steady->value, whole)},
                        {"low", number(of.steady->low, whole)},
                        {"high", number(of.steady->high, whole)},
                        {"n", of.steady->n}};
  object["points"] = list(of.points, [&](const ReportPoint& p) {
    return Json::array({step(p.x), number(p.y, whole)});
  });
  return object;
}

Json rank(const ReportRank& of) {
  Json object = {{"rank", of.rank}, {"failed", of.failed}};
  put(object, "last_step", of.last_step);
  if (of.metric.empty()) return object;
  object["metric"] = of.metric;
  object["first_value"] = number(*of.first_value, true);
  object["last_value"] = number(*of.last_value, true);
  object["max_value"] = number(*of.max_value, true);
  object["leak"] = of.leak;
  if (of.location) object["location"] = location(*of.location);
  return object;
}

Json because(const Reason& of) {
  return {{"fact", of.fact}, {"text", of.text}, {"weight", of.weight}, {"locations", list(of.locations, location)}};
}

Json cause(const ReportCause& of) {
  Json object = {{"cause", of.cause}, {"title", of.title}, {"probability", of.probability}};
  put_text(object, "explain", of.explain);
  object["because"] = list(of.because, because);
  object["against"] = list(of.against, because);
  return object;
}

/// `saves` and `settings` are always present, and empty if unknown.
Json fix(const ReportFix& of) {
  Json object = {{"id", of.id}, {"title", of.title}, {"causes", strings(of.causes)}};
  object["saves"] = Json::object();
  put(object["saves"], "low_bytes", of.saves_low_bytes);
  put(object["saves"], "high_bytes", of.saves_high_bytes);
  put_text(object["saves"], "formula", of.saves_formula);
  object["cost"] = {{"class", of.cost.level}, {"text", of.cost.text}};
  object["risk"] = {{"class", of.risk.level}, {"text", of.risk.text}};
  object["enough"] = of.enough;
  object["if_not_already"] = of.if_not_already;
  put_text(object, "why", of.why);
  object["settings"] = list(of.settings, [](const FixSetting& s) {
    Json setting = {{"for", s.scope}, {"text", s.text}};
    put_text(setting, "from", s.from);
    put_text(setting, "to", s.to);
    return setting;
  });
  object["not_with"] = strings(of.not_with);
  put_text(object, "verify", of.verify);
  if (!of.locations.empty()) object["locations"] = list(of.locations, location);
  return object;
}

Json plan(const ReportPlan& of) {
  Json object = {{"fixes", strings(of.fixes)}, {"need_bytes", of.need_bytes}, {"margin_bytes", of.margin_bytes}};
  put(object, "predicted_peak_bytes", of.predicted_peak_bytes);
  object["would_have_fitted"] = of.would_have_fitted;
  return object;
}

Json held_back(const HeldBack& of) { return {{"id", of.id}, {"title", of.title}, {"because", of.because}}; }

Json question(const Question& of) { return {{"missing", of.missing}, {"text", of.text}, {"command", of.command}}; }

Json note(const ReportNote& of) {
  Json object = {{"severity", of.severity}, {"text", of.text}};
  if (of.location) object["location"] = location(*of.location);
  return object;
}

Json document(const Report& report) {
  Json object = {{"schema_version", report_schema_version}};
  object["tool"] = {{"name", "oomdoctor"}, {"version", report.tool_version}};
  object["inputs"] = list(report.inputs, input);
  if (!report.settings.empty())
    object["settings"] = list(report.settings, [](const ReportSetting& s) {
      return Json{{"name", s.name}, {"value", s.value}, {"location", location(s.location)}};
    });
  object["verdict"] = verdict(report.verdict);
  if (!report.runs.empty()) object["runs"] = list(report.runs, run);
  object["incidents"] = list(report.incidents, incident);
  if (report.more_incidents > 0) object["more_incidents"] = report.more_incidents;
  object["series"] = list(report.series, series);
  if (report.more_series > 0) object["more_series"] = report.more_series;
  if (!report.input_lengths.empty()) object["input_lengths"] = list(report.input_lengths, series);
  if (!report.ranks.empty()) object["ranks"] = list(report.ranks, rank);
  object["causes"] = list(report.causes, cause);
  object["fixes"] = list(report.fixes, fix);
  if (report.plan) object["plan"] = plan(*report.plan);
  object["held_back"] = list(report.held_back, held_back);
  object["questions"] = list(report.questions, question);
  object["coverage"] = {{"lines", report.coverage.lines},
                        {"claimed", report.coverage.claimed},
                        {"by_parser", Json(report.coverage.by_parser)}};
  object["notes"] = list(report.notes, note);
  if (report.why_not) object["why_not"] = cause(*report.why_not);
  if (!report.trace.empty()) object["trace"] = strings(report.trace);
  return object;
}

std::string compact(const Json& value) {
  return json_visible(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

/// A lower bound for the length of the compact form in bytes. It stops counting shortly after `enough`.
std::size_t min_length(const Json& value, std::size_t enough) {
  if (const auto* text = value.get_ptr<const std::string*>()) return text->size() + 2;
  if (!value.is_structured()) return 1;
  std::size_t length = 2 + (value.empty() ? 0 : value.size() - 1);
  for (auto item = value.begin(); item != value.end() && length <= enough; ++item) {
    if (value.is_object()) length += item.key().size() + 3;
    length += min_length(*item, enough - std::min(enough, length));
  }
  return length;
}

/// Prints a value on one line if it fits, so that a point or a location does not take five lines. Skips values that are
/// surely too long: otherwise each level would print all inner values once more.
void print(const Json& value, std::size_t indent, std::string& out) {
  constexpr std::size_t width = 110;
  if (!value.is_structured() || value.empty()) {
    out += compact(value);
    return;
  }
  if (indent > 0 && indent + min_length(value, width) <= width) {
    const std::string line = compact(value);
    if (indent + line.size() <= width) {
      out += line;
      return;
    }
  }
  const std::string inner(indent + 2, ' ');
  out += value.is_object() ? '{' : '[';
  const char* separator = "\n";
  for (const auto& [key, item] : value.items()) {
    out += separator + inner;
    if (value.is_object()) out += compact(key) + ": ";
    print(item, indent + 2, out);
    separator = ",\n";
  }
  out += '\n' + std::string(indent, ' ');
  out += value.is_object() ? '}' : ']';
}

}  // namespace

std::string json_text(const Report& report) {
  std::string text;
  print(document(report), 0, text);
  return text + '\n';
}

std::string jsonl_text(const Report& report) {
  std::string text;
  const auto add = [&](const char* name, Json value) {
    value.erase("points");
    const Json line = {{"oomdoctor_jsonl", jsonl_version},
                       {"input", report.inputs.empty() ? "" : report.inputs.front().path},
                       {name, std::move(value)}};
    text += line.dump(-1, ' ', true, Json::error_handler_t::replace) + '\n';
  };
  add("verdict", verdict(report.verdict));
  for (const auto& of : report.incidents) add("incident", incident(of));
  for (const auto& of : report.series) add("series", series(of));
  for (const auto& of : report.causes) add("cause", cause(of));
  for (const auto& of : report.fixes) add("fix", fix(of));
  return text;
}

}  // namespace oomdoctor
