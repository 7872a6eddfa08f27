// The schemas follow the lists of fields. A test in tests/cli/ checks with a validator that the output matches them.
#include "serialize/schema.h"

#include <map>
#include <type_traits>
#include <utility>
#include <vector>
#include <nlohmann/json.hpp>

#include "report/report_fields.h"
#include "report/survey_fields.h"
#include "serialize/comparison_fields.h"
#include "serialize/estimate_fields.h"
#include "serialize/json.h"
#include "serialize/partial.h"
#include "serialize/partial_fields.h"

namespace oomdoctor {
namespace {

using Json = nlohmann::ordered_json;

/// A part leaves out each empty field, and has its own forms for text, numbers and maps; see partial.cc.
enum class Contract { report, part };

/// Describes the fields of one struct. Reads no values: the struct is an empty one. Structs with a name become
/// definitions.
class SchemaWriter : public FieldVisitor {
 public:
  SchemaWriter(Contract contract, Json& definitions) : contract_(contract), definitions_(definitions) {}

  template <class T>
  void operator()(const char* name, const T& value, const FieldSpec& spec = {}) {
    add(name, described(make_schema(value, spec), spec), is_required<T>(spec));
  }

  template <class Items, class Body>
  void list(const char* name, const Items&, Body body, const FieldSpec& spec = {}) {
    const typename Items::value_type item{};
    add(name, described(make_array(make_object([&](auto& inner) { body(inner, item); }), spec), spec), !spec.optional);
  }

  template <class T, class Body>
  void object(const char* name, const T& value, Body body) {
    if constexpr (is_optional<T>)
      add(name, make_object([&, empty = typename T::value_type{}](auto& inner) { body(inner, empty); }), false);
    else
      add(name, make_object([&](auto& inner) { body(inner, value); }), true);
  }

  template <class Body>
  void group(const char* name, Body body) {
    add(name, make_object(body), true);
  }

  void constant(const char* name, const char* value, const FieldSpec& spec = {}) {
    add(name, *spec.pattern != '\0' ? Json{{"type", "string"}, {"pattern", spec.pattern}} : Json{{"const", value}},
        true);
  }

  void type(const char* name, const char* description = "") { name_ = name, description_ = description; }
  void row() { is_row_ = true; }

  void buckets(const char* name, const Series&) {
    add(name,
        {{"type", "array"},
         {"description",
          "A single value: [x, time, value]. Several joined values: [mean x, mean time, mean value, count, least, "
          "greatest, x of least, x of greatest]. true at the end: a new run begins there."},
         {"items", {{"type", "array"}, {"minItems", 3}, {"maxItems", 9}}}},
        false);
  }

  void exit_or_remark(const Event&) {
    (*this)("exit", Exit{});
    (*this)("remark", Remark{});
  }

  /// The schema of the object whose fields `body` lists, or the reference to its definition.
  template <class Body>
  Json make_object(Body body) const {
    SchemaWriter inner(contract_, definitions_);
    body(inner);
    Json schema = inner.is_row_ ? tuple(inner.properties_) : inner.take();
    if (inner.name_.empty()) return schema;
    definitions_[inner.name_] = std::move(schema);
    return reference(inner.name_);
  }

 private:
  void add(const char* name, Json schema, bool required) {
    properties_[name] = std::move(schema);
    if (required && contract_ == Contract::report) required_.push_back(name);
  }

  Json take() {
    Json schema = {{"type", "object"}};
    if (!description_.empty()) schema["description"] = description_;
    schema["properties"] = std::move(properties_);
    if (!required_.empty()) schema["required"] = std::move(required_);
    return schema;
  }

  static Json reference(const std::string& name) { return {{"$ref", "#/$defs/" + name}}; }

  static Json described(Json schema, const FieldSpec& spec) {
    if (*spec.description != '\0') schema["description"] = spec.description;
    return schema;
  }

  static Json make_array(Json items, const FieldSpec& spec) {
    Json schema = {{"type", "array"}, {"items", std::move(items)}};
    if (spec.null_if_empty) schema["type"] = {"array", "null"};
    if (spec.min_items) schema["minItems"] = *spec.min_items;
    return schema;
  }

  /// An array with an item of its own form at each place.
  static Json tuple(const Json& named_items) {
    Json items = Json::array();
    for (const Json& item : named_items) items.push_back(item);
    return {
        {"type", "array"}, {"minItems", items.size()}, {"maxItems", items.size()}, {"prefixItems", std::move(items)}};
  }

  static Json plain(const char* type, const FieldSpec& spec) {
    Json schema = {{"type", type}};
    if (spec.null_if_empty || spec.infinite) schema["type"] = {type, "null"};
    if (spec.minimum) schema["minimum"] = *spec.minimum;
    if (spec.maximum) schema["maximum"] = *spec.maximum;
    if (spec.values.size() > 0) schema["enum"] = spec.values;
    return schema;
  }

