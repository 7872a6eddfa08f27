#include "text/collector_form.h"

#include <string>
#include <vector>

#include "catch.h"
#include "text/line_unwrapper.h"
#include "text/source.h"

namespace oomdoctor {
namespace {

/// The text without what its collector put around the lines; the times of the lines in `times`.
std::string restored(const std::string& text, std::vector<double>* times = nullptr,
                     std::vector<std::size_t>* breaks = nullptr) {
  Source source = Source::of_text("log", text);
  LineUnwrapper reader(source);
  UnwrappedText out;
  while (reader.read(out, 64)) continue;
  if (times != nullptr)
    for (const LineTag& tag : out.tags) times->push_back(*tag.time);
  if (breaks != nullptr) *breaks = out.removed_breaks;
  return std::string(out.bytes.text());
}

}  // namespace

TEST_CASE("a CI runner's time before each line is its time", "[text]") {
  std::vector<double> times;
  CHECK(restored("2026-03-04T05:06:07.1234567Z used, free\n"
                 "2026-03-04T05:06:08.0000000Z 1200, 800\n"
                 "2026-03-04T05:06:09.5000000Z \n"
                 "2026-03-04T05:06:10.5000000Z   File \"train.py\", line 3\n",
                 &times) == "used, free\n1200, 800\n\n  File \"train.py\", line 3\n");
  REQUIRE(times.size() == 4);
  CHECK(times[3] - times[1] == Approx(2.5));
  CHECK(times[1] == Approx(1772600768));
}

TEST_CASE("the times of a program's own logger stay", "[text]") {
  for (const std::string text : {"2026-03-04T05:06:07.123Z step 1\n2026-03-04T05:06:08.123Z step 2\n"
                                 "2026-03-04T05:06:09.123Z step 3\n",
                                 "2026-03-04 05:06:07.1234567 a\n2026-03-04 05:06:08.1234567 b\n"
                                 "2026-03-04 05:06:08.1234567 c\n",
                                 "[rank0]: a\n[rank1]: b\n[rank0]: c\n", "0: a\n1: b\n0: c\n", "1: a\n2: b\n3: c\n"})
    CHECK(restored(text) == text);
}

TEST_CASE("the tags of a launcher are no part of the lines of one rank", "[text]") {
  for (const std::string label : {"[rank3]: ", "[default3]:", "3: ", " 3: ", "03: "}) {
    CAPTURE(label);
    CHECK(restored(label + "a\n" + label + "  b\n\n" + label + "c\n") == "a\n  b\n\nc\n");
    CHECK(CollectorForm::find(label + "a\n" + label + "b\n" + label + "c\n")->rank() == 3);
  }
}

TEST_CASE("a line without the prefix stays as it is", "[text]") {
  const std::string head = "trainer-1  | a\ntrainer-1  | b\ntrainer-1  | \ntrainer-1  |\n";
  std::string many;
  for (int i = 0; i < 600; ++i) many += head;  // more lines than those that decide
  const std::string out = restored(many + "Killed\ntrainer-1  | c");
  CHECK(out.starts_with("a\nb\n\n\na\n"));
  CHECK(out.ends_with("Killed\nc"));
  CHECK(restored("trainer-1  | a\ntrainer-2  | b\ntrainer-1  | c\n") ==
        "trainer-1  | a\ntrainer-2  | b\ntrainer-1  | c\n");
}

TEST_CASE("a line that a container runtime cut is whole again", "[text]") {
  std::vector<std::size_t> breaks;
  CHECK(restored("2026-03-04T05:06:07.123456789Z stdout F first\n"
                 "2026-03-04T05:06:07.12345678Z stderr P CUDA out \n"
                 "2026-03-04T05:06:07.123456Z stderr F of memory\n",
                 nullptr, &breaks) == "first\nCUDA out of memory\n");
  CHECK(breaks == std::vector<std::size_t>{15});
}

TEST_CASE("the files of Docker, journald and cloud services have their messages as JSON", "[text]") {
  std::vector<double> times;
  CHECK(restored(R"({"log":"step 1\n","stream":"stdout","time":"2026-03-04T05:06:07.5Z"}
{"log":"a \"b\"","stream":"stderr","time":"2026-03-04T05:06:08Z"}
{"log":" c\r\n","stream":"stderr","time":"2026-03-04T05:06:09Z"}
)",
                 &times) == "step 1\na \"b\" c\r\n");
  CHECK(times == std::vector<double>{1772600767.5, 1772600768, 1772600769});
  const std::string entry = R"({"__REALTIME_TIMESTAMP":"1772600768000000","_PID":"7","MESSAGE":"x"})";
  times.clear();
  CHECK(restored(entry + '\n' + entry + '\n' + entry + '\n', &times) == "x\nx\nx\n");
  CHECK(times.front() == Approx(1772600768));
  // A program's own records.
  const std::string own = R"({"message":"step","timestamp":1,"memory":12})";
  CHECK(restored(own + '\n' + own + '\n' + own + '\n') == own + '\n' + own + '\n' + own + '\n');
}

TEST_CASE("a journal's prefix is that of its job; other lines keep theirs", "[text]") {
  std::vector<double> times;
  CHECK(restored("Mar  4 05:06:07 node7 train.sh[4242]: a: b\n"
                 "Mar  4 05:06:08 node7 train.sh[4242]:   c\n"
                 "Mar  4 05:06:09 node7 train.sh[4243]: d\n"
                 "Mar  4 05:06:09 node7 kernel: Out of memory: Killed process 4243 (python)\n"
                 "Mar  4 05:06:10 node7 systemd[1]: job.service: Failed with result 'oom-kill'.\n",
                 &times) ==
        "a: b\n  c\nd\nMar  4 05:06:09 node7 kernel: Out of memory: Killed process 4243 (python)\n"
        "Mar  4 05:06:10 node7 systemd[1]: job.service: Failed with result 'oom-kill'.\n");
  CHECK(times == std::vector<double>{18367, 18368, 18369});
  const std::string kubelet = "Mar  4 05:06:07 node7 kubelet[9]: a\n";
  CHECK(restored(kubelet + kubelet + kubelet) == kubelet + kubelet + kubelet);
}

TEST_CASE("the time of ts before each line is its time", "[text]") {
  std::vector<double> times;
  CHECK(restored("Mar 04 05:06:07 a\nMar 04 05:06:08   b\nMar 04 05:06:09 \n", &times) == "a\n  b\n\n");
  CHECK(times == std::vector<double>{18367, 18368, 18369});
}

TEST_CASE("quotations and indented blocks lose their marks", "[text]") {
  CHECK(restored("> a\n>\n>   b\n> c\n") == "a\n\n  b\nc\n");
  CHECK(restored("    a\n      b\n    c\n    d\n    e\n    f\n    g\n\n    h\n") == "a\n  b\nc\nd\ne\nf\ng\n\nh\n");
  CHECK(restored("  a\n  b\n  c\n") == "  a\n  b\n  c\n");  // a part of a document
}

TEST_CASE("GitLab's marks and Jenkins's brackets are no part of a line", "[text]") {
  CHECK(restored("2026-03-04T05:06:07.123456Z 00O a\n2026-03-04T05:06:07.123456Z 01E b c\n"
                 "2026-03-04T05:06:07.123456Z 01O+d\n") == "a\nb c\nd\n");
  CHECK(restored("[2026-03-04T05:06:07.123Z] a\n[2026-03-04T05:06:07.124Z] + b\n[2026-03-04T05:06:07.125Z] \n") ==
        "a\n+ b\n\n");
}

}  // namespace oomdoctor
