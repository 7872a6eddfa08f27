#include "serialize/json.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <type_traits>
#include <utility>
#include <vector>
#include <nlohmann/json.hpp>

#include "report/escape.h"
#include "report/report_fields.h"
#include "report/survey_fields.h"
#include "serialize/comparison_fields.h"
#include "serialize/estimate_fields.h"

namespace oomdoctor {
namespace {

using Json = nlohmann::ordered_json;  // keeps the contract's order of fields

/// Writes the fields of one struct.
class JsonWriter : public FieldVisitor {
 public:
  template <class T>
  void operator()(const char* name, const T& value, const FieldSpec& spec = {}) {
    if (is_required<T>(spec) || !is_empty(value)) add(name, make_json(value, spec));
  }

  template <class Items, class Body>
  void list(const char* name, const Items& items, Body body, const FieldSpec& spec = {}) {
    if (spec.optional && items.empty()) return;
    Json array = Json::array();
    for (const auto& item : items) array.push_back(make_object([&](auto& inner) { body(inner, item); }));
    add(name, std::move(array));
  }

  template <class T, class Body>
  void object(const char* name, const T& value, Body body) {
    if constexpr (is_optional<T>) {
      if (value) object(name, *value, body);
    } else {
      group(name, [&](auto& inner) { body(inner, value); });
    }
  }

  template <class Body>
  void group(const char* name, Body body) {
    add(name, make_object(body));
  }

  void constant(const char* name, const char* value, const FieldSpec& = {}) { add(name, value); }
  void row() { out_ = Json::array(); }
  void whole_values(bool whole) { whole_values_ = whole; }

  template <class Body>
  Json make_object(Body body) const {
    JsonWriter inner;
    inner.whole_values_ = whole_values_;
    body(inner);
    return std::move(inner.out_);
  }

 private:
  void add(const char* name, Json value) {
    if (out_.is_array())
      out_.push_back(std::move(value));
    else
      out_[name] = std::move(value);
  }

  template <class T>
  static bool is_empty(const T& value) {
    if constexpr (is_optional<T>)
      return !value;
    else if constexpr (std::is_arithmetic_v<T>)
      return value == T{};
    else if constexpr (requires { value.empty(); })
      return value.empty();
    else
      return false;
  }

  template <class T>
  Json make_json(const T& value, const FieldSpec& spec) const {
    if constexpr (is_optional<T>) {
      return value ? make_json(*value, spec) : Json(nullptr);
    } else if constexpr (Text<T>) {
      const std::string_view text = value;
      return spec.null_if_empty && text.empty() ? Json(nullptr) : Json(text);
    } else if constexpr (std::is_same_v<T, double>) {
      return number(value, spec.form);
    } else if constexpr (std::is_enum_v<T>) {
      return to_string(value);
    } else if constexpr (std::is_arithmetic_v<T>) {
      return value;
    } else {
      return make_object([&](auto& inner) { fields(inner, value); });
    }
  }

  template <class T>
  Json make_json(const std::vector<T>& items, const FieldSpec& spec) const {
    Json array = Json::array();
    for (const T& item : items) array.push_back(make_json(item, spec));
    return array;
  }

  Json make_json(const std::map<std::string, std::int64_t>& counts, const FieldSpec&) const { return counts; }

  /// JSON has no infinity, so it becomes null.
  Json number(double value, NumberForm form) const {
    const bool whole =
        form == NumberForm::value ? whole_values_ : form == NumberForm::step && value == std::round(value);
    if (!std::isfinite(value)) return nullptr;
    if (whole && std::fabs(value) < 9e18) return std::llround(value);
    return value;
  }

  Json out_ = Json::object();
  bool whole_values_ = true;
};

template <class T>
Json make_json(const T& of) {
  return JsonWriter().make_object([&](auto& field) { fields(field, of); });
}

std::string compact(const Json& value) {
  return json_visible(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

/// A lower bound for the length of the compact form in bytes. It stops counting shortly after `enough`.
std::size_t min_length(const Json& value, std::size_t enough) {
  if (const auto* text = value.get_ptr<const std::string*>()) return text->size() + 2;
  if (!value.is_structured()) return 1;
  std::size_t length = 2 + (value.empty() ? 0 : value.size() - 1);
  for (auto item = value.begin(); item != value.end() && length <= enough; ++item) {
    if (value.is_object()) length += item.key().size() + 3;
    length += min_length(*item, enough - std::min(enough, length));
  }
  return length;
}

/// Prints a value on one line if it fits, so that a point or a location does not take five lines. Skips values that are
/// surely too long: otherwise each level would print all inner values once more.
void print(const Json& value, std::size_t indent, std::string& out) {
  constexpr std::size_t width = 110;
  if (!value.is_structured() || value.empty()) {
    out += compact(value);
    return;
  }
  if (indent > 0 && indent + min_length(value, width) <= width) {
    const std::string line = compact(value);
    if (indent + line.size() <= width) {
      out += line;
      return;
    }
  }
  const std::string inner(indent + 2, ' ');
  out += value.is_object() ? '{' : '[';
  const char* separator = "\n";
  for (auto item = value.begin(); item != value.end(); ++item) {
    (out += separator) += inner;
    if (value.is_object()) out += compact(item.key()) + ": ";
    print(*item, indent + 2, out);
    separator = ",\n";
  }
  out += '\n' + std::string(indent, ' ');
  out += value.is_object() ? '}' : ']';
}

}  // namespace

std::string json_text(const Report& report) {
  std::string text;
  print(make_json(report), 0, text);
  return text + '\n';
}

std::string comparison_json(const Comparison& comparison) {
  return json_visible(make_json(comparison).dump(2, ' ', false, Json::error_handler_t::replace)) + '\n';
}

std::string estimate_json(const MemoryEstimate& estimate) {
  return make_json(estimate).dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::string jsonl_text(const Report& report) {
  std::string text;
  const auto add = [&](const char* name, const auto& of) {
    Json value = make_json(of);
    value.erase("points");
    const Json line = {{"oomdoctor_jsonl", jsonl_version},
                       {"input", report.inputs.empty() ? "" : report.inputs.front().path},
                       {name, std::move(value)}};
    text += line.dump(-1, ' ', true, Json::error_handler_t::replace) + '\n';
  };
  add("verdict", report.verdict);
  for (const auto& of : report.incidents) add("incident", of);
  for (const auto& of : report.series) add("series", of);
  for (const auto& of : report.causes) add("cause", of);
  for (const auto& of : report.fixes) add("fix", of);
  return text;
}

std::string survey_json(const Survey& survey) {
  std::string text;
  print(make_json(survey), 0, text);
  return text + '\n';
}

std::string survey_jsonl(const Survey& survey) {
  std::string text;
  for (const SurveyJob& job : survey.jobs) {
    Json line = {{"oomdoctor_survey", survey_schema_version}};
    line.update(make_json(job));
    text += line.dump(-1, ' ', true, Json::error_handler_t::replace) + '\n';
  }
  return text;
}

}  // namespace oomdoctor
