// Bytes as a condition of a rule. The parser refuses them with an Error that points into them, or returns a condition
// that can be evaluated, with all facts known and with none. Its text parses to the same condition again.
#include "judge/expr.h"

#include "../target.h"
#include "facts/facts.h"

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

/// Every fact is known; numbers differ, and some are zero or negative.
Facts all_known() {
  Facts facts;
  double number = -2;
  for (const FactSpec& spec : fact_specs()) facts.set(spec.name, some_value(spec.unit, number++));
  return facts;
}

/// Short-circuit evaluation gives the same truth value as the full evaluation.
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
    // A condition that is unknown because facts are missing names them; a known one misses none.
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

/// The part between the quotes of a line `if = '…'`; the whole line otherwise.
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
