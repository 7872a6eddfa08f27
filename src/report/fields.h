// One list of fields for each struct that becomes JSON. The list is a function `fields(field, of)`, which calls `field`
// for each member with its name and its specification, in the order of the JSON. A visitor is the `field` of one
// purpose: it writes the JSON, writes the JSON Schema, reads the JSON, or visits the texts.
#pragma once

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string_view>

namespace oomdoctor {

/// `Struct` or `const Struct`: the same list serves reading and writing.
template <class T, class Struct>
concept Is = std::same_as<std::remove_const_t<T>, Struct>;

template <class T>
concept Text = std::convertible_to<const T&, std::string_view>;

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

/// The form of a floating-point number in the JSON.
enum class NumberForm {
  real,
  step,   ///< an integer if it is whole
  value,  ///< of a series: an integer, because it is in bytes; see FieldVisitor::whole_values()
};

/// All about a field except its name and its type. A std::optional is left out of the JSON if it has no value.
struct FieldSpec {
  const char* description = "";
  NumberForm form = NumberForm::real;
  bool optional = false;       ///< left out if it is empty, 0 or false
  bool null_if_empty = false;  ///< null instead of left out
  bool infinite = false;       ///< may be infinite, which is null in JSON
  std::optional<int> minimum{}, maximum{};
  std::initializer_list<const char*> values{};  ///< all possible texts
  const char* pattern = "";                     ///< of the text, as a regex
  std::optional<std::size_t> min_items{}, max_items{};
};

/// Whether the JSON has the field whatever its value.
template <class T>
constexpr bool is_required(const FieldSpec& spec) {
  return spec.null_if_empty || !(spec.optional || is_optional<T>);
}

// The common specifications.
inline constexpr FieldSpec if_any{.optional = true};
inline constexpr FieldSpec in_bytes{.description = "bytes"};
inline constexpr FieldSpec as_count{.minimum = 0};
inline constexpr FieldSpec as_probability{.minimum = 0, .maximum = 1};
inline constexpr FieldSpec as_real{.infinite = true};
inline constexpr FieldSpec as_step{.form = NumberForm::step};
inline constexpr FieldSpec as_value{.form = NumberForm::value, .infinite = true};

/// The calls that only some visitors act on. Besides these, each visitor has:
///
///     field(name, value, spec)              a member, by its type
///     field.list(name, items, body, spec)   a list: body(field, item) lists the fields of each item
///     field.object(name, value, body)       a member of which body(field, value) lists the fields
///     field.group(name, body)               members of the same struct as one JSON object: body(field)
struct FieldVisitor {
  /// The name of the struct in the JSON Schema. A struct without a name is described where it is used.
  void type(const char* /*name*/, const char* /*description*/ = "") {}
  /// The fields are the items of an array, without names.
  void row() {}
  /// Whether the values of a series are integers, from here on and in inner structs.
  void whole_values(bool /*whole*/) {}
  /// A field without a member.
  void constant(const char* /*name*/, const char* /*value*/, const FieldSpec& /*spec*/ = {}) {}
  /// Between these two, the fields of one member, which are fields of its owner in the JSON.
  void begin_member() {}
  void end_member() {}
  /// Members that are printed in words only, not in the JSON.
  void words_only(auto&... /*members*/) {}
};

}  // namespace oomdoctor
