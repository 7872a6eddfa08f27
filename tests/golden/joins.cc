// Several files of one job in one report.
#include <algorithm>

#include "catch.h"
#include "oomdoctor/diagnose.h"

namespace oomdoctor {
namespace {

std::string message(const std::string& device) {
  return "CUDA out of memory. Tried to allocate 512.00 MiB (GPU " + device +
         "; 23.69 GiB total capacity; 9.20 GiB already allocated; 130.00 MiB free; 9.60 GiB reserved in total by "
         "PyTorch)\n";
}

std::string steps(const std::string& clock) {
  std::string text;
  for (int i = 0; i < 6; ++i)
    text += "2025-03-01 12:0" + std::to_string(i) + ":" + clock + " step " + std::to_string(i) + " loss 2.1\n";
  return text;
}

bool mentions(const Report& report, std::string_view text) {
  return std::any_of(report.notes.begin(), report.notes.end(),
                     [&](const auto& note) { return note.text.find(text) != std::string::npos; });
}

}  // namespace

TEST_CASE("the clock connects a monitor's export with the failure", "[golden]") {
  std::string csv = "timestamp, index, memory.used [MiB], memory.total [MiB]\n";
  for (int i = 0; i < 7; ++i)
    csv += "2025/03/01 12:0" + std::to_string(i) + ":10.000, 0, " + (i < 4 ? "10240" : "24100") + " MiB, 24258 MiB\n";
  const std::string log = steps("05") + "RuntimeError: " + message("0");
  const Report r = diagnose({{"train.log", log}, {"gpu.csv", csv}}, {});
  // 24100 MiB minus the 9.60 GiB that the allocator had reserved.
  CHECK(mentions(r, "the monitor saw 23.54 GiB in use on this device: 13.94 GiB beyond the 9.60 GiB of the message"));
  CHECK_FALSE(mentions(diagnose({{"train.log", log}}, {}), "monitor"));
  std::string elsewhen = csv;
  for (std::size_t at = 0; (at = elsewhen.find("2025/03/01", at)) != std::string::npos;) elsewhen[at + 9] = '2';
  CHECK_FALSE(mentions(diagnose({{"train.log", log}, {"gpu.csv", elsewhen}}, {}), "monitor"));
}

TEST_CASE("of ranks in separate files, the rank that failed first is the failure", "[golden]") {
  const std::string later = steps("30") + "2025-03-01 12:07:40 [rank0]: RuntimeError: " + message("0");
  const std::string first = steps("30") + "2025-03-01 12:07:12 [rank1]: RuntimeError: " + message("1");
  const Report r = diagnose({{"rank0.log", later}, {"rank1.log", first}}, {});
  REQUIRE(r.incidents.size() == 2);
  CHECK(r.incidents[0].follows == r.incidents[1].id);
  CHECK_FALSE(r.incidents[1].follows);
  CHECK(r.verdict.incident == r.incidents[1].id);
}

}  // namespace oomdoctor
