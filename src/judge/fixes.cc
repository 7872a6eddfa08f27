// score = evidence for the fix × probability of its causes × share of the need that it saves × rank
// ÷ ((1 + cost) × (1 + risk))
// The plan is greedy in that order, with one budget per share of the memory breakdown: two fixes cannot save the same
// bytes.
#include "judge/fixes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <sstream>
#include <utility>

#include "base/ascii.h"

namespace oomdoctor {

namespace {

struct PlannerLimits {
  double unknown_evidence = 0.5;  // factor if the fix's condition is unknown
  double maybe_in_force = 0.9;    // factor if the fix may be in use; switches are off by default, and most logs that do
                                  // not print one have it off
  double unknown_effect = 0.5;    // share of the need if the saving or the need is unknown
  double min_score = 0.04;        // of the best score; a fix below it is noise
  double fix_doubt = 0.5;         // factor on doubts about fixes: the cause matters more than a single fix
  std::size_t max_fixes = 8;
  std::size_t max_doubtful = 3;  // fixes whose condition is unknown
  double expected_probability =
      0.1;  // probability of a cause from which users expect to hear why a usual fix is missing
};
constexpr PlannerLimits planning;

/// The memory that the failed step was short of.
struct Need {
  std::optional<double> bytes;  ///< including the margin
  double margin = 0;
  bool whole = false;     ///< the job needs no more memory later
  bool at_least = false;  ///< by what the job still was to allocate: a lower bound
};

/// Returns the need, if it is known. During the load the need is unknown, because the missing bytes are only a part of
/// it. Before the end of the first step, gradients and optimizer states are still missing: their number may show that
/// more than the request had no room.
Need find_need(const Facts& facts) {
  const auto bytes = facts.is_true("phase.load") ? std::nullopt : facts.number("account.need");
  const double margin = facts.number("account.margin").value_or(0);
  const bool whole = !facts.is_true("phase.first_step") && !facts.is_true("phase.optimizer_init") &&
                     !facts.is_true("phase.perhaps_first");
  if (const auto excess = facts.number("advice.states_excess"); !whole && bytes && excess && *excess + margin > *bytes)
    return {*excess + margin, margin, whole, true};
  return {bytes && *bytes > 0 ? bytes : std::nullopt, margin, whole, false};
}

/// A fix with its evaluation. Sizes are in bytes.
struct Candidate {
  const FixRule* rule = nullptr;
  Evaluation when;
  bool maybe_in_force = false;
  std::optional<double> saves, low, max_saves;
  bool to_come = false;  ///< it saves more than there was: a part of what was still to come
  double score = 0;
  std::vector<std::string> facts;

