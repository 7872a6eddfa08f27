// Conditions and formulas of the rules: "oom.free + oom.unallocated < oom.request and account.frag_ratio >= 25%".
// Evaluation is three-valued: a value that the log does not print is unknown, and so is an inequality within the
// rounding error of its digits. Every name, type and dimension is checked during parsing, so evaluation never fails.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "facts/facts.h"

namespace oomdoctor {

/// An Error that knows the column in the expression, so that a rule file can show its own line.
class ExprError : public Error {
 public:
  ExprError(std::string_view text, std::size_t column, std::string message, std::string help = {});
  std::size_t column() const { return column_; }

 private:
  std::size_t column_;
};

/// A value, the facts that decided it, and the facts that would decide it if they were known. `missing` is empty if the
/// value is known, or if only the printed digits are too coarse.
struct Evaluation {
  Value value;
  std::vector<std::string_view> facts, missing;  ///< names, of fact_specs()
};

struct NamedCondition;
/// By their names, which have no dot. An expression uses them like facts.
using NamedConditions = std::map<std::string, NamedCondition>;

/// A parsed expression. Constant after parse(), so threads may evaluate it concurrently.
class Expr {
 public:
  enum class Type : std::uint8_t { truth, number, text };
  static constexpr std::size_t max_length = 4096, max_nodes = 512;
  static constexpr int max_depth = 64;

  Expr() = default;
  /// Throws ExprError with a caret below the error. For a name that is not a fact, the help suggests the nearest fact.
  static Expr parse(std::string_view text, const NamedConditions& conditions);
  static Expr parse(std::string_view text);

  /// Evaluates the expression and records the facts that decided it.
  Evaluation evaluate(const Facts& facts) const;
  /// Evaluates a condition without these names, which is faster for the many conditions that do not hold. Returns
  /// unknown if the value is unknown.
  Truth truth(const Facts& facts) const;

  Type type() const { return nodes_.empty() ? Type::truth : nodes_.back().type; }
  /// Power of bytes: 1 is a size, 0 is a plain number or ratio.
  int dimension() const { return nodes_.empty() ? 0 : nodes_.back().dimension; }
  const std::string& text() const { return text_; }
  /// The fact if the whole expression is a single name, else nullptr.
  const FactSpec* only_fact() const;
  /// The names of all facts in it, those of named conditions included.
  std::vector<std::string_view> facts() const;

 private:
  friend class ExprParser;
  friend class ExprRun;
  template <typename Archive>
  friend void fields(Archive& archive, Expr& expr);
  enum class Op : std::uint8_t {
    constant,
    fact,
    known,
    negate,
    invert,
    add,
    subtract,
    multiply,
    divide,
    min,
    max,
    equal,
    unequal,
    less,
    less_equal,
    greater,
    greater_equal,
    conjunction,
    disjunction
  };
  struct Node {
    Op op = Op::constant;
    Type type = Type::truth;
    std::int16_t dimension = 0;
    std::int16_t left = -1, right = -1;  ///< indices of earlier nodes; -1 means none
    std::int16_t leaf = -1;              ///< index into facts_ or constants_, depending on op
  };

  std::string text_;
  std::vector<Node> nodes_;  ///< operands before their operator; the last node is the root
  std::vector<const FactSpec*> facts_;
  std::vector<Value> constants_;
};

/// A condition of rules/conditions.toml.
struct NamedCondition {
  std::string id, description;
  Expr condition;
};

}  // namespace oomdoctor
