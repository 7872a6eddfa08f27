#include "read/device_export.h"
#include "read/table_inference.h"

#include <string>
#include <vector>

#include "catch.h"

namespace oomdoctor {
namespace {

TEST_CASE("a calendar date is read in the orders of date and nvidia-smi", "[device_export]") {
  const double noon = 1738411207;  // 2025-02-01 12:00:07 UTC
  for (const char* text :
       {"Sat Feb  1 12:00:07 2025       ", "Sat Feb  1 12:00:07 CET 2025", "Sat 1 Feb 12:00:07 UTC 2025",
        "Sat Feb  1 12:00:07 PM CET 2025", "Sat 01 Feb 2025 12:00:07 PM CET",
        "host1  Sat Feb  1 12:00:07 2025  535.104.05", "Timestamp : Sat Feb  1 12:00:07 2025"}) {
    CAPTURE(text);
    CHECK(read_calendar_time(text) == noon);
  }
  CHECK(read_calendar_time("Sat Feb  1 12:00:07 AM CET 2025") == noon - 43200);
  CHECK(read_calendar_time("Sat Feb  1 01:00:07 PM CET 2025") == noon + 3600);
  CHECK(read_calendar_time("Sat Feb  1 01:00:07 CET 2025 host1 PM") == noon - 39600);  // a date has up to six words
  CHECK_FALSE(read_calendar_time("Sat Feb 30 12:00:07 2025"));
  CHECK_FALSE(read_calendar_time("the Sat run of Feb 1 at 12:00:07 in 2025"));
}

TEST_CASE("a date line contains nothing but a date", "[device_export]") {
  CHECK(parse_date_line("Sat Feb  1 12:00:07 2025"));
  CHECK_FALSE(parse_date_line("Sat Feb  1 12:00:07 2025, 97 %, 6042 MiB, 46068 MiB"));
}

TEST_CASE("a cell without a value is recognized in all its forms", "[device_export]") {
  for (const char* cell : {"", "-", "N/A", "[N/A]", "[Not Supported]", "Not Supported", "[Insufficient Permissions]",
                           "[Not Found]", "[Unknown Error]", "[Requested functionality has been deprecated]"}) {
    CAPTURE(cell);
    CHECK(is_absent(cell));
  }
  CHECK_FALSE(is_absent("0 MiB"));
  CHECK_FALSE(is_absent("NVIDIA A40"));
}

TEST_CASE("comma-separated cells lose blanks, quotes and NUL bytes", "[device_export]") {
  const std::string line = std::string("\0\0", 2) + "0, \"NVIDIA A40\" , 1812 MiB\r";
  CHECK(split_at_commas(line) == std::vector<std::string_view>{"0", "NVIDIA A40", "1812 MiB"});
}

TEST_CASE("units, sizes and names identify columns without a header", "[device_export]") {
  using Lines = std::vector<std::string>;
  const auto two = infer_columns(Lines{"0, 6042 MiB, 46068 MiB", "1, 4 MiB, 46068 MiB", "0, 9114 MiB, 46068 MiB"});
  REQUIRE(two);
  CHECK(two->index == 0);
  CHECK(two->used == 1);
  CHECK(two->total == 2);
  const auto mixed = infer_columns(Lines{"0, 6042 MiB, 46068 MiB", "1, 4 MiB, 24564 MiB"});  // GPUs of two sizes
  REQUIRE(mixed);
  CHECK(mixed->used == 1);
  CHECK(mixed->total == 2);
  const auto three = infer_columns(Lines{"2025/02/01 12:00:00.104, NVIDIA A40, 98, 46068, 43646, 2112"});
  REQUIRE(three);
  CHECK(three->time == 0);
  CHECK(three->total == 3);
  CHECK(three->free == 4);
  CHECK(three->used == 5);
  // Without units: a constant column that is a GPU's total, and one other that can be sizes.
  const auto plain =
      infer_columns(Lines{"NVIDIA A100-SXM4-80GB, 97, 8120, 81559", "NVIDIA A100-SXM4-80GB, 41, 9330, 81559"});
  REQUIRE(plain);
  CHECK(plain->used == 2);
  CHECK(plain->total == 3);
  CHECK_FALSE(plain->free);
  CHECK_FALSE(infer_columns(Lines{"NVIDIA A40, 812, 933, 46068", "NVIDIA A40, 933, 812, 46068"}));  // two others
  CHECK_FALSE(infer_columns(Lines{"NVIDIA A40, 812, 1500", "NVIDIA A40, 933, 1500"}));  // no GPU has this total
  // Used and free mirror each other: no column is identifiable.
  CHECK_FALSE(infer_columns(
      Lines{"2025/02/01 12:00:00.104, 6042 MiB, 39700 MiB", "2025/02/01 12:00:05.104, 9042 MiB, 36700 MiB"}));
  CHECK_FALSE(infer_columns(Lines{"loss, accuracy", "0.51, 0.84", "0.47, 0.86"}));
  CHECK_FALSE(infer_columns(Lines{"1, 2, 3", "4, 5, 6", "7, 8, 9"}));
}

}  // namespace
}  // namespace oomdoctor