  bool applies() const { return known(when.value); }
};

// Shares of known size. The savings of all fixes in a share cannot exceed it.
struct ShareBudget {
  std::string_view share, fact;
};
constexpr ShareBudget share_budgets[] = {
    {"activations", "advice.activations"}, {"unallocated", "oom.unallocated"}, {"external", "account.external"},
    {"states", "advice.states"},           {"own_other", "account.own_other"}, {"pools", "oom.private_pools"},
};

/// Evaluates a size, clamps it at 0, and adds its facts to `read`.
std::optional<double> positive(const std::optional<Expr>& size, const Facts& facts, std::vector<std::string>& read) {
  if (!size) return std::nullopt;
  const Evaluation result = size->evaluate(facts);
  const Number* number = std::get_if<Number>(&result.value);
  if (!number) return std::nullopt;
  read.insert(read.end(), result.facts.begin(), result.facts.end());
  return std::max(0.0, number->value);
}

i64 rounded(double bytes) { return whole_number(std::round(bytes)); }

/// The sum of the probabilities of the fix's causes.
double cause_weight(const FixRule& rule, const WeighedCauses& causes) {
  double sum = 0;
  for (const auto& cause : causes.causes)
    if (std::find(rule.causes.begin(), rule.causes.end(), cause.cause) != rule.causes.end()) sum += cause.probability;
  return std::min(sum, 1.0);
}

/// The share of the need that the fix saves.
double effect(const Candidate& fix, const Need& need) {
  if (!fix.saves) return planning.unknown_effect;
  if (*fix.saves <= 0) return 0;
  return need.bytes ? std::min(1.0, *fix.saves / *need.bytes) : planning.unknown_effect;
}

/// An upper bound for any saving on the GPU. A fix that makes tensors smaller frees no more than the tensors there are:
/// states that do not exist yet free nothing, and the weights stay, unless it makes them smaller.
std::optional<double> max_saving(const FixRule& rule, const Facts& facts) {
  const auto live = facts.number("oom.allocated"), others = facts.number("account.external"),
             request = facts.number("oom.request"), reserved = facts.number("oom.reserved");
  if (facts.text("oom.kind") != "device" || !live || !request) return std::nullopt;
  if (rule.share == "limit") return std::nullopt;  // a higher cap frees nothing: it allows what is free
  static constexpr std::array<std::string_view, 3> tensors{"activations", "attention", "states"};
  if (std::find(tensors.begin(), tensors.end(), rule.share) != tensors.end())
    return std::max(*live - facts.number("model.weights_least").value_or(0), 0.0);
  if (rule.share == "weights") return live;
  return std::max(*live, reserved.value_or(0)) + *request + others.value_or(0);
}

/// The class of the risk. A program that does not train has no hyper-parameters: what it makes changes.
int find_risk(const FixRule& rule, const Facts& facts) {
  constexpr int tune_again = 2, other_result = 3;
  return rule.risk == tune_again && facts.is_false("run.trains") ? other_result : rule.risk;
}

Candidate make_candidate(const FixRule& rule, const WeighedCauses& causes, const Facts& facts, const Need& need) {
  Candidate fix;
  fix.rule = &rule;
  fix.when = rule.when.evaluate(facts);
  fix.facts.assign(fix.when.facts.begin(), fix.when.facts.end());
  fix.saves = positive(rule.saves, facts, fix.facts);
  fix.low = rule.saves_low ? positive(rule.saves_low, facts, fix.facts) : std::nullopt;
  if (const auto max_saves = max_saving(rule, facts); max_saves && need.at_least) {
    fix.to_come = fix.saves.value_or(0) > *max_saves;
  } else if (max_saves) {
    if (fix.saves) fix.saves = std::min(*fix.saves, *max_saves);
    if (fix.low) fix.low = std::min(*fix.low, *max_saves);
  }
  if (!fix.low && fix.saves) fix.low = *fix.saves / 2;
  if (!fix.saves && rule.saves_most) fix.max_saves = positive(rule.saves_most, facts, fix.facts);
  if (rule.already) fix.maybe_in_force = rule.already->truth(facts) == Truth::unknown;
  const double evidence =
      (fix.applies() ? 1 : planning.unknown_evidence) * (fix.maybe_in_force ? planning.maybe_in_force : 1);
  const double rank = choose(rule, &FixRule::rank, &OtherTitle::rank, facts);
  const int cost = choose(rule, &FixRule::cost, &OtherTitle::cost, facts);
  const int risk = find_risk(rule, facts);
  fix.score = evidence * cause_weight(rule, causes) * effect(fix, need) * rank / ((1 + cost) * (1 + risk));
  return fix;
}

bool ranks_before(const Candidate& a, const Candidate& b) {
  if (a.applies() != b.applies()) return a.applies();
  if (a.score != b.score) return a.score > b.score;
  return a.rule->id < b.rule->id;
}

bool expected_by_user(const FixRule& rule, const WeighedCauses& causes) {
  return cause_weight(rule, causes) >= planning.expected_probability;
}

/// True if the fix would be a guess: a traceback or the trend of the memory would decide it, and the log has neither,
/// or nothing at all. Its missing fact is worth a question, but the fix is not offered.
bool is_guess(const Candidate& fix, const Facts& facts) {
  constexpr auto seen_there = std::to_array<std::string_view>({"trace.", "phase.", "trend.", "shape."});
  if (fix.applies()) return false;
  if (facts.is_true("advice.blind") && fix.rule->kind != FixKind::diagnostic) return true;
  return std::any_of(fix.when.missing.begin(), fix.when.missing.end(), [&](std::string_view fact) {
    return std::any_of(seen_there.begin(), seen_there.end(),
                       [&](std::string_view group) { return fact.starts_with(group); });
  });
}

// The fixes to print: the best ones, with at least one that needs no code change and one diagnostic.
std::vector<Candidate> choose_fixes(std::vector<Candidate> all) {
  std::stable_sort(all.begin(), all.end(), ranks_before);
  double best = 0;
  for (const auto& fix : all) best = std::max(best, fix.score);
  std::erase_if(all, [&](const Candidate& fix) { return fix.score <= 0 || fix.score < planning.min_score * best; });
  // Fixes with an unknown condition sort last.
  const auto open = static_cast<std::size_t>(
      std::count_if(all.begin(), all.end(), [](const Candidate& fix) { return !fix.applies(); }));
  if (open > planning.max_doubtful) all.resize(all.size() - open + planning.max_doubtful);
  if (all.size() <= planning.max_fixes) return all;
  std::vector<Candidate> list(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(planning.max_fixes));
  const auto by_hand = [](const Candidate& fix) { return fix.rule->kind == FixKind::code; };
  const auto diagnostic = [](const Candidate& fix) { return fix.rule->kind == FixKind::diagnostic; };
  const auto no_code = [&](const Candidate& fix) { return !by_hand(fix) && !diagnostic(fix); };
  const auto ensure = [&](auto is, std::size_t index) {
    if (std::any_of(list.begin(), list.end(), is)) return;
    const auto found = std::find_if(all.begin(), all.end(), is);
    if (found != all.end()) list[index] = *found;
  };
  ensure(no_code, planning.max_fixes - 2);
  ensure(diagnostic, planning.max_fixes - 1);
  std::stable_sort(list.begin(), list.end(), ranks_before);
  return list;
}

/// Whether the setting applies to this program.
Truth applicability(const SettingRule& setting, const Facts& facts) {
  const Truth place = setting.place ? setting.place->truth(facts) : Truth::yes;
  const Truth when = setting.when ? setting.when->truth(facts) : Truth::yes;
  if (place == Truth::no || when == Truth::no) return Truth::no;
  return place == Truth::yes && when == Truth::yes ? Truth::yes : Truth::unknown;
}

/// The options of a command line as arguments of a constructor: "--optim adafactor   # slower" gives
/// "TrainingArguments(optim=\"adafactor\")   # slower". Other text only loses the dashes of the options in it.
std::string as_arguments(std::string text, const std::string& constructor) {
  const std::size_t comment = std::min(text.find("   #"), text.size());
  std::string out;
  if (text.starts_with("--")) {
    std::istringstream words(text.substr(0, comment));
    for (std::string option, value; words >> option >> value;) {
      const bool plain = value == "True" || value == "False" ||
                         std::all_of(value.begin(), value.end(), [](char c) { return is_digit(c) || c == '.'; });
      out += (out.empty() ? "" : ", ") + option.substr(std::min(option.find_first_not_of('-'), option.size())) + '=' +
             (plain || value.starts_with('"') ? value : '"' + value + '"');
    }
    out = constructor + '(' + out + ')';
    text.erase(0, comment);
  }
  for (std::size_t at = text.find(" --"); at != text.npos; at = text.find(" --", at)) text.erase(at + 1, 2);
  return out + text;
}

/// The settings to print: those of the places in this log, else general ones, else those of places that the log does
/// not exclude.
std::vector<FixSetting> choose_settings(const FixRule& rule, const Facts& facts) {
  std::vector<FixSetting> specific, general, doubtful;
  std::ptrdiff_t of_program = 0;  ///< lines of the program in this log: they fit best, so they come first
  for (const auto& setting : rule.settings) {
    const Truth applies = applicability(setting, facts);
    if (applies == Truth::no) continue;
    const auto text = setting.text.fill(facts);
    if (!text) continue;
    const bool in_cells = !setting.arguments.empty() && facts.is_true("framework.notebook");
    FixSetting line{setting.scope, in_cells ? as_arguments(*text, setting.arguments) : *text,
                    setting.from.fill(facts).value_or(""), setting.to.fill(facts).value_or("")};
    line.prose = setting.prose;
    line.gap = setting.text.has_gap();
    if (!line.from.empty()) line.from_facts = setting.from.list_facts(facts);
    if (applies == Truth::yes && !setting.program.empty())
      specific.insert(specific.begin() + of_program++, std::move(line));
    else
      (applies != Truth::yes ? doubtful : setting.general ? general : specific).push_back(std::move(line));
  }
  // A program that has a line of its own builds the model itself: code of PyTorch around it has no place there.
  if (of_program > 0 && rule.kind == FixKind::setting)
    std::erase_if(specific, [](const FixSetting& line) { return line.scope == "plain PyTorch"; });
  return !specific.empty() ? specific : !general.empty() ? general : doubtful;
}

/// Whether choose_settings() finds any.
bool has_settings(const FixRule& rule, const Facts& facts) {
  return std::any_of(rule.settings.begin(), rule.settings.end(), [&](const SettingRule& setting) {
    return applicability(setting, facts) != Truth::no && setting.text.fill(facts);
  });
}

/// True if the fix applies to this program, and at least one setting does. Exports of monitors show no program whose
/// code or settings could change.
bool has_meaning(const FixRule& rule, const Facts& facts) {
  const bool changes_program = rule.kind == FixKind::code || rule.kind == FixKind::setting;
  if (changes_program && facts.is_true("run.exports_only")) return false;
  return !(rule.needs && rule.needs->truth(facts) == Truth::no) && has_settings(rule, facts);
}

bool covers(double low, double high, const Need& need) {
  return need.bytes && high >= *need.bytes && low >= *need.bytes - need.margin;
}

bool is_enough(double low, double high, const Need& need) { return need.whole && covers(low, high, need); }

// Only a saving with a known condition may be promised.
bool counts(const Candidate& fix) { return fix.applies() && fix.saves && *fix.saves > 0; }

/// True if the fix makes use of the cache for the failed request, and the first cause is another: the next request of
/// the same step may fail.
bool serves_request_only(const FixRule& rule, const WeighedCauses& causes) {
  const bool of_first = !causes.causes.empty() && std::find(rule.causes.begin(), rule.causes.end(),
                                                            causes.causes.front().cause) != rule.causes.end();
  return rule.share == "unallocated" && !causes.causes.empty() && !of_first;
}

ReportFix make_ranked(const Candidate& fix, const WeighedCauses& causes, const Facts& facts, const Need& need) {
  const FixRule& rule = *fix.rule;
  ReportFix out;
  out.id = rule.id;
  out.title = choose_title(rule, facts);
  out.causes = rule.causes;
  if (fix.saves && !fix.to_come) out.saves_high_bytes = rounded(std::max(*fix.saves, fix.low.value_or(0)));
  if (fix.low && !fix.to_come) out.saves_low_bytes = rounded(*fix.low);
  if (fix.max_saves && *fix.max_saves > 0) out.saves_low_bytes = 0, out.saves_high_bytes = rounded(*fix.max_saves);
  out.saves_formula = rule.saves_formula;
  out.cost = choose(rule, &FixRule::cost, &OtherTitle::cost, facts);
  out.diagnostic = rule.kind == FixKind::diagnostic;
  out.outside = rule.kind == FixKind::outside;
  out.allows = rule.share == "limit";
  out.risk = find_risk(rule, facts);
  out.enough = counts(fix) && is_enough(*fix.low, *fix.saves, need);
  out.serves_request = out.enough && serves_request_only(rule, causes);
  out.enough &= !out.serves_request;
  out.if_not_already = fix.maybe_in_force || !fix.applies();
  out.why = rule.why.fill_sentences(facts);
  out.settings = choose_settings(rule, facts);
  out.not_with = rule.not_with;
  out.verify = choose(rule, &FixRule::verify, &OtherTitle::verify, facts);
  out.facts = fix.facts;
  return out;
}

// Sums the savings of several fixes. Within one share, the sum is at most the size of the share, or the largest single
// saving if the size is unknown.
class SavingsSum {
 public:
  explicit SavingsSum(const Facts& facts) : facts_(facts) {}

