// The advice fits the place, the platform and the program that the log shows.
#include <algorithm>
#include <string>

#include "catch.h"
#include "oomdoctor/diagnose.h"
#include "samples.h"

namespace oomdoctor {
namespace {

Report report_of(const std::string& sample) {
  return diagnose({{"job.log", testing::read_file(testing::source_folder() / "samples" / (sample + ".log"))}});
}

/// The first line to copy of a fix; "" if the report does not offer it.
std::string first_setting(const Report& report, const std::string& fix) {
  const auto found = std::find_if(report.fixes.begin(), report.fixes.end(), [&](const auto& f) { return f.id == fix; });
  return found == report.fixes.end() ? "" : found->settings.at(0).scope + ": " + found->settings.at(0).text;
}

}  // namespace

TEST_CASE("more host RAM is in the words of the place", "[judge][advice]") {
  const struct {
    const char *sample, *words;
  } places[] = {
      {"host_allocation/page_file_worker", "page file"}, {"host_allocation/r_windows", "page file"},
      {"host_allocation/ggml_windows", "1.40 GiB"},      {"host_allocation/numpy", "machine"},
      {"kernel/victim_in_table", "Kubernetes: "},        {"circumstances/small_machine", "no swap"},
      {"daemons/candidates", "oomctl"},                  {"tensorflow/host_pool", "TF_GPU_HOST_MEM_LIMIT_IN_MB"}};
  for (const auto& [sample, words] : places) {
    CAPTURE(sample);
    const std::string setting = first_setting(report_of(sample), "raise-host-memory");
    CHECK(setting.find(words) != std::string::npos);
    CHECK(setting.find("container") == std::string::npos);
  }
}

TEST_CASE("a heap of Spark is set by Spark", "[judge][advice]") {
  CHECK(first_setting(report_of("heaps/spark_heap"), "raise-heap").starts_with("Spark: "));
  CHECK(first_setting(report_of("heaps/java"), "raise-heap").starts_with("Java: "));
}

}  // namespace oomdoctor
