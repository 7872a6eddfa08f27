// Evaluates parsed expressions with Kleene's logic and interval-like tolerances. The tolerance of a sum is the sum of
// the tolerances. A comparison within the tolerance of its sides is unknown. Whole numbers without tolerance compare
// exactly.
#include "judge/expr.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace oomdoctor {

namespace {

void add_names(std::vector<std::string_view>& to, const std::vector<std::string_view>& from) {
  for (const auto name : from)
    if (std::find(to.begin(), to.end(), name) == to.end()) to.push_back(name);
}

Value to_value(Truth t) { return t == Truth::unknown ? Value{} : Value{t == Truth::yes}; }

Truth to_truth(const Value& v) {
  const bool* b = std::get_if<bool>(&v);
  return b ? truth(*b) : Truth::unknown;
}

// An overflow or 0/0 is unknown.
Value finite(Number n) { return std::isfinite(n.value) && std::isfinite(n.slack) ? Value{n} : Value{}; }

// A divisor that may be 0 within its tolerance makes the quotient unknown.
Value quotient(Number a, Number b) {
  if (std::fabs(b.value) <= b.slack) return {};  // also division by zero
  const double q = a.value / b.value;
  return finite({q, (a.slack + std::fabs(q) * b.slack) / (std::fabs(b.value) - b.slack)});
}

// The minimum (or, with sign -1, the maximum) of two intervals.
Number minimum(Number a, Number b, double sign) {
  const double value = std::min(sign * a.value, sign * b.value);
  const double low = std::min(sign * a.value - a.slack, sign * b.value - b.slack);
  const double high = std::min(sign * a.value + a.slack, sign * b.value + b.slack);
  return {sign * value, std::max(value - low, high - value)};
}

}  // namespace

/// One evaluation of an expression. Recursion depth is bounded by Expr::max_depth.
class ExprRun {
 public:
  ExprRun(const Expr& expr, const Facts& facts) : expr_(expr), facts_(facts) {}

  Evaluation at(int index) const {
    const auto& node = expr_.nodes_[static_cast<std::size_t>(index)];
    using Op = Expr::Op;
    switch (node.op) {
      case Op::constant:
        return {constant(node), {}, {}};
      case Op::fact:
        return fact(node);
      case Op::known:
        return is_known(node);
      case Op::negate:
        return negate(at(node.left));
      case Op::invert:
        return invert(at(node.left));
      case Op::conjunction:
        return join(at(node.left), at(node.right), Truth::no);
      case Op::disjunction:
        return join(at(node.left), at(node.right), Truth::yes);
      default:
        return combine(node);
    }
  }

  /// The truth of at(index), with short-circuit evaluation.
  Truth truth_at(int index) const {
    const auto& node = expr_.nodes_[static_cast<std::size_t>(index)];
    using Op = Expr::Op;
    switch (node.op) {
      case Op::known:
        return truth(facts_.find(spec(node)) != nullptr);
      case Op::invert:
        return !truth_at(node.left);
      case Op::conjunction: {
        const Truth left = truth_at(node.left);
        return left == Truth::no ? left : left && truth_at(node.right);
      }
      case Op::disjunction: {
        const Truth left = truth_at(node.left);
        return left == Truth::yes ? left : left || truth_at(node.right);
      }
      default: {
        Value room;
        return to_truth(value_at(index, room));
      }
    }
  }

 private:
  /// The value without the names of its facts. It stops at the first unknown operand. A constant and a fact are not
  /// copied, because most conditions only compare them; any other value is put into `room`.
  const Value& value_at(int index, Value& room) const {
    const auto& node = expr_.nodes_[static_cast<std::size_t>(index)];
    using Op = Expr::Op;
    switch (node.op) {
      case Op::constant:
        return constant(node);
      case Op::fact: {
        const Fact* found = facts_.find(spec(node));
        if (found != nullptr && fits(found->value, node.type)) return found->value;
        break;
      }
      case Op::negate:
        return room = minus(value_at(node.left, room));
      case Op::known:
      case Op::invert:
      case Op::conjunction:
      case Op::disjunction:
        return room = to_value(truth_at(index));
      default: {
        Value left_room, right_room;
        const Value& left = value_at(node.left, left_room);
        if (!known(left)) break;
        const Value& right = value_at(node.right, right_room);
        if (!known(right)) break;
        return room = apply(node.op, left, right);
      }
    }
    return room = Value{};
  }

  const Value& constant(const Expr::Node& node) const { return expr_.constants_[static_cast<std::size_t>(node.leaf)]; }

  const FactSpec& spec(const Expr::Node& node) const { return *expr_.facts_[static_cast<std::size_t>(node.leaf)]; }
  std::string_view name(const Expr::Node& node) const { return spec(node).name; }

