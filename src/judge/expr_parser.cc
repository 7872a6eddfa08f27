// Parses expressions by recursive descent:
//   or > and > not > comparison > sum > product > sign > primary
// Length, nesting and number of nodes are limited, because rule files may come from strangers. Types are checked here,
// so that a condition that compares a text with a size fails when the rules are loaded, and not during a run.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>

#include "base/ascii.h"
#include "base/edit_distance.h"
#include "judge/expr.h"

namespace oomdoctor {

namespace {

std::string nearest_fact(std::string_view name) {
  std::vector<std::string> names;
  for (const auto& spec : fact_specs()) names.emplace_back(spec.name);
  const std::string nearest = did_you_mean(name, names);
  return nearest.empty() ? "oomdoctor list facts prints all names" : "did you mean " + nearest + "?";
}

const char* type_name(Expr::Type type) {
  switch (type) {
    case Expr::Type::truth:
      return "a truth";
    case Expr::Type::number:
      return "a number";
    case Expr::Type::text:
      return "a text";
  }
  return "";
}

enum class ExprTokenKind { end, number, string, word, symbol };

struct ExprToken {
  ExprTokenKind kind = ExprTokenKind::end;
  std::size_t column = 0;
  std::string_view text;  ///< without quotes for a string; empty for a number
  double number = 0;
  int dimension = 0;
};

}  // namespace

ExprError::ExprError(std::string_view text, std::size_t column, std::string message, std::string help)
    : Error(std::move(message), caret_excerpt(text, column), std::move(help)), column_(column) {}

/// The parser of one expression. Each grammar function returns the index of its node.
class ExprParser {
 public:
  ExprParser(std::string_view text, const NamedConditions& conditions) : text_(text), conditions_(conditions) {
    if (text.size() > Expr::max_length) throw Error("the expression is longer than 4096 characters");
    next();
  }

  Expr parse() {
    disjunction();
    if (token_.kind != ExprTokenKind::end) fail("nothing may follow here", "join conditions with and, or");
    expr_.text_ = text_;
    return std::move(expr_);
  }

 private:
  using Op = Expr::Op;
  using Type = Expr::Type;
  /// Counts the nesting of the grammar functions, and fails when it exceeds the limit.
  struct Depth {
    explicit Depth(ExprParser& parser) : parser_(parser) {
      if (++parser_.depth_ > Expr::max_depth) parser_.fail("the expression is nested too deeply", {});
    }
    ~Depth() { --parser_.depth_; }
    ExprParser& parser_;
  };

  [[noreturn]] void fail(const std::string& message, const std::string& help) const {
    fail_at(token_.column, message, help);
  }
  [[noreturn]] void fail_at(std::size_t column, const std::string& message, const std::string& help) const {
    throw ExprError(text_, column, message, help);
  }

  // --- words ---------------------------------------------------------------------------------------------------------

  void next() {
    while (at_ < text_.size() && is_blank_or_line_end(text_[at_])) ++at_;
    token_ = {};
    token_.column = at_;
    if (at_ == text_.size()) return;
    const char c = text_[at_];
    if (is_digit(c)) return number();
    if (is_letter_or_underscore(c)) return word();
    if (c == '\'' || c == '"') return string();
    symbol();
  }

