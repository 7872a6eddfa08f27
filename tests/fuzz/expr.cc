// Bytes as a condition of a rule: they are refused with an Error that points into them, or parsed to something that can
// be evaluated, with all facts known and with none, and that is the same when its text is parsed again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "analysis/facts.h"
#include "judge/expr.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace oomdoctor {
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

void try_expression(std::string_view text) {
  static const Facts known = all_known();
  static const Facts unknown;
  try {
    const Expr expr = Expr::parse(text);
    const Evaluation with_facts = expr.evaluate(known);
    const Evaluation without = expr.evaluate(unknown);
    // A statement that is unknown only for want of facts names them; one that is known misses none.
    if (oomdoctor::known(with_facts.value) && !with_facts.missing.empty()) std::abort();
    if (oomdoctor::known(without.value) && !without.missing.empty()) std::abort();
    if (!agree(expr.truth(known), with_facts.value) || !agree(expr.truth(unknown), without.value)) std::abort();
    if (Expr::parse(expr.text()).evaluate(known).value.index() != with_facts.value.index()) std::abort();
  } catch (const ExprError& error) {
    if (error.column() > text.size() || error.what()[0] == '\0') std::abort();
  } catch (const Error&) {  // too long to point into
    if (text.size() <= Expr::max_length) std::abort();
  }
}

}  // namespace
}  // namespace oomdoctor

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  oomdoctor::try_expression(text);
  // A rule file is many lines; each is tried too, and of a line `if = '…'` what stands between the quotes.
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line(text.data() + at, end - at);
    const std::size_t open = line.find('\''), close = line.rfind('\'');
    const bool quoted = open != line.npos && close > open;
    oomdoctor::try_expression(quoted ? line.substr(open + 1, close - open - 1) : line);
    at = end + 1;
  }
  return 0;
}
