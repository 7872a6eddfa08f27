// The value of a fact, and three-valued logic. A value that the log does not print is unknown, not false. An inequality
// within the rounding error of the printed digits is unknown too.
#pragma once

#include <string>
#include <type_traits>
#include <variant>

#include "base/bytes.h"

namespace oomdoctor {

/// A truth value of Kleene's three-valued logic.
enum class Truth { no, yes, unknown };

constexpr Truth truth(bool b) { return b ? Truth::yes : Truth::no; }
constexpr Truth operator!(Truth t) { return t == Truth::unknown ? t : truth(t == Truth::no); }
constexpr Truth operator&&(Truth a, Truth b) {
  if (a == Truth::no || b == Truth::no) return Truth::no;
  return a == Truth::yes && b == Truth::yes ? Truth::yes : Truth::unknown;
}
constexpr Truth operator||(Truth a, Truth b) { return !(!a && !b); }

/// A number and the half-width of its rounding error. Sizes are in bytes.
struct Number {
  double value = 0;
  double slack = 0;
};

/// The value of a fact; std::monostate means unknown.
///
/// The copy functions copy the alternatives one by one. If the copy of a string runs out of memory, the copy
/// constructor of std::variant in g++ 12 destroys an alternative that it never constructed.
struct Value : std::variant<std::monostate, bool, Number, std::string> {
  using variant::variant;
  Value(const Value& other) : variant() { copy(other); }
  Value(Value&&) noexcept = default;
  Value& operator=(const Value& other) {
    if (this != &other) copy(other);
    return *this;
  }
  Value& operator=(Value&&) noexcept = default;

 private:
  void copy(const Value& other) {
    std::visit([this](const auto& v) { emplace<std::decay_t<decltype(v)>>(v); }, static_cast<const variant&>(other));
  }
};

inline Value value_of(Bytes b) { return Number{static_cast<double>(b.count), static_cast<double>(b.slack)}; }
inline bool known(const Value& v) { return !std::holds_alternative<std::monostate>(v); }

}  // namespace oomdoctor
