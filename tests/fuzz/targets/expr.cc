// Bytes as a condition of a rule: they are refused with an Error that points into them, or parsed to something that can
// be evaluated, with all facts known and with none, and that is the same when its text is parsed again.
#include "judge/expr.h"

#include "../target.h"
#include "analysis/facts.h"

namespace oomdoctor::testing {
namespace {

Value some_value(FactUnit unit, double number) {
  switch (unit) {
    case FactUnit::truth:
      return true;
    case FactUnit::text:
      return std::string("pytorch");
    default:
      return Number{number, 0.5};
  }
}

/// Every fact is known; numbers differ, and some are zero or below.
Facts all_known() {
  Facts facts;
  double number = -2;
  for (const FactSpec& spec : fact_specs()) facts.set(spec.name, some_value(spec.unit, number++));
  return facts;
}

/// The truth that is found without a look at what cannot change it is that of the whole evaluation.
bool agree(Truth found, const Value& value) {
  const bool* decided = std::get_if<bool>(&value);
  return found == (decided ? truth(*decided) : Truth::unknown);
}

void run(std::string_view text) {
  static const Facts known = all_known();
  static const Facts unknown;
  try {
    const Expr expr = Expr::parse(text);
    const Evaluation with_facts = expr.evaluate(known);
    const Evaluation without = expr.evaluate(unknown);
    // A statement that is unknown only for want of facts names them; one that is known misses none.
    demand(!oomdoctor::known(with_facts.value) || with_facts.missing.empty());
    demand(!oomdoctor::known(without.value) || without.missing.empty());
    demand(agree(expr.truth(known), with_facts.value) && agree(expr.truth(unknown), without.value));
    demand(Expr::parse(expr.text()).evaluate(known).value.index() == with_facts.value.index());
  } catch (const ExprError& error) {
    demand(error.column() <= text.size() && error.what()[0] != '\0');
  } catch (const Error&) {  // too long to point into
    demand(text.size() > Expr::max_length);
  }
}

constexpr std::size_t longest = 200;

/// Of a line `if = '…'` what stands between the quotes; of others the whole line.
std::vector<std::string> seeds() {
  std::vector<std::string> all = line_seeds({"rules"}, longest);
  for (std::string& line : all) {
    const std::size_t open = line.find('\''), close = line.rfind('\'');
    if (open != line.npos && close > open) line = line.substr(open + 1, close - open - 1);
  }
  return all;
}

const Added target({.name = "expr", .longest = longest, .run = run, .seeds = seeds});

}  // namespace
}  // namespace oomdoctor::testing
