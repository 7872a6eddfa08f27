// Stores and prints facts. Only names of the vocabulary may be set: a misspelt fact would stay unknown forever.
#include "facts/facts.h"

#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstdio>
#include <functional>
#include <span>

namespace oomdoctor {

namespace {

/// The specs by the hash of their name, with open addressing: a diagnosis looks up some hundred names.
class SpecsByName {
 public:
  SpecsByName() : slots_(std::bit_ceil(2 * specs_.size())) {
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      std::size_t at = slot_of(specs_[i].name);
      while (slots_[at] != 0) at = (at + 1) % slots_.size();
      slots_[at] = static_cast<std::uint16_t>(i + 1);
    }
  }

  const FactSpec* find(std::string_view name) const {
    for (std::size_t at = slot_of(name); slots_[at] != 0; at = (at + 1) % slots_.size())
      if (const FactSpec& spec = specs_[slots_[at] - 1u]; spec.name == name) return &spec;
    return nullptr;
  }

 private:
  std::size_t slot_of(std::string_view name) const { return std::hash<std::string_view>{}(name) % slots_.size(); }

  std::span<const FactSpec> specs_ = fact_specs();
  std::vector<std::uint16_t> slots_;  ///< 0, or 1 + the index of the spec; at most half of them are used
};

std::size_t index_of(const FactSpec& spec) { return static_cast<std::size_t>(&spec - fact_specs().data()); }

std::string format_number(const char* format, double number) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, number);
  return text.data();
}

std::string ratio_text(double ratio) {
  const double percent = ratio * 100;
  return format_number(std::fabs(percent) < 9.95 ? "%.1f%%" : "%.0f%%", percent);
}

// 2.04 prints as "2.4" and 2.1 as "2.10", because the minor version has two digits.
std::string version_text(double version) {
  const double major = std::floor(version);
  return format_number("%.0f", major) + "." + format_number("%.0f", std::round((version - major) * 100));
}

std::string number_text(FactUnit unit, const Number& number) {
  switch (unit) {
    case FactUnit::bytes:
      return bytes_text(number.value, 2 * number.slack);
    case FactUnit::bytes_per_step:
      return bytes_text(number.value, 2 * number.slack) + " per step";
    case FactUnit::ratio:
      return ratio_text(number.value);
    case FactUnit::version_number:
      return version_text(number.value);
    case FactUnit::truth:
    case FactUnit::count:
    case FactUnit::text:
    case FactUnit::steps:
      break;
  }
  const double plain = number.value;
  return std::fabs(plain) < 1e15 && plain == std::floor(plain) ? format_number("%.0f", plain)
                                                               : format_number("%.4g", plain);
}

[[maybe_unused]] bool has_unit(FactUnit unit, const Value& value) {
  if (unit == FactUnit::truth) return std::holds_alternative<bool>(value);
  if (unit == FactUnit::text) return std::holds_alternative<std::string>(value);
  return std::holds_alternative<Number>(value);
}

}  // namespace

void Facts::set(std::string_view name, Value value, std::vector<Evidence> evidence) {
  if (!known(value)) return;
  const FactSpec* spec = find_fact_spec(name);
  assert(spec && "a fact needs its spec in fact_specs.cc");
  assert(has_unit(spec->unit, value) && "a fact's value has the type of its spec");
  slots_.resize(fact_specs().size());
  std::uint16_t& slot = slots_[index_of(*spec)];
  if (slot > 0) {
    facts_[slot - 1u] = {std::move(value), std::move(evidence)};
    return;
  }
  facts_.push_back({std::move(value), std::move(evidence)});
  slot = static_cast<std::uint16_t>(facts_.size());
}

void Facts::set(std::string_view name, std::optional<Bytes> size, std::vector<Evidence> evidence) {
  if (size) set(name, value_of(*size), std::move(evidence));
}

const Fact* Facts::find(std::string_view name) const {
  const FactSpec* spec = find_fact_spec(name);
  return spec != nullptr ? find(*spec) : nullptr;
}

const Fact* Facts::find(const FactSpec& spec) const {
  const std::size_t slot = slots_.empty() ? 0 : slots_[index_of(spec)];
  return slot > 0 ? &facts_[slot - 1] : nullptr;
}

std::optional<double> Facts::number(std::string_view name) const {
  const Fact* fact = find(name);
  const Number* number = fact ? std::get_if<Number>(&fact->value) : nullptr;
  return number ? std::optional(number->value) : std::nullopt;
}

bool Facts::is_true(std::string_view name) const {
  const Fact* fact = find(name);
  const bool* truth = fact ? std::get_if<bool>(&fact->value) : nullptr;
  return truth && *truth;
}

bool Facts::is_false(std::string_view name) const {
  const Fact* fact = find(name);
  const bool* truth = fact != nullptr ? std::get_if<bool>(&fact->value) : nullptr;
  return truth != nullptr && !*truth;
}

std::optional<std::string> Facts::text(std::string_view name) const {
  const Fact* fact = find(name);
  const auto* value = fact != nullptr ? std::get_if<std::string>(&fact->value) : nullptr;
  return value != nullptr ? std::optional(*value) : std::nullopt;
}

const FactSpec* find_fact_spec(std::string_view name) {
  static const SpecsByName specs;
  return specs.find(name);
}

std::string fact_text(const FactSpec& spec, const Value& value) {
  if (const bool* truth = std::get_if<bool>(&value)) return *truth ? "yes" : "no";
  if (const Number* number = std::get_if<Number>(&value)) return number_text(spec.unit, *number);
  if (const std::string* text = std::get_if<std::string>(&value)) return *text;
  return "unknown";
}

}  // namespace oomdoctor
