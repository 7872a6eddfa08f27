// The content of each sample, compared with the expectation next to it (NAME.json): incidents with their numbers,
// series with their counts, outcome and cause. The files contain no prose, so rewording a rule changes no golden file.
//
// OOMDOCTOR_ACCEPT=1 rewrites the expectations. Review the difference before you commit it.
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "catch.h"
#include "oomdoctor/diagnose.h"
#include "samples.h"

namespace oomdoctor {
namespace {

using Json = nlohmann::ordered_json;

void put(Json& to, const char* name, const auto& optional) {
  if (optional) to[name] = *optional;
}

Json extraction(const Report& report) {
  Json out;
  out["outcome"] = to_string(report.verdict.outcome);
  out["cause"] = report.verdict.cause;
  out["lines"] = report.coverage.lines;
  out["kind"] = report.inputs.at(0).kind;
  out["incidents"] = Json::array();
  for (const ReportIncident& i : report.incidents) {
    Json j;
    j["kind"] = i.kind;
    j["agent"] = i.agent;
    j["message_format"] = i.message_format;
    j["line"] = i.location.line;
    j["occurrences"] = i.occurrences.size();
    j["handled"] = i.handled;
    put(j, "follows", i.follows);
    put(j, "device", i.device);
    put(j, "rank", i.rank);
    put(j, "pid", i.pid);
    put(j, "step", i.step);
    j["phase"] = i.phase;
    put(j, "requested", i.requested_bytes);
    put(j, "capacity", i.capacity_bytes);
    put(j, "free", i.free_bytes);
    put(j, "process", i.process_bytes);
    put(j, "allocated", i.allocated_bytes);
    put(j, "reserved", i.reserved_bytes);
    put(j, "unallocated", i.unallocated_bytes);
    put(j, "private_pools", i.private_pool_bytes);
    put(j, "limit", i.limit_bytes);
    j["other_processes"] = i.other_processes.size();
    if (i.frame) j["frame"] = i.frame->file + ":" + std::to_string(i.frame->line);
    if (i.account) j["unexplained"] = i.account->unexplained_bytes;
    out["incidents"].push_back(std::move(j));
  }
  out["series"] = Json::array();
  for (const ReportSeries& s : report.series) {
    Json j;
    j["metric"] = s.metric;
    j["kind"] = s.kind;
    put(j, "rank", s.rank);
    put(j, "device", s.device);
    j["n"] = s.n;
    put(j, "first_step", s.first_step);
    put(j, "last_step", s.last_step);
    j["first"] = s.first_value;
    j["last"] = s.last_value;
    j["max"] = s.max_value;
    j["shape"] = s.trend.shape;
    j["leak"] = s.trend.leak;
    out["series"].push_back(std::move(j));
  }
  return out;
}

}  // namespace

TEST_CASE("every sample gives the result of its golden file", "[golden]") {
  const bool accept = std::getenv("OOMDOCTOR_ACCEPT") != nullptr;
  std::map<std::string, std::vector<std::filesystem::path>> folders;
  for (const auto& path : testing::sample_logs()) folders[path.parent_path().filename().string()].push_back(path);
  for (const auto& [folder, logs] : folders) {
    DYNAMIC_SECTION(folder) {  // ctest runs each separately: tests/CMakeLists.txt
      for (const auto& path : logs) {
        const std::string name = testing::sample_name(path);
        CAPTURE(name);
        const Json got = extraction(diagnose({{name, testing::read_file(path)}}));
        const auto golden = std::filesystem::path(path).replace_extension(".json");
        if (accept) std::ofstream(golden) << got.dump(1) << '\n';
        REQUIRE(std::filesystem::exists(golden));
        CHECK(got.dump(1) + '\n' == testing::read_file(golden));
      }
    }
  }
}

}  // namespace oomdoctor