  void number() {
    token_.kind = ExprTokenKind::number;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), token_.number);
    if (error != std::errc{} || !std::isfinite(token_.number)) fail("this is not a number", {});
    at_ = static_cast<std::size_t>(end - text_.data());
    if (at_ < text_.size() && text_[at_] == '%') {
      token_.number /= 100;
      ++at_;
    } else {
      unit();
    }
  }

  /// An optional unit after a number. Ambiguous units (KB, MB, …) are errors.
  void unit() {
    std::size_t start = at_;
    while (start < text_.size() && text_[start] == ' ') ++start;
    std::size_t end = start;
    while (end < text_.size() && is_letter_or_underscore(text_[end])) ++end;
    const std::string_view name = text_.substr(start, end - start);
    for (const std::string_view size : {"B", "KiB", "MiB", "GiB", "TiB"}) {
      if (name != size) continue;
      token_.number *= static_cast<double>(*unit_bytes(name));
      token_.dimension = 1;
      at_ = end;
      return;
    }
    if (name == "KB" || name == "MB" || name == "GB" || name == "TB")
      fail_at(start, "sizes are written in B, KiB, MiB, GiB or TiB", "did you mean " + std::string(1, name[0]) + "iB?");
  }

  void word() {
    std::size_t end = at_;
    while (end < text_.size() && is_dotted_name_char(text_[end])) ++end;
    token_.kind = ExprTokenKind::word;
    token_.text = text_.substr(at_, end - at_);
    at_ = end;
  }

  void string() {
    const std::size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos) fail("the quote that begins here has no end", {});
    token_.kind = ExprTokenKind::string;
    token_.text = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
  }

  void symbol() {
    token_.kind = ExprTokenKind::symbol;
    for (const std::string_view name : {"==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "(", ")", ","}) {
      if (!text_.substr(at_).starts_with(name)) continue;
      token_.text = name;
      at_ += name.size();
      return;
    }
    const char c = text_[at_];
    fail("this sign has no meaning here", c == '&'   ? "write and"
                                          : c == '|' ? "write or"
                                          : c == '=' ? "equality is =="
                                          : c == '!' ? "write not"
                                                     : "");
  }

  bool is(std::string_view text) const {
    return token_.text == text && (token_.kind == ExprTokenKind::symbol || token_.kind == ExprTokenKind::word);
  }
  bool take(std::string_view text) {
    if (!is(text)) return false;
    next();
    return true;
  }
  void expect(std::string_view text) {
    if (!take(text)) fail("here a \"" + std::string(text) + "\" is missing", {});
  }

  // --- nodes ---------------------------------------------------------------------------------------------------------

  Expr::Node& node(int index) { return expr_.nodes_[static_cast<std::size_t>(index)]; }

  // max_nodes limits all indices of a node.
  /// Appends a node and returns its index.
  int add(Op op, Type type, int dimension, int left, int right = -1, int leaf = -1) {
    if (expr_.nodes_.size() >= Expr::max_nodes) fail("the expression has too many parts", {});
    const auto narrow = [](int number) { return static_cast<std::int16_t>(number); };
    expr_.nodes_.push_back({op, type, narrow(dimension), narrow(left), narrow(right), narrow(leaf)});
    return static_cast<int>(expr_.nodes_.size()) - 1;
  }

  int add_constant(Type type, int dimension, Value value) {
    expr_.constants_.push_back(std::move(value));
    return add(Op::constant, type, dimension, -1, -1, static_cast<int>(expr_.constants_.size()) - 1);
  }

  int add_fact(Op op, Type type, int dimension, const FactSpec& spec) {
    auto& facts = expr_.facts_;
    const auto at = std::find(facts.begin(), facts.end(), &spec) - facts.begin();
    if (at == std::ssize(facts)) facts.push_back(&spec);
    return add(op, type, dimension, -1, -1, static_cast<int>(at));
  }

  void require(int index, Type type, std::size_t column) {
    if (node(index).type != type)
      fail_at(column, std::string("this is ") + type_name(node(index).type) + ", but " + type_name(type) + " is needed",
              {});
  }

  // 0 has every dimension, so that "account.after_compaction < 0" compares a size.
  bool is_zero(int index) {
    if (node(index).op != Op::constant) return false;
    const auto* number = std::get_if<Number>(&expr_.constants_[static_cast<std::size_t>(node(index).leaf)]);
    return number && number->value == 0;
  }

  void require_same_dimension(int left, int right, std::size_t column) {
    if (node(left).dimension == node(right).dimension || is_zero(left) || is_zero(right)) return;
    fail_at(column, "a size in bytes meets a plain number here", "write sizes with a unit: 64 MiB");
  }

  // --- grammar -------------------------------------------------------------------------------------------------------

  int disjunction() {
    const Depth depth(*this);
    return chain("or", Op::disjunction,
                 [this] { return chain("and", Op::conjunction, [this] { return negation(); }); });
  }

  /// Parses `part (word part)*`, left-associative.
  template <typename Part>
  int chain(std::string_view word, Op op, Part part) {
    const std::size_t first = token_.column;
    int left = part();
    while (is(word)) {
      require(left, Type::truth, first);
      next();
      const std::size_t second = token_.column;
      const int right = part();
      require(right, Type::truth, second);
      left = add(op, Type::truth, 0, left, right);
    }
    return left;
  }

  int negation() {
    const Depth depth(*this);
    if (!take("not")) return comparison();
    const std::size_t column = token_.column;
    const int operand = negation();
    require(operand, Type::truth, column);
    return add(Op::invert, Type::truth, 0, operand);
  }

  std::optional<Op> comparison_sign() const {
    if (token_.kind != ExprTokenKind::symbol) return std::nullopt;
    if (token_.text == "==") return Op::equal;
    if (token_.text == "!=") return Op::unequal;
    if (token_.text == "<") return Op::less;
    if (token_.text == "<=") return Op::less_equal;
    if (token_.text == ">") return Op::greater;
    if (token_.text == ">=") return Op::greater_equal;
    return std::nullopt;
  }

  int comparison() {
    const int left = sum();
    const auto op = comparison_sign();
    if (!op) return left;
    const std::size_t column = token_.column;
    next();
    const int right = sum();
    const Type type = node(left).type;
    if (type != node(right).type)
      fail_at(column, std::string(type_name(type)) + " is compared with " + type_name(node(right).type), {});
    if (type != Type::number && *op != Op::equal && *op != Op::unequal)
      fail_at(column, "only numbers have an order", {});
    if (type == Type::number) require_same_dimension(left, right, column);
    if (comparison_sign()) fail("comparisons do not chain", "write a < b and b < c");
    return add(*op, Type::truth, 0, left, right);
  }

  int sum() {
    const std::size_t first = token_.column;
    int left = product();
    while (is("+") || is("-")) {
      const Op op = is("+") ? Op::add : Op::subtract;
      const std::size_t column = token_.column;
      require(left, Type::number, first);
      next();
      const std::size_t second = token_.column;
      const int right = product();
      require(right, Type::number, second);
      require_same_dimension(left, right, column);
      const int dimension = is_zero(left) ? node(right).dimension : node(left).dimension;
      left = add(op, Type::number, dimension, left, right);
    }
    return left;
  }

  int product() {
    const std::size_t first = token_.column;
    int left = sign();
    while (is("*") || is("/")) {
      const bool times = is("*");
      require(left, Type::number, first);
      next();
      const std::size_t second = token_.column;
      const int right = sign();
      require(right, Type::number, second);
      const int dimension = node(left).dimension + (times ? 1 : -1) * node(right).dimension;
      left = add(times ? Op::multiply : Op::divide, Type::number, dimension, left, right);
    }
    return left;
  }

  int sign() {
    const Depth depth(*this);
    if (!take("-")) return primary();
    const std::size_t column = token_.column;
    const int operand = sign();
    require(operand, Type::number, column);
    return add(Op::negate, Type::number, node(operand).dimension, operand);
  }

  int primary() {
    const ExprToken token = token_;
    switch (token.kind) {
      case ExprTokenKind::number:
        next();
        return add_constant(Type::number, token.dimension, Number{token.number, 0});
      case ExprTokenKind::string:
        next();
        return add_constant(Type::text, 0, std::string(token.text));
      case ExprTokenKind::word:
        return name(token);
      case ExprTokenKind::symbol:
        if (take("(")) {
          const int inner = disjunction();
          expect(")");
          return inner;
        }
        break;
      case ExprTokenKind::end:
        fail("the expression ends too early", {});
    }
    fail("here a value is missing", {});
  }

  int name(const ExprToken& token) {
    next();
    if (token.text == "true" || token.text == "false") return add_constant(Type::truth, 0, token.text == "true");
    if (token.text == "min" || token.text == "max") return extreme(token.text == "min" ? Op::min : Op::max);
    if (token.text == "is") return certain();
    if (token.text == "known") {
      expect("(");
      const ExprToken fact = token_;
      if (fact.kind != ExprTokenKind::word) fail("known(…) takes the name of a fact", {});
      next();
      expect(")");
      return add_fact(Op::known, Type::truth, 0, find_spec(fact));
    }
    if (const auto named = conditions_.find(std::string(token.text)); named != conditions_.end())
      return insert(named->second.condition);
    const FactSpec& spec = find_spec(token);
    const Type type = spec.unit == FactUnit::truth  ? Type::truth
                      : spec.unit == FactUnit::text ? Type::text
                                                    : Type::number;
    const bool size = spec.unit == FactUnit::bytes || spec.unit == FactUnit::bytes_per_step;
    return add_fact(Op::fact, type, size ? 1 : 0, spec);
  }

  /// Copies the nodes of a named condition.
  int insert(const Expr& condition) {
    const int shift = static_cast<int>(expr_.nodes_.size());
    const auto moved = [&](int index) { return index < 0 ? index : index + shift; };
    int last = -1;
    for (const Expr::Node& part : condition.nodes_) {
      const auto leaf = static_cast<std::size_t>(part.leaf);
      if (part.op == Op::constant)
        last = add_constant(part.type, part.dimension, condition.constants_[leaf]);
      else if (part.op == Op::fact || part.op == Op::known)
        last = add_fact(part.op, part.type, part.dimension, *condition.facts_[leaf]);
      else
        last = add(part.op, part.type, part.dimension, moved(part.left), moved(part.right));
    }
    return last;
  }

  /// is(condition): the condition, but false instead of unknown where one of its facts is unknown. So `is(x >= 2)` is
  /// `known(x) and x >= 2`.
  int certain() {
    expect("(");
    const std::size_t column = token_.column;
    const int first = static_cast<int>(expr_.nodes_.size());
    const int condition = disjunction();
    require(condition, Type::truth, column);
    expect(")");
    int all_known = -1;
    for (int i = first; i <= condition; ++i) {
      if (node(i).op != Op::fact) continue;
      const int is_known = add(Op::known, Type::truth, 0, -1, -1, node(i).leaf);
      all_known = all_known < 0 ? is_known : add(Op::conjunction, Type::truth, 0, all_known, is_known);
    }
    if (all_known < 0) fail_at(column, "is(…) takes a condition on facts", {});
    return add(Op::conjunction, Type::truth, 0, all_known, condition);
  }

  /// min(…) and max(…), as a chain of binary nodes.
  int extreme(Op op) {
    expect("(");
    const std::size_t first = token_.column;
    int left = disjunction();
    require(left, Type::number, first);
    do {
      if (!is(",")) fail("min and max take two values or more", {});
      next();
      const std::size_t column = token_.column;
      const int right = disjunction();
      require(right, Type::number, column);
      require_same_dimension(left, right, column);
      const int dimension = is_zero(left) ? node(right).dimension : node(left).dimension;
      left = add(op, Type::number, dimension, left, right);
    } while (is(","));
    expect(")");
    return left;
  }

  const FactSpec& find_spec(const ExprToken& token) const {
    if (const FactSpec* spec = find_fact_spec(token.text)) return *spec;
    fail_at(token.column, "there is no fact \"" + std::string(token.text) + "\"", nearest_fact(token.text));
  }

  std::string_view text_;
  const NamedConditions& conditions_;
  std::size_t at_ = 0;
  ExprToken token_;
  int depth_ = 0;
  Expr expr_;
};

Expr Expr::parse(std::string_view text, const NamedConditions& conditions) {
  return ExprParser(text, conditions).parse();
}

Expr Expr::parse(std::string_view text) { return parse(text, {}); }

}  // namespace oomdoctor
