// Method: naive Bayes with tempering. A softmax of (log prior + sum of the weights of all signs that hold) × tempering
// gives the probabilities. The weights are expert judgement, written next to their reasons in rules/causes/. If two
// causes are close, the verdict is "undetermined": a wrong cause costs the user more than a question.
#include "judge/causes.h"

#include <algorithm>
#include <cmath>

namespace oomdoctor {

namespace {

struct CauseWeights {
  // Below 1, it shrinks the log-odds, because the signs of one log overlap. scripts/calibrate, on 89 labelled logs in
  // two halves, found the first cause right far more often than its probability (by 0.38 at 0.7, 0.29 at 1, equally in
  // both halves). An even larger value would fit better. But the authors of the weights had read those logs, so it
  // stays at 1.
  double temper = 1;
  double cap = 0.95;           // maximum without proof: nineteen in twenty
  double proven_cap = 0.99;    // maximum with proof: a kernel line, a printed limit, an impossible size
  double decided = 0.5;        // a verdict needs at least half of the probability …
  double decided_ratio = 1.8;  // … and this ratio to the second cause
  double strong_sign = 2;      // an unknown sign with at least this weight justifies a question
  std::size_t doubted = 3;     // number of causes, from the first, whose doubts count
};
constexpr CauseWeights weighing;

/// A cause while its weights are summed.
struct Weighed {
  ReportCause ranked;
  double logit = 0;
  double cap = weighing.cap;
  bool possible = true;
  std::vector<MissingFact> doubts;
};

/// Adds one sign to a cause: its weight if it holds, a doubt if it is unknown.
void weigh_sign(const Sign& sign, const Facts& facts, Weighed& cause) {
  if (sign.condition.truth(facts) == Truth::no) return;
  const Evaluation result = sign.condition.evaluate(facts);
  if (!known(result.value)) {
    if (std::fabs(sign.weight) < weighing.strong_sign) return;
    // The size of a device decides only with the other number of the comparison.
    for (const auto fact : result.missing)
      if (fact != "oom.capacity" || result.missing.size() == 1)
        cause.doubts.push_back({std::string(fact), std::fabs(sign.weight), cause.ranked.title});
    return;
  }
  cause.logit += sign.weight;
  if (sign.definitional) cause.cap = std::max(cause.cap, weighing.proven_cap);
  std::string text = sign.why.fill_sentences(facts);
  if (text.empty()) return;  // the sign counts, but its text needs an unknown fact
  auto& list = sign.weight >= 0 ? cause.ranked.because : cause.ranked.against;
  // The report cites the lines of what the sign read, and of what its text prints.
  std::vector<std::string> read(result.facts.begin(), result.facts.end());
  for (std::string& printed : sign.why.list_facts(facts))
    if (std::find(read.begin(), read.end(), printed) == read.end()) read.push_back(std::move(printed));
  list.push_back({std::move(read), std::move(text), sign.weight, {}});
}

Weighed weigh(const CauseRule& rule, const Facts& facts) {
  Weighed cause;
  cause.ranked.cause = rule.id;
  cause.ranked.guide = rule.guide;
  cause.ranked.title = choose_title(rule, facts);
  cause.ranked.explain = rule.explain.fill_sentences(facts);
  cause.logit = std::log(rule.prior);
  if (rule.possible && rule.possible->truth(facts) == Truth::no) {
    const Evaluation possible = rule.possible->evaluate(facts);
    cause.possible = false;
    cause.ranked.against.push_back({{possible.facts.begin(), possible.facts.end()}, rule.impossible, -12, {}});
    return cause;
  }
  for (const auto& sign : rule.signs) weigh_sign(sign, facts, cause);
  for (const auto& ceiling : rule.ceilings)
    if (ceiling.condition.truth(facts) == Truth::yes) cause.cap = std::min(cause.cap, ceiling.at_most);
  const auto stronger = [](const Reason& a, const Reason& b) { return std::fabs(a.weight) > std::fabs(b.weight); };
  std::stable_sort(cause.ranked.because.begin(), cause.ranked.because.end(), stronger);
  std::stable_sort(cause.ranked.against.begin(), cause.ranked.against.end(), stronger);
  return cause;
}

void set_probabilities(std::vector<Weighed>& causes) {
  double highest = -1e300, sum = 0;
  for (const auto& cause : causes)
    if (cause.possible) highest = std::max(highest, cause.logit);
  const auto mass = [&](const Weighed& cause) {
    return cause.possible ? std::exp(weighing.temper * (cause.logit - highest)) : 0;
  };
  for (const auto& cause : causes) sum += mass(cause);
  if (sum <= 0) return;
  for (auto& cause : causes) cause.ranked.probability = std::min(cause.cap, mass(cause) / sum);
}

std::string find_top_cause(const std::vector<Weighed>& causes) {
  const double first = causes.empty() ? 0 : causes[0].ranked.probability;
  const double second = causes.size() < 2 ? 0 : causes[1].ranked.probability;
  const bool decided = first >= weighing.decided && first >= weighing.decided_ratio * second;
  return decided ? causes[0].ranked.cause : "undetermined";
}

}  // namespace

CauseExplanation explain_cause(const RulePack& pack, const CauseRule& cause) {
  CauseExplanation out;
  out.text = cause.explain.with_letters();
  std::vector<const Sign*> signs;
  for (const Sign& sign : cause.signs) signs.push_back(&sign);
  std::stable_sort(signs.begin(), signs.end(),
                   [](const Sign* a, const Sign* b) { return std::fabs(a->weight) > std::fabs(b->weight); });
  for (const Sign* sign : signs) {
    if (sign->weight == 0) continue;
    std::string text = sign->why.with_letters() + (sign->definitional ? " (this proves it)" : "");
    (sign->weight > 0 ? out.signs_for : out.signs_against).push_back(std::move(text));
  }
  if (cause.possible) out.signs_against.push_back("ruled out: " + cause.impossible);
  for (const auto& [id, fix] : pack.fixes())
    if (std::find(fix.causes.begin(), fix.causes.end(), cause.id) != fix.causes.end())
      out.fixes.push_back({id, fix.title});
  if (out.fixes.empty()) out.no_fix = cause.no_fix;
  return out;
}

WeighedCauses weigh_causes(const RulePack& pack, const Facts& facts) {
  std::vector<Weighed> causes;
  for (const auto& [id, rule] : pack.causes()) causes.push_back(weigh(rule, facts));
  set_probabilities(causes);
  std::stable_sort(causes.begin(), causes.end(),
                   [](const Weighed& a, const Weighed& b) { return a.ranked.probability > b.ranked.probability; });
  WeighedCauses result;
  result.top_cause = find_top_cause(causes);
  const double uncertainty =
      causes.empty() ? 0 : 1 - causes[0].ranked.probability;  // if the first cause is certain, no question is necessary
  for (std::size_t i = 0; i < causes.size(); ++i) {
    if (i < weighing.doubted)
      for (auto& doubt : causes[i].doubts) {
        doubt.gain *= causes[i].ranked.probability * uncertainty;
        result.doubts.push_back(std::move(doubt));
      }
    result.causes.push_back(std::move(causes[i].ranked));
    ReportCause& cause = result.causes.back();
    if (cause.guide.empty() && (i == 0 || cause.probability >= min_shown_probability))
      cause.explanation = explain_cause(pack, pack.causes().at(cause.cause));
  }
  return result;
}

}  // namespace oomdoctor
