#include <nlohmann/json.hpp>

#include "oomdoctor/version.h"
#include "report/estimate.h"

namespace oomdoctor {
namespace {

using Json = nlohmann::ordered_json;

std::string_view moment_id(Moment moment) {
  switch (moment) {
    case Moment::always:
      return "always";
    case Moment::pass:
      return "pass";
    case Moment::step:
      return "optimizer_step";
  }
  return "";
}

Json term_json(const Term& term) {
  Json object = {{"id", term.id}, {"label", term.label}, {"bytes", term.bytes.count}};
  if (term.bytes.slack > 0) object["slack_bytes"] = term.bytes.slack;
  object["formula"] = term.formula;
  object["moment"] = moment_id(term.moment);
  object["with_batch"] = term.with_batch;
  object["with_sequence"] = term.with_sequence;
  return object;
}

Json change_json(const PlannedChange& change) {
  return {{"id", change.id},     {"title", change.title},       {"setting", change.setting}, {"cost", change.cost},
          {"risk", change.risk}, {"saves_bytes", change.saves}, {"peak_bytes", change.peak}};
}

template <class Items, class Each>
Json list(const Items& items, Each each) {
  Json array = Json::array();
  for (const auto& item : items) array.push_back(each(item));
  return array;
}

}  // namespace

std::string estimate_json(const MemoryEstimate& estimate) {
  const Budget& budget = estimate.budget;
  Json object = {{"tool", {{"name", "oomdoctor"}, {"version", version}}}, {"outcome", outcome_of(estimate)}};
  if (estimate.capacity) {
    object["capacity_bytes"] = *estimate.capacity;
    object["margin_bytes"] = margin_of(*estimate.capacity);
  }
  object["peak"] = {
      {"moment", moment_id(budget.peak)}, {"bytes", budget.total.count}, {"slack_bytes", budget.total.slack}};
  object["assumed"] = estimate.assumed;
  object["terms"] = list(budget.terms, term_json);
  object["missing"] = list(budget.missing, [](const Missing& missing) {
    return Json{{"label", missing.label}, {"needs", missing.needs}};
  });
  if (budget.host) object["host"] = term_json(*budget.host);
  if (estimate.largest_batch) object["largest_batch"] = *estimate.largest_batch;
  if (estimate.longest_sequence) object["longest_sequence"] = *estimate.longest_sequence;
  if (estimate.plan)
    object["plan"] = {{"fits", estimate.plan->fits}, {"changes", list(estimate.plan->changes, change_json)}};
  if (estimate.ranks) object["ranks_with_zero_3"] = *estimate.ranks;
  return object.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace oomdoctor
