// The value of a fact, and three-valued logic. What a log does not say is unknown, not false; an inequality that the
// printed digits leave open is unknown too.
#pragma once

#include <string>
#include <type_traits>
#include <variant>

#include "base/bytes.h"

namespace oomdoctor {

enum class Truth { no, yes, unknown };

constexpr Truth truth(bool b) { return b ? Truth::yes : Truth::no; }
constexpr Truth operator!(Truth t) { return t == Truth::unknown ? t : truth(t == Truth::no); }
constexpr Truth operator&&(Truth a, Truth b) {
  if (a == Truth::no || b == Truth::no) return Truth::no;
  return a == Truth::yes && b == Truth::yes ? Truth::yes : Truth::unknown;
}
constexpr Truth operator||(Truth a, Truth b) { return !(!a && !b); }

/// A number with the half-width of its rounding error; sizes are numbers of bytes.
struct Number {
  double value = 0;
  double slack = 0;
};

/// monostate is "unknown".
///
/// It copies its alternatives itself: where the copy of a text finds no memory, the copy constructor of g++ 12's
/// variant destroys an alternative that was never made.
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
