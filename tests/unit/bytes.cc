#include "base/bytes.h"

#include <cmath>
#include <limits>

#include "catch.h"

using namespace oomdoctor;

TEST_CASE("unit words are case-insensitive", "[bytes]") {
  CHECK(unit_bytes("GiB") == GiB);
  CHECK(unit_bytes("gb") == GiB);
  CHECK(unit_bytes("G") == GiB);
  CHECK(unit_bytes("Mi") == MiB);
  CHECK(unit_bytes("kB") == KiB);
  CHECK(unit_bytes("MBytes") == MiB);
  CHECK(unit_bytes("gigabytes") == GiB);
  CHECK(unit_bytes("TiB") == TiB);
  CHECK(unit_bytes("bytes") == 1);
  CHECK(unit_bytes("B") == 1);
  CHECK(unit_bytes("GB", Radix::decimal) == 1'000'000'000);
  CHECK(unit_bytes("megabytes", Radix::decimal) == 1'000'000);
  CHECK(unit_bytes("GiB", Radix::decimal) == GiB);
  for (const char* word : {"", "i", "Gbit", "GBps", "steps", "mem", "%"}) {
    INFO(word);
    CHECK_FALSE(unit_bytes(word));
  }
}

TEST_CASE("a printed size has the slack of its last digit", "[bytes]") {
  const auto size = read_bytes("1.26", "GiB");
  REQUIRE(size);
  CHECK(size->count == 1352914698);
  CHECK(size->slack == 5368710);
  CHECK(read_bytes("20.00", "MiB") == Bytes{20 * MiB, 5243});
  CHECK(read_bytes("24", "GiB") == Bytes{24 * GiB, GiB / 2});
  CHECK(read_bytes("536870912", "bytes") == Bytes{536870912, 0});
  CHECK(read_bytes("1,024", "MiB") == Bytes{GiB, MiB / 2});
  CHECK(read_bytes("12,345,678", "B") == Bytes{12345678, 0});
  CHECK(read_bytes("1.5", "GB", Radix::decimal)->count == 1'500'000'000);
}

TEST_CASE("a text that is not a size is refused", "[bytes]") {
  for (const char* number :
       {"", ".", ".5", "1.", "-1", "1e9", "1,5", "1,0240", ",024", "10,24", "1.2.3", " 1", "nan", "1.2,3"}) {
    INFO(number);
    CHECK_FALSE(read_bytes(number, "GiB"));
  }
  CHECK_FALSE(read_bytes("9223372036854775808", "bytes"));
  CHECK(read_bytes("9223372036854775807", "bytes"));
  CHECK_FALSE(read_bytes("8589934592", "GiB"));
  CHECK_FALSE(read_bytes("16", "EiB"));
  CHECK_FALSE(read_bytes("7.9999999999999999", "furlongs"));
}

TEST_CASE("sums and differences add their slack", "[bytes]") {
  CHECK(Bytes{10, 1} + Bytes{5, 2} == Bytes{15, 3});
  CHECK(Bytes{10, 1} - Bytes{5, 2} == Bytes{5, 3});
}

TEST_CASE("sizes have a readable form", "[bytes]") {
  CHECK(bytes_text(i64{0}) == "0 bytes");
  CHECK(bytes_text(i64{1}) == "1 byte");
  CHECK(bytes_text(i64{512}) == "512 bytes");
  CHECK(bytes_text(i64{1023}) == "1023 bytes");
  CHECK(bytes_text(i64{1024}) == "1 KiB");
  CHECK(bytes_text(1.26 * to_double(GiB)) == "1.26 GiB");
  CHECK(bytes_text(std::nan("")) == "0 bytes");
  CHECK(bytes_text(20 * MiB) == "20 MiB");
  CHECK(bytes_text(i64{1352914698}) == "1.26 GiB");
  CHECK(bytes_text(-20 * MiB) == "-20 MiB");
  CHECK(bytes_text(GiB - 1) == "1 GiB");
  CHECK(bytes_text(GiB * 195 / 10) == "19.50 GiB");
  CHECK(bytes_text(GiB * 17 / 100) == "174 MiB");  // no log prints 174.08 MiB
  // Never finer than the last digit of the printed number.
  CHECK(bytes_text(i64{848256041}, 10737418.24) == "0.79 GiB");  // 0.79 GB
  CHECK(bytes_text(512 * MiB, static_cast<double>(MiB)) == "512 MiB");
  CHECK(bytes_text(20114 * MiB, static_cast<double>(MiB)) == "19.64 GiB");
  CHECK(bytes_text(40 * GiB, 1e9) == "40 GiB");
  CHECK(bytes_text(std::numeric_limits<i64>::max()) == "8 EiB");
  CHECK(bytes_text(std::numeric_limits<i64>::min()) == "-8 EiB");
}

TEST_CASE("a computed size has three significant digits", "[bytes]") {
  CHECK(computed_bytes_text(i64{0}) == "0 bytes");
  CHECK(computed_bytes_text(i64{1000}) == "1000 bytes");
  CHECK(computed_bytes_text(48 * MiB) == "48.0 MiB");
  CHECK(computed_bytes_text(-192 * MiB) == "-192 MiB");
  CHECK(computed_bytes_text(15 * GiB + 7 * GiB / 10) == "15.7 GiB");
  CHECK(computed_bytes_text(GiB * 9996 / 1000) == "10.0 GiB");
  CHECK(computed_bytes_text(GiB * 9996 / 100) == "100 GiB");
  CHECK(computed_bytes_text(GiB - 1) == "1 GiB");
  CHECK(computed_bytes_text(14 * GiB + GiB / 2, 0.1 * static_cast<double>(GiB)) == "14.5 GiB");
  CHECK(decimal_bytes_text(20 * MiB) == "20.00 MiB");
  CHECK(computed_bytes_text(1000 * MiB) == "1000 MiB");
  CHECK(computed_bytes_text(std::numeric_limits<i64>::max()) == "8 EiB");
}
