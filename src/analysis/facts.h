// Named, typed, cited facts: all that the judgement may compare. A fact that is not set is unknown.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "model/evidence.h"

namespace oomdoctor {

enum class FactUnit { truth, bytes, ratio, count, text, steps, bytes_per_step, version };

/// What a fact means; declared beside the analysis that computes it.
struct FactSpec {
  std::string_view name;  ///< dotted: "oom.free"
  FactUnit unit;
  std::string_view description;      ///< one line for `list facts`
  std::string_view how_to_get = {};  ///< the log line or command that would make it known; "" when nothing would
};

struct Fact {
  Value value;
  std::vector<Evidence> because;
};

class Facts {
 public:
  void set(std::string_view name, Value value, std::vector<Evidence> because = {});
  void set(std::string_view name, std::optional<Bytes> size, std::vector<Evidence> because = {});
  const Fact* find(std::string_view name) const;
  /// The number or a fallback; for analyses that build on earlier facts.
  std::optional<double> number(std::string_view name) const;
  bool is_true(std::string_view name) const;
  bool is_false(std::string_view name) const;  ///< known, and not so
  std::optional<std::string> text(std::string_view name) const;
  const std::map<std::string, Fact, std::less<>>& all() const { return facts_; }

 private:
  std::map<std::string, Fact, std::less<>> facts_;
};

/// Every fact that any analysis can set, in a fixed order.
const std::vector<FactSpec>& fact_specs();
const FactSpec* find_fact_spec(std::string_view name);

/// How a derived fact is computed, in words; "" for what is read as printed.
std::string_view formula_of(std::string_view fact);
std::vector<std::string_view> facts_with_formula();

/// For people: "1.26 GiB", "41%", "yes".
std::string fact_text(const FactSpec& spec, const Value& value);

}  // namespace oomdoctor
