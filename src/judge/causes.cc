// Method: naive Bayes with tempering. log prior + sum of the weights of all signs that hold, times the tempering,
// through softmax. The weights are expert judgement, written beside their reasons in rules/causes/. Where two causes
// are close, the verdict is "undetermined": a wrong name costs its reader more than a question.
#include "judge/causes.h"

#include <algorithm>
#include <cmath>

namespace oomdoctor {

namespace {

struct CauseWeights {
  // Below 1, log-odds shrink because signs of one log overlap. scripts/calibrate, on 89 labelled logs in two halves,
  // found the first cause right far more often than its probability said (by 0.38 at 0.7, 0.29 at 1, in both halves
  // alike), and still more would fit; but the people who wrote the weights had read those logs, so it stays at 1.
  double temper = 1;
  double cap = 0.95;           // no indirect evidence is better than nineteen in twenty
  double proven_cap = 0.99;    // a kernel line, a printed cap, an impossible size
  double decided = 0.5;        // a verdict is more probable than all else together …
  double decided_ratio = 1.8;  // … and clearly ahead of the second
  double strong_sign = 2;      // an unknown sign of this weight is worth a question
  std::size_t doubted = 3;     // of the first causes only
};
constexpr CauseWeights weighing;

struct Weighed {
  RankedCause ranked;
  double logit = 0;
  double cap = weighing.cap;
  bool possible = true;
  std::vector<MissingFact> doubts;
};

void weigh_sign(const Sign& sign, const Facts& facts, Weighed& cause) {
  if (sign.condition.truth(facts) == Truth::no) return;
  const Evaluation result = sign.condition.evaluate(facts);
  if (!known(result.value)) {
    if (std::fabs(sign.weight) < weighing.strong_sign) return;
    for (const auto fact : result.missing)
      cause.doubts.push_back({std::string(fact), std::fabs(sign.weight), cause.ranked.title});
    return;
  }
  cause.logit += sign.weight;
  if (sign.definitional) {
    cause.ranked.definitional = true;
    cause.cap = std::max(cause.cap, weighing.proven_cap);
  }
  std::string text = sign.why.fill_sentences(facts);
  if (text.empty()) return;  // it counts, but its words need a fact that the log does not tell
  auto& list = sign.weight >= 0 ? cause.ranked.because : cause.ranked.against;
  list.push_back({std::move(text), sign.weight, {result.facts.begin(), result.facts.end()}});
}

Weighed weigh(const CauseRule& rule, const Facts& facts) {
  Weighed cause;
  cause.ranked.id = rule.id;
  cause.ranked.guide = rule.guide;
  const bool only_uses = facts.is_false("run.trains") && !rule.title_of_use.empty();
  cause.ranked.title = only_uses ? rule.title_of_use : rule.title;
  cause.ranked.explain = rule.explain.fill_sentences(facts);
  cause.logit = std::log(rule.prior);
  if (rule.possible && rule.possible->truth(facts) == Truth::no) {
    const Evaluation possible = rule.possible->evaluate(facts);
    cause.possible = false;
    cause.ranked.against.push_back({rule.impossible, -12, {possible.facts.begin(), possible.facts.end()}});
    return cause;
  }
  for (const auto& sign : rule.signs) weigh_sign(sign, facts, cause);
  for (const auto& ceiling : rule.ceilings)
    if (ceiling.condition.truth(facts) == Truth::yes) cause.cap = std::min(cause.cap, ceiling.at_most);
  const auto stronger = [](const FiredSign& a, const FiredSign& b) {
    return std::fabs(a.weight) > std::fabs(b.weight);
  };
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

std::string verdict_of(const std::vector<Weighed>& causes) {
  const double first = causes.empty() ? 0 : causes[0].ranked.probability;
  const double second = causes.size() < 2 ? 0 : causes[1].ranked.probability;
  const bool decided = first >= weighing.decided && first >= weighing.decided_ratio * second;
  return decided ? causes[0].ranked.id : "undetermined";
}

}  // namespace

WeighedCauses weigh_causes(const RulePack& pack, const Facts& facts) {
  std::vector<Weighed> causes;
  for (const auto& [id, rule] : pack.causes()) causes.push_back(weigh(rule, facts));
  set_probabilities(causes);
  std::stable_sort(causes.begin(), causes.end(),
                   [](const Weighed& a, const Weighed& b) { return a.ranked.probability > b.ranked.probability; });
  WeighedCauses result;
  result.verdict = verdict_of(causes);
  const double open =
      causes.empty() ? 0 : 1 - causes[0].ranked.probability;  // where all is clear, nothing is worth asking
  for (std::size_t i = 0; i < causes.size(); ++i) {
    if (i < weighing.doubted)
      for (auto& doubt : causes[i].doubts) {
        doubt.gain *= causes[i].ranked.probability * open;
        result.doubts.push_back(std::move(doubt));
      }
    result.causes.push_back(std::move(causes[i].ranked));
  }
  return result;
}

}  // namespace oomdoctor
