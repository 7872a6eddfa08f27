// Named, typed facts with their lines: the only values that rules compare. A fact that no analysis set is unknown.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "model/evidence.h"

namespace oomdoctor {

/// The unit of a fact; it selects the printed form. `version_number` is major + minor / 100, so that 2.10 exceeds 2.4.
enum class FactUnit { truth, bytes, ratio, count, text, steps, bytes_per_step, version_number };

/// The declaration of a fact. fact_specs.cc has one for each fact that an analysis can set.
struct FactSpec {
  std::string_view name;  ///< dotted: "oom.free"
  FactUnit unit;
  std::string_view description;      ///< one line for `list facts`
  std::string_view how_to_get = {};  ///< the log line or command that would provide it; "" if there is none
};

/// A known value and the lines that it came from.
struct Fact {
  Value value;
  std::vector<Evidence> evidence;
};

/// The facts of one diagnosis. Not thread-safe.
class Facts {
 public:
  /// Stores a known value and replaces an older one. An unknown value stores nothing. Asserts that the vocabulary has
  /// `name`, and that the value has the type of its spec.
  void set(std::string_view name, Value value, std::vector<Evidence> evidence = {});
  void set(std::string_view name, std::optional<Bytes> size, std::vector<Evidence> evidence = {});
  const Fact* find(std::string_view name) const;
  const Fact* find(const FactSpec& spec) const;  ///< of fact_specs(); the fast way, for rules
  /// The getters return nothing (or false) if the fact is unknown or has another type.
  std::optional<double> number(std::string_view name) const;
  bool is_true(std::string_view name) const;
  bool is_false(std::string_view name) const;  ///< known to be false; false for an unknown fact
  std::optional<std::string> text(std::string_view name) const;

 private:
  std::deque<Fact> facts_;            ///< in the order in which they were first set; a pointer to one stays valid
  std::vector<std::uint16_t> slots_;  ///< by the index in fact_specs(): 0 or 1 + the index in facts_
};

/// Every fact that an analysis can set, in a fixed order.
const std::vector<FactSpec>& fact_specs();
/// nullptr if no fact has this name.
const FactSpec* find_fact_spec(std::string_view name);

/// The formula of a derived fact, in words; "" for a value that the log prints.
std::string_view find_formula(std::string_view fact);
std::vector<std::string_view> facts_with_formula();

/// Formats a value for people: "1.26 GiB", "41%", "yes".
std::string fact_text(const FactSpec& spec, const Value& value);

}  // namespace oomdoctor
