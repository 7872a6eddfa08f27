#include "report/words.h"

#include "base/bytes.h"
#include "catch.h"
#include "report/advice_words.h"
#include "report/incident_words.h"
#include "sample_reports.h"

using namespace oomdoctor;

TEST_CASE("counts, steps and shares have readable forms", "[words]") {
  CHECK(count_text(0) == "0");
  CHECK(count_text(999) == "999");
  CHECK(count_text(1000) == "1,000");
  CHECK(count_text(-1234567) == "-1,234,567");
  CHECK(plural(1, "line", "lines") == "1 line");
  CHECK(plural(2044, "line", "lines") == "2,044 lines");
  CHECK(step_text(1000) == "1000");
  CHECK(step_text(12.5) == "12.5");
  CHECK(step_text(1e300) == "far in the future");
  CHECK(percent_text(0.92) == "92%");
  CHECK(percent_text(0.001) == "<1%");
  CHECK(percent_text(0) == "0%");
}

TEST_CASE("a unit that two values share is written once", "[words]") {
  CHECK(drop_common_unit("21.40 GiB", "15.40 GiB") == "15.40");
  CHECK(drop_common_unit("21.40 GiB", "900.00 MiB") == "900.00 MiB");
  CHECK(drop_common_unit("80%", "12.5%") == "12.5");
  CHECK(drop_common_unit("80%", "") == "");
}

TEST_CASE("each printed share is its own number, whatever their sum", "[words]") {
  const std::vector<std::int64_t> parts = {GiB / 3, GiB / 3, GiB - 2 * (GiB / 3)};
  const SharesText text = shares_text(parts, GiB);
  CHECK(text.unit == "GiB");
  CHECK(text.total == "1.00");
  CHECK(text.numbers == std::vector<std::string>{"0.33", "0.33", "0.33"});
  CHECK(text.percents == std::vector<std::string>{" 33%", " 33%", " 33%"});
}

TEST_CASE("a negative remainder keeps the sum, and a total of zero does not divide", "[words]") {
  const SharesText over = shares_text({12 * GiB, -2 * GiB}, 10 * GiB);
  CHECK(over.numbers == std::vector<std::string>{"12.00", "-2.00"});
  CHECK(over.percents == std::vector<std::string>{"120%", "-20%"});
  CHECK(shares_text({0}, 0).numbers == std::vector<std::string>{"0.00"});
}

TEST_CASE("estimates show their interval, symmetric or not", "[words]") {
  CHECK(estimate_text({8 * 1048576.0, 7.5 * 1048576.0, 8.5 * 1048576.0}) == "8.00 ± 0.50 MiB");
  CHECK(estimate_text({8 * 1048576.0, 7.9 * 1048576.0, 9.5 * 1048576.0}) == "8.00 MiB (7.90 to 9.50)");
  CHECK(estimate_text({0.25, 0.2, 0.3}) == "0.25 ± 0.05 bytes");
  CHECK(estimate_text({-2048, -3072, -1024}) == "-2.00 ± 1.00 KiB");
}

TEST_CASE("savings name the known amounts", "[words]") {
  ReportFix fix;
  CHECK(saving_words(fix).empty());
  fix.saves_high_bytes = 2 * GiB;
  CHECK(saving_words(fix) == "saves up to 2 GiB");
  fix.saves_low_bytes = GiB;
  CHECK(saving_words(fix) == "saves 1 to 2 GiB");
  fix.saves_low_bytes = 512 * MiB;
  CHECK(saving_words(fix) == "saves 512 MiB to 2 GiB");
  fix.saves_low_bytes = 2 * GiB;
  CHECK(saving_words(fix) == "saves 2 GiB");
  fix.saves_low_bytes = 0;
  CHECK(saving_words(fix) == "saves up to 2 GiB");
}

TEST_CASE("locations are short if that is unambiguous", "[words]") {
  using samples::at;
  CHECK(places({at(12), at(92), at(3, "b.log"), at(4)}, 3) == "train.log:12, 92, b.log:3 and 1 more");
  Report one;
  one.inputs = {{"runs/a/train.log", "log", 1, 1, "", false}};
  CHECK(short_locations(one, {at(12, "runs/a/train.log"), at(92, "runs/a/train.log")}, 2) == "lines 12 and 92");
  CHECK(short_locations(one, {at(12), at(92), at(95)}, 2) == "lines 12, 92 and 1 more");
  CHECK(range_of_lines(one, at(12), at(92)) == "lines 12–92");
  CHECK(range_of_lines(one, at(12), at(12)) == "line 12");
  Report two = one;
  two.inputs.push_back({"runs/a/err.log", "log", 1, 1, "", false});
  CHECK(short_locations(two, {at(12, "runs/a/err.log")}, 2) == "err.log:12");
  two.inputs.push_back({"runs/b/err.log", "log", 1, 1, "", false});
  CHECK(short_locations(two, {at(12, "runs/a/err.log")}, 2) == "runs/a/err.log:12");
  CHECK(short_locations(one, {}, 2).empty());
}

TEST_CASE("an incident's title names the failure, its time and its phase", "[words]") {
  ReportIncident incident = samples::fatal_incident();
  CHECK(incident_title(incident) == "GPU 0 ran out of memory at step 1000, in the backward pass");
  incident.step.reset();
  incident.device.reset();
  incident.phase = "load";
  CHECK(incident_title(incident) == "The GPU ran out of memory while loading the model");
  incident.accelerator = Accelerator::tpu;
  CHECK(incident_title(incident) == "The TPU ran out of memory while loading the model");
  incident.kind = "host";
  incident.agent = "kernel";
  incident.phase.clear();
  CHECK(incident_title(incident) == "The Linux OOM killer killed a process: the host was out of RAM");
  incident.kind = "shared_memory";
  incident.handled = true;
  CHECK(incident_title(incident) == "Shared memory (/dev/shm) ran out; the program continued");
}

TEST_CASE("the code of a frame shows that its statement goes on in the next line") {
  const auto words = [](const std::string& code) { return code_words({"train.py", 7, "main", code}); };
  CHECK(words("x = pad(x, (max(y, 0),") == "x = pad(x, (max(y, 0), …");
  for (const char* whole : {"x = pad(x, [3, 4])", "log('(', x)", "x = y)", ""}) CHECK(words(whole) == whole);
}

TEST_CASE("a series is of the kind of device that the job uses", "[words]") {
  ReportSeries series;
  series.metric = "used";
  series.device = 3;
  CHECK(series_name(series) == "GPU memory used, GPU 3");
  series.accelerator = Accelerator::tpu;
  CHECK(series_name(series) == "TPU memory used, TPU 3");
}