  template <class T>
  Json make_schema(const T& value, const FieldSpec& spec) const {
    const bool part = contract_ == Contract::part;
    if constexpr (is_optional<T>) {
      return make_schema(typename T::value_type{}, spec);
    } else if constexpr (Text<T>) {
      return part ? reference("text") : plain("string", spec);
    } else if constexpr (std::is_enum_v<T>) {
      return plain("string", spec);
    } else if constexpr (std::is_same_v<T, bool>) {
      return plain("boolean", spec);
    } else if constexpr (std::is_integral_v<T>) {
      return plain("integer", spec);
    } else if constexpr (std::is_floating_point_v<T>) {
      return part ? reference("number") : plain("number", spec);
    } else {
      return make_object([&](auto& inner) { fields(inner, value); });
    }
  }

  template <class T>
  Json make_schema(const std::vector<T>&, const FieldSpec& spec) const {
    return make_array(make_schema(T{}, spec), spec);
  }

  template <class T, class Order>
  Json make_schema(const std::map<std::string, T, Order>&, const FieldSpec& spec) const {
    Json value = make_schema(T{}, spec);
    if (contract_ == Contract::report) return {{"type", "object"}, {"additionalProperties", std::move(value)}};
    Json pair = {{"type", "array"}, {"prefixItems", {reference("text"), std::move(value)}}, {"items", false}};
    return make_array(std::move(pair), spec);
  }