  Evaluation fact(const Expr::Node& node) const {
    if (const Fact* found = facts_.find(spec(node)); found && fits(found->value, node.type))
      return {found->value, {name(node)}, {}};
    return {{}, {}, {name(node)}};
  }

  static bool fits(const Value& value, Expr::Type type) {
    switch (type) {
      case Expr::Type::truth:
        return std::holds_alternative<bool>(value);
      case Expr::Type::number:
        return std::holds_alternative<Number>(value);
      case Expr::Type::text:
        return std::holds_alternative<std::string>(value);
    }
    return false;
  }

  Evaluation is_known(const Expr::Node& node) const {
    const bool found = facts_.find(spec(node)) != nullptr;
    return {found, found ? std::vector{name(node)} : std::vector<std::string_view>{}, {}};
  }

  static Value minus(Value value) {
    if (auto* number = std::get_if<Number>(&value)) number->value = -number->value;
    return value;
  }

  static Evaluation negate(Evaluation e) {
    e.value = minus(std::move(e.value));
    return e;
  }

  static Evaluation invert(Evaluation e) {
    e.value = to_value(!to_truth(e.value));
    return e;
  }

  // One false side decides "and", one true side decides "or". Then only that side is evidence, otherwise both are.
  static Evaluation join(Evaluation left, const Evaluation& right, Truth settles) {
    const Truth a = to_truth(left.value), b = to_truth(right.value);
    if (a == settles && b != settles) return left;
    if (b == settles && a != settles) return right;
    left.value = to_value(settles == Truth::no ? a && b : a || b);
    add_names(left.facts, right.facts);
    add_names(left.missing, right.missing);
    if (known(left.value)) left.missing.clear();
    return left;
  }

  Evaluation combine(const Expr::Node& node) const {
    Evaluation left = at(node.left);
    const Evaluation right = at(node.right);
    const Value value = known(left.value) && known(right.value) ? apply(node.op, left.value, right.value) : Value{};
    add_names(left.facts, right.facts);
    add_names(left.missing, right.missing);
    left.value = value;
    return left;
  }

  static bool same(const Value& left, const Value& right) {
    const auto* text = std::get_if<std::string>(&left);
    return text ? *text == std::get<std::string>(right) : std::get<bool>(left) == std::get<bool>(right);
  }

  static Value apply(Expr::Op op, const Value& left, const Value& right) {
    using Op = Expr::Op;
    const auto* a = std::get_if<Number>(&left);
    const auto* b = std::get_if<Number>(&right);
    if (!a || !b) return same(left, right) == (op == Op::equal);
    switch (op) {
      case Op::add:
        return finite({a->value + b->value, a->slack + b->slack});
      case Op::subtract:
        return finite({a->value - b->value, a->slack + b->slack});
      case Op::multiply:
        return finite({a->value * b->value,
                       std::fabs(a->value) * b->slack + std::fabs(b->value) * a->slack + a->slack * b->slack});
      case Op::divide:
        return quotient(*a, *b);
      case Op::min:
        return finite(minimum(*a, *b, 1));
      case Op::max:
        return finite(minimum(*a, *b, -1));
      default:
        return to_value(compare(op, *a, *b));
    }
  }

  static Truth compare(Expr::Op op, Number a, Number b) {
    using Op = Expr::Op;
    const double difference = a.value - b.value, slack = a.slack + b.slack;
    if (slack > 0 && std::fabs(difference) <= slack) return Truth::unknown;
    switch (op) {
      case Op::equal:
        return truth(difference == 0);
      case Op::unequal:
        return truth(difference != 0);
      case Op::less:
        return truth(difference < 0);
      case Op::less_equal:
        return truth(difference <= 0);
      case Op::greater:
        return truth(difference > 0);
      default:
        return truth(difference >= 0);
    }
  }

  const Expr& expr_;
  const Facts& facts_;
};

Evaluation Expr::evaluate(const Facts& facts) const {
  if (nodes_.empty()) return {};
  return ExprRun(*this, facts).at(static_cast<int>(nodes_.size()) - 1);
}

Truth Expr::truth(const Facts& facts) const {
  if (nodes_.empty()) return Truth::unknown;
  return ExprRun(*this, facts).truth_at(static_cast<int>(nodes_.size()) - 1);
}

std::vector<std::string_view> Expr::facts() const {
  std::vector<std::string_view> names;
  for (const FactSpec* fact : facts_) names.push_back(fact->name);
  return names;
}

const FactSpec* Expr::only_fact() const {
  return nodes_.size() == 1 && nodes_.front().op == Op::fact ? facts_.front() : nullptr;
}

}  // namespace oomdoctor
