#include "serialize/json.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "catch.h"
#include "sample_reports.h"

using namespace oomdoctor;

namespace {

nlohmann::json parsed(const Report& report) { return nlohmann::json::parse(json_text(report)); }

}  // namespace

TEST_CASE("a value that the log does not print is absent, never 0", "[json]") {
  const auto incident = parsed(samples::handled())["incidents"][0];
  for (const char* name :
       {"capacity_bytes", "free_bytes", "device", "pid", "step", "epoch", "frame", "account", "follows", "host"}) {
    INFO(name);
    CHECK_FALSE(incident.contains(name));
  }
  CHECK(incident["requested_bytes"] == 512 * MiB);
  CHECK(incident["more_occurrences"] == 4);
  CHECK(parsed(samples::healthy())["verdict"]["cause"].is_null());
}

TEST_CASE("sizes are integers, and the memory breakdown adds up to the capacity", "[json]") {
  const auto account = parsed(samples::fatal())["incidents"][0]["account"];
  std::int64_t sum = account["unexplained_bytes"].get<std::int64_t>();
  for (const auto& share : account["shares"]) {
    CHECK(share["bytes"].is_number_integer());
    sum += share["bytes"].get<std::int64_t>();
  }
  CHECK(sum == account["capacity_bytes"].get<std::int64_t>());
  CHECK(parsed(samples::fatal())["series"][0]["points"][0][1].is_number_integer());
}

TEST_CASE("a forecast without an upper bound is null", "[json]") {
  const auto forecast = parsed(samples::at_risk())["series"][0]["trend"]["forecast"];
  CHECK(forecast["step_high"].is_null());
  CHECK(forecast["step_low"] == 6900);
}

TEST_CASE("bytes that are not UTF-8 are replaced, and infinities are null", "[json]") {
  Report report = samples::hostile();
  report.series[0].trend.slope.high = std::numeric_limits<double>::infinity();
  report.series[0].max_value = std::numeric_limits<double>::quiet_NaN();
  const auto object = parsed(report);
  CHECK(object["verdict"]["headline"].get<std::string>().find("\xef\xbf\xbd") != std::string::npos);
  CHECK(object["series"][0]["trend"]["slope"]["high"].is_null());
  CHECK(object["series"][0]["max_value"].is_null());
}

TEST_CASE("the fields have the order and names of the contract", "[json]") {
  const auto object = nlohmann::ordered_json::parse(json_text(samples::fatal()));
  std::vector<std::string> names;
  for (const auto& [name, value] : object.items()) names.push_back(name);
  CHECK(names == std::vector<std::string>{"schema_version", "tool", "inputs", "verdict", "incidents", "series",
                                          "causes", "fixes", "plan", "held_back", "questions", "coverage", "notes"});
  CHECK(object["fixes"][0]["settings"][0]["for"] == "plain PyTorch");
  CHECK(object["fixes"][1]["cost"]["class"] == 2);
}