  Contract contract_;
  Json& definitions_;
  Json properties_ = Json::object(), required_ = Json::array();
  std::string name_, description_;
  bool is_row_ = false;
};

template <class T>
Json make_schema(const T& of, Json& definitions, Contract contract = Contract::report) {
  return SchemaWriter(contract, definitions).make_object([&](auto& field) { fields(field, of); });
}

Json head(const std::string& contract, const std::string& version, const char* description) {
  return {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
          {"$id", "urn:oomdoctor:" + contract + ":" + version},
          {"title", "oomdoctor " + (contract == "jsonl" ? "JSON Lines" : contract) + " " + version},
          {"description", description}};
}

std::string dump_schema(Json schema, Json definitions) {
  schema["$defs"] = std::move(definitions);
  return schema.dump(2) + '\n';
}

}  // namespace

std::string report_schema() {
  Json schema = head("report", report_schema_version,
                     "Sizes are integers in bytes. What the log does not give is absent or null, never 0. Minor "
                     "versions add fields; readers ignore those that they do not know.");
  Json definitions;
  schema.update(make_schema(Report{}, definitions));
  return dump_schema(std::move(schema), std::move(definitions));
}

std::string own_formats_schema(const OwnFormatWords& words) {
  const auto text = [](const char* description) { return Json{{"type", "string"}, {"description", description}}; };
  const auto one_of = [&](const char* description) {
    return Json{{"enum", words.kinds}, {"description", description}};
  };
  std::string unit = "^([1-9][0-9]* )?(";
  for (const std::string_view name : words.units) (unit += name) += '|';
  unit.back() = ')';
  Json name = text("two words with a slash between them, as in trainer/step");
  name["pattern"] = "^[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+$";
  Json anchor = text("constant text of every such line and of no other");
  anchor["minLength"] = words.shortest_anchor;
  Json size = text("what the letters spell: MiB is 2^20 bytes, MB is 10^6 bytes; \"1000 KiB\" is possible");
  size["pattern"] = unit + '$';
  const Json format{
      {"type", "object"},
      {"properties",
       {{"name", name},
        {"anchor", anchor},
        {"form", text("the line with its numbers in braces; ~ matches anything up to the next text, <…> is optional")},
        {"regex", text("instead of a form: a regex with named groups, as in (?<step>\\d{1,9})")},
        {"unit", size},
        {"printed", text("the letters of the unit in the log, if they differ")},
        {"kind", one_of("what the numbers are; a maximum is the kind of the max_ numbers")},
        {"current", one_of("the kind of the other numbers, if they are maxima too")},
        {"label", text("separates two series with the same name")},
        {"source", text("the code that prints the line")},
        {"example", text("a line as the program prints it")},
        {"expect",
         {{"type", "object"},
          {"additionalProperties", {{"type", "string"}}},
          {"description", "the numbers of the example as they are printed"}}}}},
      {"required", {"name", "anchor", "unit", "example"}},
      {"oneOf", {{{"required", {"form"}}}, {{"required", {"regex"}}}}},
      {"additionalProperties", false}};
  const Json schema{{"$schema", "http://json-schema.org/draft-07/schema#"},
                    {"$id", "urn:oomdoctor:own-formats:1.0"},
                    {"title", "oomdoctor line formats"},
                    {"description", "Lines of a trainer's own that oomdoctor reads memory from."},
                    {"type", "object"},
                    {"properties", {{"format", {{"type", "array"}, {"minItems", 1}, {"items", format}}}}},
                    {"required", {"format"}},
                    {"additionalProperties", false}};
  return schema.dump(2) + '\n';
}

std::string comparison_schema() {
  Json schema = head("comparison", comparison_schema_version,
                     "What oomdoctor compare says of two runs. Sizes are integers in bytes, slopes are bytes per "
                     "x_unit. What a log does not give is absent. Minor versions add fields; readers ignore those "
                     "that they do not know.");
  Json definitions;
  schema.update(make_schema(Comparison{}, definitions));
  return dump_schema(std::move(schema), std::move(definitions));
}

std::string estimate_schema() {
  Json schema = head("estimate", "1.0",
                     "The output of oomdoctor estimate --format json. Sizes are integers in bytes. What the options do "
                     "not determine is absent. Minor versions add fields; readers ignore those that they do not know.");
  Json definitions;
  schema.update(make_schema(MemoryEstimate{}, definitions));
  return dump_schema(std::move(schema), std::move(definitions));
}

std::string survey_schema() {
  Json schema = head("survey", survey_schema_version,
                     "One line of oomdoctor survey --format jsonl: a job. Every line has all fields; what the logs do "
                     "not show is null. Sizes are integers in bytes. Minor versions add fields.");
  Json definitions = Json::object();
  schema.update(make_schema(SurveyJob{}, definitions));
  Json properties = {{"oomdoctor_survey", {{"type", "string"}, {"pattern", "^1\\.[0-9]+$"}}}};
  properties.update(schema["properties"]);
  schema["properties"] = std::move(properties);
  schema["required"].push_back("oomdoctor_survey");
  return dump_schema(std::move(schema), std::move(definitions));
}

std::string survey_totals_schema() {
  Json schema = head("survey-totals", survey_schema_version,
                     "The output of oomdoctor survey --format json: what many jobs have in common. The JSON Lines have "
                     "the jobs. Minor versions add fields.");
  Json definitions = Json::object();
  schema.update(make_schema(Survey{}, definitions));
  return dump_schema(std::move(schema), std::move(definitions));
}

std::string jsonl_schema() {
  Json schema = head("jsonl", std::to_string(jsonl_version),
                     "One line: an object of the report under its name. The verdict comes first.");
  schema["type"] = "object";
  schema["properties"] = {{"oomdoctor_jsonl", {{"const", jsonl_version}}}, {"input", {{"type", "string"}}}};
  schema["required"] = {"oomdoctor_jsonl", "input"};
  Json definitions;
  const auto add = [&](const char* name, const auto& of) {
    schema["properties"][name] = make_schema(of, definitions);
    schema["oneOf"].push_back({{"required", Json::array({name})}});
  };
  add("verdict", Verdict{});
  add("incident", ReportIncident{});
  add("series", ReportSeries{});
  add("cause", ReportCause{});
  add("fix", ReportFix{});
  Json& series = definitions["series"];  // without its points
  series["properties"].erase("points");
  std::erase(series["required"].get_ref<Json::array_t&>(), Json("points"));
  return dump_schema(std::move(schema), std::move(definitions));
}

std::string partial_schema() {
  Json schema = head("partial", std::to_string(partial_version),
                     "One line of oomdoctor analyze --format partial: what one log says, before logs are joined and "
                     "judged. Sizes are bytes. An empty field is left out; a number that is left out is 0. oomdoctor "
                     "merge of the same version of this format reads it.");
  Json definitions = {
      {"text",
       {{"description", "text; bytes that are not UTF-8 are the characters U+0000 to U+00FF of the same numbers"},
        {"oneOf",
         {{{"type", "string"}},
          {{"type", "object"}, {"properties", {{"bytes", {{"type", "string"}}}}}, {"required", {"bytes"}}}}}}},
      {"number", {{"oneOf", {{{"type", "number"}}, {{"enum", {"nan", "inf", "-inf"}}}}}}}};
  ScanResult one_log;
  one_log.inputs.emplace_back();
  schema["type"] = "object";
  schema["properties"] = {
      {part_version_field, {{"const", partial_version}}},
      {"path", {{"$ref", "#/$defs/text"}, {"description", "as it was named to analyze"}}},
      {"modified",
       {{"type", "integer"}, {"minimum", 0}, {"description", "last change of the log's file, in seconds since 1970"}}},
      {"digest", {{"type", "string"}, {"description", "XXH3-128 of the log's bytes; with the path, which log it is"}}},
      {"tool", {{"type", "string"}, {"description", "version of oomdoctor"}}},
      {"case", make_schema(one_log, definitions, Contract::part)}};
  schema["required"] = {part_version_field, "path", "digest", "case"};
  return dump_schema(std::move(schema), std::move(definitions));
}

}  // namespace oomdoctor
