#include "text/lines.h"

#include "catch.h"

namespace oomdoctor {
using namespace std::string_literals;

TEST_CASE("a cleaned line is the text that a person sees", "[lines]") {
  CHECK(clean_line("plain\r\n") == "plain");
  CHECK(clean_line("\x1b[1;31mERROR\x1b[0m out\x1b[K") == "ERROR out");
  CHECK(clean_line("\x1b]0;a title\aafter") == "after");
  CHECK(clean_line("\x1b]8;;file:///x\x1b\\link\x1b]8;;\x1b\\") == "link");
  CHECK(clean_line("\x1b(Bplain") == "plain");
  CHECK(clean_line("cut \x1b[31") == "cut ");
  CHECK(clean_line("cut \x1b").substr(0, 4) == "cut ");
  CHECK(clean_line("") == "");
}

TEST_CASE("a line ends at the first of both bytes that end lines", "[lines]") {
  CHECK(find_line_end("one\r\ntwo\n") == 3);
  CHECK(find_line_end("one\ntwo\r") == 3);
  CHECK(find_line_end("\n") == 0);
  CHECK(find_line_end("the rest") == 8);
  CHECK(find_line_end("") == 0);
  for (std::size_t length = 500; length < 1100; ++length)  // across the stretches that are searched at a time
    for (const char end : {'\n', '\r'}) CHECK(find_line_end(std::string(length, 'x') + end + "y\r\n") == length);
}

TEST_CASE("runs of NUL bytes are removed, a single one stays", "[lines]") {
  CHECK(clean_line("a\0\0\0\0b"s) == "ab");
  CHECK(clean_line("\0\0line"s) == "line");
  CHECK(clean_line("GPU \0 has"s) == "GPU \0 has"s);
}

TEST_CASE("tags of ranks are separated from the message", "[lines]") {
  struct Tag {
    const char* text;
    int rank;
  };
  for (const Tag& tag :
       {Tag{"[rank3]:", 3}, Tag{"[rank3] ", 3}, Tag{"[default12]:", 12}, Tag{"default7:", 7}, Tag{"[RANK 03]", 3},
        Tag{"[1,5]<stderr>:", 5}, Tag{"[1,0]<stdout>:", 0}, Tag{"3:", 3}, Tag{"12345:", 12345}}) {
    const std::string line = std::string(tag.text) + "   File \"x.py\"";
    CAPTURE(line);
    const LinePrefix prefix = peel_prefix(line);
    REQUIRE(prefix.rank);
    CHECK(*prefix.rank == tag.rank);
    CHECK(line.substr(prefix.length) == "  File \"x.py\"");  // the indentation belongs to the message
  }
}

TEST_CASE("text that only looks like a tag stays in the message", "[lines]") {
  for (const char* line : {"[rank] 3 of 4",
                           "[rankings]: none",
                           "[rank-3]: x",
                           "[rank3]x",
                           "default: 3",
                           "defaults: x",
                           "Rank 3 failed",
                           "[1,3] tensor",
                           "[1,3,5]: shape",
                           "3:x",
                           "123456: too long a number",
                           "99999999999: x",
                           "12:30 is noon",
                           "(Worker 3) began",
                           "(pid=) x",
                           "(see pid=x) y",
                           "loss | 3.2",
                           "| a | b |",
                           "RuntimeError: CUDA out of memory",
                           "[INFO] no time before it",
                           "  3: indented",
                           "ERROR at start",
                           "I am here",
                           "E1234 short"}) {
    CAPTURE(line);
    const LinePrefix prefix = peel_prefix(line);
    CHECK(prefix.length == 0);
    CHECK_FALSE(prefix.rank);
    CHECK_FALSE(prefix.pid);
    CHECK_FALSE(prefix.time);
  }
}

TEST_CASE("names of actors and containers are separated from the message", "[lines]") {
  const std::string worker = "(TrainWorker pid=77, ip=10.0.0.2) Killed";
  CHECK(peel_prefix(worker).pid == 77);
  CHECK(worker.substr(peel_prefix(worker).length) == "Killed");
  CHECK(peel_prefix("(Engine TP0 pid=9) x").pid == 9);
  const std::string container = "trainer-1  | Killed";
  CHECK(container.substr(peel_prefix(container).length) == "Killed");
}

TEST_CASE("tags may be nested in any order", "[lines]") {
  const std::string line = "[rank1]: 2024-05-28 07:02:44,250 [ERROR] [engine.py:31:step] out of memory";
  const LinePrefix prefix = peel_prefix(line);
  CHECK(prefix.rank == 1);
  CHECK(prefix.time.value() == Approx(1716879764.25).epsilon(1e-13));
  CHECK(line.substr(prefix.length) == "out of memory");
  const std::string other = "(W pid=4) [rank0]: x";
  CHECK(peel_prefix(other).rank == 0);
  CHECK(peel_prefix(other).pid == 4);
  CHECK(other.substr(peel_prefix(other).length) == "x");
}

TEST_CASE("a rank after a logger's tags is recognized, too", "[lines]") {
  const std::string_view line = "[11/02/2025-08:12:40] [TRT-LLM] [RANK 3] [E] Failed to initialize executor";
  const LinePrefix prefix = peel_prefix(line);
  CHECK(prefix.rank == 3);
  CHECK(line.substr(prefix.length) == "[E] Failed to initialize executor");
  CHECK_FALSE(peel_prefix("[11/02/2025-08:12:40] waiting for [RANK 3] to come").rank);
}

TEST_CASE("time stamps of loggers are removed", "[lines]") {
  struct Stamped {
    const char* line;
    double seconds;
  };
  for (const Stamped& s :
       {Stamped{"[2024-10-01 01:17:14,500] said", 1727745434.5}, Stamped{"2024-05-28 07:02:44: said", 1716879764},
        Stamped{"07:02:44 said", 25364}, Stamped{"ERROR 11-10 07:02:44 said", 25364},
        Stamped{"E0706 07:02:44.5 1401 file.py:424] said", 25364.5}}) {
    CAPTURE(s.line);
    const LinePrefix prefix = peel_prefix(s.line);
    REQUIRE(prefix.time);
    CHECK(*prefix.time == Approx(s.seconds).epsilon(1e-13));
    CHECK(std::string_view(s.line).substr(prefix.length) == "said");
  }
}

TEST_CASE("a time is read with its date", "[lines]") {
  const auto full = read_time("2024-05-28 07:02:44.349 rest");
  REQUIRE(full);
  CHECK(full->has_date);
  CHECK(full->seconds == Approx(1716879764.349).epsilon(1e-13));
  CHECK(full->length == 23);
  CHECK(read_time("2024/05/28 07:02:44")->seconds == 1716879764);
  CHECK(read_time("2024-05-28T07:02:44Z")->length == 20);
  CHECK(read_time("1970-01-01 00:00:01")->seconds == 1);
  CHECK(read_time("1767000311.5 -- rest")->seconds == 1767000311.5);
  CHECK(read_time("1767000311.5 -- rest")->length == 12);
  CHECK_FALSE(read_time("1767000311 rest"));
  CHECK_FALSE(read_time("1767000311.5,70"));
  CHECK(read_time("3/7/2025, 1:05:00 PM - rest")->seconds == 1741352700);
  CHECK(read_time("3/7/2025, 1:05:00 PM - rest")->length == 20);
  CHECK(read_time("17/03/2025, 12:05:09 AM")->seconds == 1742169909);
  CHECK_FALSE(read_time("3/7/2025, 13:05:00 PM"));
  for (const std::string_view named :
       {"28-May-2024 07:02:44 rest", "28/May/2024:07:02:44 +0000", "28 May 2024 07:02:44"})
    CHECK(read_time(named)->seconds == 1716879764);
  CHECK_FALSE(read_time("31-Feb-2024 07:02:44"));
  CHECK_FALSE(read_time("28-Mai-2024 07:02:44"));
  const auto bare = read_time("07:02:44,5");
  REQUIRE(bare);
  CHECK_FALSE(bare->has_date);
  CHECK(bare->seconds == Approx(25364.5));
}

TEST_CASE("text that is not a time is not read as one", "[lines]") {
  for (const char* text :
       {"", "7:02:44", "07:02", "24:00:00", "07:60:00", "07-02-44", "2024-13-01 07:02:44", "2024-02-30 07:02:44",
        "2024-05-28", "2024-05-28 noon", "1200x1600", "2024-05/28 07:02:44"}) {
    CAPTURE(text);
    CHECK_FALSE(read_time(text));
  }
  CHECK(read_time("2024-02-29 00:00:00"));
}

TEST_CASE("the tags of a line are read by the form of another", "[lines]") {
  const auto time_by = [](const std::string& known, const std::string& line) {
    const auto prefix = read_prefix(peel_prefix(known), line);
    return prefix ? prefix->time : std::nullopt;
  };
  for (const std::string tag : {"", "2025-03-01T09:00:00Z "}) {  // with a second time, the last one counts
    CAPTURE(tag);
    const std::string known = tag + "2025-03-01 12:00:00 step 10", line = tag + "2025-03-01 12:00:07 step 11";
    CHECK(peel_prefix(known).again == !tag.empty());
    CHECK(time_by(known, line) == peel_prefix(line).time);
    CHECK(time_by(known, line) == *peel_prefix(known).time + 7);
    CHECK_FALSE(time_by(known, tag + "2025-03-01 31:00:07 step 11"));
  }
}

TEST_CASE("a tag after a progress bar is not part of the bar", "[lines]") {
  CHECK_FALSE(
      peel_prefix(" 12%|#2  | 12/100 [00:10<01:15,  1.16it/s][rank1]: Traceback (most recent call last):").rank);
  CHECK_FALSE(peel_prefix("  3%|    | 3/100 [00:10<05:23,  3.33s/it][rank1]: Traceback (most recent call last):").rank);
  CHECK(peel_prefix("[rank1]:  12%|#2  | 12/100 [00:10<01:15,  1.16it/s]").rank == 1);
  CHECK(peel_prefix("2024-05-28T07:02:44Z stdout F [rank1]: step 4").rank == 1);
}

}  // namespace oomdoctor
