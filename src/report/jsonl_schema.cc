// The schema of JSON Lines is derived from that of the report, so that both agree on the common objects.
#include <nlohmann/json.hpp>

#include "report/json.h"
#include "report/schema.h"

namespace oomdoctor {

std::string jsonl_schema() {
  using Json = nlohmann::ordered_json;
  const Json report = Json::parse(report_schema());
  Json schema = {{"$schema", report["$schema"]},
                 {"$id", "urn:oomdoctor:jsonl:" + std::to_string(jsonl_version)},
                 {"title", "oomdoctor JSON Lines " + std::to_string(jsonl_version)},
                 {"description", "One line: an object of the report under its name. The verdict comes first."},
                 {"type", "object"}};
  schema["properties"] = {{"oomdoctor_jsonl", {{"const", jsonl_version}}}, {"input", {{"type", "string"}}}};
  schema["required"] = {"oomdoctor_jsonl", "input"};
  Json defs = report["$defs"];
  defs["series"]["properties"].erase("points");
  std::erase(defs["series"]["required"].get_ref<Json::array_t&>(), Json("points"));
  for (const char* name : {"verdict", "incident", "series", "cause", "fix"}) {
    schema["properties"][name] = {{"$ref", std::string("#/$defs/") + name}};
    schema["oneOf"].push_back({{"required", Json::array({name})}});
  }
  schema["$defs"] = std::move(defs);
  return schema.dump(2) + '\n';
}

}  // namespace oomdoctor
