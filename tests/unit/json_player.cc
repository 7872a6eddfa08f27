#include "text/json_player.h"

#include <algorithm>

#include "catch.h"
#include "scans.h"

namespace oomdoctor {
namespace {

using Played = JsonPlayer::Played;

std::string played(std::string_view document, std::size_t piece) {
  JsonPlayer player(JsonPlayer::kind_of(document));
  std::string out;
  for (; !document.empty(); document.remove_prefix(std::min(piece, document.size())))
    player.feed(document.substr(0, piece), out);
  return out;
}

void check_played(std::string_view document, std::string_view lines) {
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{1} << 20})
    CHECK(played(document, piece) == lines);
}

}  // namespace

TEST_CASE("an answer of Prometheus becomes lines of its text format", "[json_player]") {
  check_played(R"({"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"used","gpu":"0"},)"
               R"("values":[[1760000000.25,"1"],[1760000015,"2e3"]]},{"metric":{},"values":[[5,"3"]]}]}})",
               "used{gpu=\"0\"} 1 1760000000250\nused{gpu=\"0\"} 2e3 1760000015000\n 3 5000\n");
  check_played(
      "{ \"data\" : { \"resultType\" : \"vector\" , \"result\" : [\n { \"metric\" : { \"__name__\" : \"m\", "
      "\"a\" : \"x\\\"}]\" } ,\n \"value\" : [ 7.5 , \"NaN\" ] } ] } }\n",
      "m{a=\"x\\\"}]\"} NaN 7500\n");
  // What is not a sample prints nothing.
  check_played(R"({"data":{"resultType":"matrix","result":[{"metric":{"__name__":"m"},"values":[[],["x","1"],[1]]}]}})",
               "");
}

TEST_CASE("each record of a history becomes a line", "[json_player]") {
  check_played(
      "{\n  \"epoch\": 1.0,\n  \"log_history\": [\n    {\n      \"loss\": 2.5,\n      \"note\": \"a\\n  {[\",\n"
      "      \"step\": 10\n    },\n    {\n      \"step\": 20\n    }\n  ],\n  \"max_steps\": 20\n}\n",
      "{\n  \"epoch\": 1.0,\n  \"log_history\": [\n    \n{\"loss\": 2.5,\"note\": \"a\\n  {[\",\"step\": 10}\n"
      "{\"step\": 20}\n],\n  \"max_steps\": 20\n}\n");
}

TEST_CASE("each sample of a list becomes a line", "[json_player]") {
  check_played(
      "[\n  {\n    \"time\": 5,\n    \"rss_mb\": 20\n  },\n  {\n    \"time\": 6,\n    \"rss_mb\": 21\n  }\n]\n",
      "[\n  \n{\"time\": 5,\"rss_mb\": 20}\n{\"time\": 6,\"rss_mb\": 21}\n]\n");
  CHECK(JsonPlayer::kind_of("[{\"time\": 5, \"user\": 1}]") == Played::none);
  CHECK(JsonPlayer::kind_of("[info] rss 5 time 6") == Played::none);
}

TEST_CASE("other documents are read as they are", "[json_player]") {
  CHECK(JsonPlayer::kind_of("{\"step\": 1, \"loss\": 2}\n{\"step\": 2}\n") == Played::none);
  CHECK(JsonPlayer::kind_of("step 1 {\"log_history\": []}") == Played::none);
  CHECK(JsonPlayer::kind_of("{\"data\":{\"resultType\":\"scalar\",\"result\":[1,\"2\"]}}") == Played::none);
  CHECK(JsonPlayer::kind_of("") == Played::none);
}

TEST_CASE("the samples of an answer are series with their times", "[json_player]") {
  std::string values;
  for (int i = 0; i < 40; ++i)
    values +=
        (i > 0 ? ",[" : "[") + std::to_string(1760000000 + 15 * i) + ",\"" + std::to_string(21000 + 41 * i) + "\"]";
  const ScanResult scan = testing::scan_text(
      R"({"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"DCGM_FI_DEV_FB_USED",)"
      R"("Hostname":"host1","gpu":"2"},"values":[)" +
      values +
      R"(]},{"metric":{"__name__":)"
      R"("node_memory_MemAvailable_bytes","instance":"host1:9100"},"values":[[1760000000,"94371840000"]]}]}})");
  REQUIRE(scan.series.size() == 2);
  CHECK(scan.series[0].origin.device == 2);
  CHECK(scan.series[0].n == 40);
  CHECK(scan.series[1].metric == Metric::host_available);
  CHECK(scan.notes.size() == 1);
}

TEST_CASE("the samples of a list are a series with their times", "[json_player]") {
  std::string list = "[\n";
  for (int i = 0; i < 24; ++i)
    list += std::string(i > 0 ? ",\n" : "") + "  {\n    \"timestamp\": " + std::to_string(1760000000 + 10 * i) +
            ",\n    \"cpu_percent\": 97.2,\n    \"rss_mb\": " + std::to_string(412 + 3 * i) + ".5\n  }";
  const ScanResult scan = testing::scan_text(list + "\n]\n");
  REQUIRE(scan.series.size() == 1);
  CHECK(scan.series[0].metric == Metric::host_rss);
  CHECK(scan.series[0].n == 24);
  CHECK(scan.series[0].has_times);
  const ScanResult bare = testing::scan_text(
      "{\"time\": 1760000000, \"memory\": 41.5}\n{\"time\": 1760000010, \"memory\": 41.9}\n"
      "{\"time\": 1760000020, \"memory\": 42.3}\n");
  CHECK(bare.series.empty());
  REQUIRE(bare.notes.size() == 1);
  CHECK(bare.notes[0].unread);
}

TEST_CASE("the records of a trainer's state are its steps", "[json_player]") {
  std::string records;
  for (int i = 1; i <= 20; ++i)
    records += (i > 1 ? ",\n" : "") +
               std::string("    {\n      \"epoch\": 0.5,\n      \"loss\": 2.0,\n      \"memory/") +
               "max_allocated (GiB)\": " + std::to_string(14 + i) + ".25,\n      \"step\": " + std::to_string(12 * i) +
               "\n    }";
  const ScanResult scan = testing::scan_text("{\n  \"epoch\": 0.5,\n  \"log_history\": [\n" + records +
                                             "\n  ],\n  \"max_steps\": 240\n}\n");
  REQUIRE(scan.series.size() == 1);
  CHECK(scan.series[0].n == 20);
  CHECK(scan.last_step == 240);
}

TEST_CASE("an answer without end takes no memory", "[json_player]") {
  std::string document = R"({"data":{"resultType":"matrix","result":[{"metric":{"__name__":"m","l":")";
  document += std::string(100000, 'x') + "\"},\"values\":[[1,\"2\"]" + std::string(100000, '[');
  const std::string out = played(document, 1000);
  CHECK(out.size() < 1000);
}

}  // namespace oomdoctor