  void add(const Candidate& fix) {
    const std::string share = fix.rule->share.empty() ? fix.rule->id : fix.rule->share;
    auto& [low, high, largest] = shares_[share];
    low += *fix.low;
    high += *fix.saves;
    largest = std::max(largest, *fix.saves);
  }
  double low() const { return total(true); }
  double high() const { return total(false); }

 private:
  struct Saved {
    double low = 0, high = 0, largest = 0;
  };
  double total(bool of_low) const {
    double sum = 0;
    for (const auto& [share, saved] : shares_)
      sum += std::min(of_low ? saved.low : saved.high, budget(share, saved.largest));
    return sum;
  }
  double budget(const std::string& share, double largest) const {
    for (const auto& known_share : share_budgets)
      if (share == known_share.share) return std::max(largest, facts_.number(known_share.fact).value_or(largest));
    return largest;
  }

  const Facts& facts_;
  std::map<std::string, Saved> shares_;
};

SavingsSum sum_savings(const std::vector<const Candidate*>& fixes, const Facts& facts) {
  SavingsSum sum(facts);
  for (const auto* fix : fixes) sum.add(*fix);
  return sum;
}

bool excludes(const FixRule& a, const FixRule& b) {
  return std::find(a.not_with.begin(), a.not_with.end(), b.id) != a.not_with.end();
}

// The smallest set of fixes that covers the need: a single fix if one suffices. Otherwise it adds the best ones until
// their sum does, and then removes those that are not necessary.
std::vector<const Candidate*> smallest_set(const std::vector<Candidate>& list, const Facts& facts, const Need& need) {
  std::vector<const Candidate*> set;
  for (const auto& fix : list)
    if (counts(fix) && covers(*fix.low, *fix.saves, need)) return {&fix};
  const auto fits = [&](const std::vector<const Candidate*>& fixes) {
    const SavingsSum sum = sum_savings(fixes, facts);
    return covers(sum.low(), sum.high(), need);
  };
  for (const auto& fix : list) {
    if (!counts(fix)) continue;
    if (std::any_of(set.begin(), set.end(), [&](const Candidate* other) { return excludes(*fix.rule, *other->rule); }))
      continue;
    const double before_it = sum_savings(set, facts).high();
    set.push_back(&fix);
    if (sum_savings(set, facts).high() <= before_it) set.pop_back();
    if (fits(set)) break;
  }
  for (std::size_t i = 0; i < set.size() && fits(set);) {
    auto without = set;
    without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
    if (fits(without))
      set = std::move(without);
    else
      ++i;
  }
  return set;
}

/// nullopt for a leak: the next steps take what a fix saves. Without a saving in bytes, a plan gives the missing memory
/// only.
std::optional<ReportPlan> make_plan(const std::vector<Candidate>& list, const WeighedCauses& causes, const Facts& facts,
                                    const Need& need) {
  if (!need.bytes || list.empty() || facts.is_true("trend.leak")) return std::nullopt;
  const auto set = smallest_set(list, facts, need);
  ReportPlan plan;
  plan.need_bytes = rounded(*need.bytes);
  plan.margin_bytes = rounded(need.margin);
  plan.at_least = need.at_least;
  const SavingsSum sum = sum_savings(set, facts);
  plan.would_have_fitted = is_enough(sum.low(), sum.high(), need) &&
                           !std::all_of(set.begin(), set.end(),
                                        [&](const Candidate* fix) { return serves_request_only(*fix->rule, causes); });
  for (const auto* fix : set) plan.fixes.push_back(fix->rule->id);
  // A larger cap leaves the peak as it is.
  const bool of_memory =
      std::none_of(set.begin(), set.end(), [](const Candidate* fix) { return fix->rule->share == "limit"; });
  const auto capacity = facts.number("oom.capacity"), free = facts.number("oom.free"),
             request = facts.number("oom.request");
  if (of_memory && capacity && free && request && sum.high() > 0 && !need.at_least)
    plan.predicted_peak_bytes = rounded(std::max(0.0, *capacity - *free + *request - (sum.low() + sum.high()) / 2));
  return plan;
}

bool is_worth_mention(const FixRule& rule, const WeighedCauses& causes, const Prescription& out) {
  return out.held_back.size() < max_held_back && expected_by_user(rule, causes);
}

void add_doubts(const Candidate& fix, const Facts& facts, Prescription& out) {
  for (const auto fact : fix.when.missing)
    out.doubts.push_back({std::string(fact), fix.score * planning.fix_doubt, choose_title(*fix.rule, facts), true});
}

/// Why a fix that does not help is not offered, if the log shows why; else "".
std::string reason_against(const FixRule& rule, FixStatus status, const Facts& facts) {
  for (const HeldBackReason& reason : rule.held_back)
    if (reason.condition.truth(facts) == Truth::yes) return reason.because.fill_sentences(facts);
  return status == FixStatus::in_force ? "The log shows that it is in force already." : "";
}

}  // namespace

FixStatus evaluate_fix(const FixRule& rule, const Facts& facts) {
  if (!has_meaning(rule, facts)) return FixStatus::meaningless;
  // Without a failure, the facts of a message stay unknown. Offer only fixes that are known to help.
  const Truth when = rule.when.truth(facts);
  if (when == Truth::no || (when == Truth::unknown && facts.find("oom.kind") == nullptr)) return FixStatus::refuted;
  if (rule.already && rule.already->truth(facts) == Truth::yes) return FixStatus::in_force;
  return when == Truth::yes ? FixStatus::helps : FixStatus::open;
}

Prescription prescribe(const RulePack& pack, const WeighedCauses& causes, const Facts& facts) {
  Prescription out;
  const Need need = find_need(facts);
  std::vector<Candidate> candidates;
  for (const auto& [id, rule] : pack.fixes()) {
    const FixStatus standing = evaluate_fix(rule, facts);
    if (standing == FixStatus::helps || standing == FixStatus::open) {
      candidates.push_back(make_candidate(rule, causes, facts, need));
    } else if (standing != FixStatus::meaningless && is_worth_mention(rule, causes, out)) {
      std::string because = reason_against(rule, standing, facts);
      if (!because.empty()) out.held_back.push_back({rule.id, choose_title(rule, facts), std::move(because)});
    }
  }
  const auto guesses = std::stable_partition(candidates.begin(), candidates.end(),
                                             [&](const Candidate& fix) { return !is_guess(fix, facts); });
  for (auto guess = guesses; guess != candidates.end(); ++guess) add_doubts(*guess, facts, out);
  candidates.erase(guesses, candidates.end());
  const auto list = choose_fixes(std::move(candidates));
  for (const auto& fix : list) {
    out.fixes.push_back(make_ranked(fix, causes, facts, need));
    add_doubts(fix, facts, out);
  }
  if (!list.empty() && counts(list.front()) && need.bytes && !list.front().to_come)
    out.fixes.front().falls_short = *list.front().saves < *need.bytes;
  out.plan = make_plan(list, causes, facts, need);
  return out;
}

}  // namespace oomdoctor
