#include "read/sizes.h"

#include "catch.h"

namespace oomdoctor {

TEST_CASE("a size at the front of a text", "[sizes]") {
  std::size_t length = 0;
  CHECK(read_size("346.00MiBfree", &length)->count == 346 * MiB);
  CHECK(length == 9);
  CHECK(read_size("1024bytes.", &length) == Bytes{1024, 0});
  CHECK(length == 9);
  CHECK(read_size("512", &length) == Bytes{512, 0});
  CHECK(length == 3);
  CHECK(read_size("1.5GiB")->count == GiB + GiB / 2);
  CHECK(read_size("2G")->count == 2 * GiB);
  CHECK(read_size("64Ki")->count == 64 * KiB);
  CHECK(read_size("12.5GB", nullptr, Radix::decimal)->count == 12'500'000'000);
  CHECK(read_size("1,024MiB")->count == GiB);
  CHECK_FALSE(read_size(""));
  CHECK_FALSE(read_size("GiB"));
  CHECK_FALSE(read_size(".,"));
}

TEST_CASE("three digits and the point", "[sizes]") {
  std::size_t length = 0;
  CHECK(read_size("273.GiB", &length)->count == 273 * GiB);
  CHECK(length == 7);
  CHECK(read_size("273.", &length)->count == 273);
  CHECK(length == 3);  // the point ends the sentence
  CHECK(size_after("Unabletoallocate273.GiBforanarray", "allocate")->count == 273 * GiB);
}

TEST_CASE("a driver's word for an unknown size is no size", "[sizes]") {
  CHECK_FALSE(read_size("17179869184.00GiB"));  // 2^64 bytes
  CHECK_FALSE(size_after("thisprocesshas17179869184.00GiBmemoryinuse", "thisprocesshas"));
  CHECK_FALSE(size_before("17179869184.00GiBmemoryinuse", "memoryinuse"));
}

TEST_CASE("a requested size beyond every machine is recorded, never truncated", "[sizes]") {
  const auto asked = [](std::string_view text) {
    Oom oom;
    read_request(text, oom);
    return oom;
  };
  CHECK(asked("4294967296").request == Bytes{4 * GiB, 0});
  CHECK_FALSE(asked("4294967296").beyond_exabyte);
  CHECK(asked("4611686018427387912").request == Bytes{4611686018427387912, 0});
  CHECK(asked("4611686018427387912").beyond_exabyte);
  CHECK_FALSE(asked("18446744073709551615").request);  // 64 bits, where sizes have 63
  CHECK(asked("18446744073709551615").beyond_exabyte);
  CHECK(asked("17592186044415.99MiB").beyond_exabyte);
  CHECK_FALSE(asked("").beyond_exabyte);
}

TEST_CASE("units up to the largest that a program prints", "[sizes]") {
  CHECK(read_size("7.28PiB")->count == read_bytes("7.28", "PiB")->count);
  CHECK(read_size("1.00EiB")->count == GiB * GiB);
}

TEST_CASE("sizes next to their labels", "[sizes]") {
  const std::string_view text =
      "Triedtoallocate2.00GiB.GPU0hasatotalcapacityof39.39GiBofwhich1.12GiBisfree.36.50GiBisallocatedbyPyTorch,and"
      "512.00MiBisreserved";
  CHECK(size_after(text, "allocate")->count == 2 * GiB);
  CHECK(size_after(text, "capacityof") == read_bytes("39.39", "GiB"));
  CHECK(size_before(text, "isfree") == read_bytes("1.12", "GiB"));
  CHECK(size_before(text, "isallocatedbyPyTorch") ==
        read_bytes("36.50", "GiB"));  // the full stop before is not a digit
  CHECK(size_before(text, "isreserved")->count == 512 * MiB);
  CHECK_FALSE(size_after(text, "absent"));
  CHECK_FALSE(size_before(text, "absent"));
  CHECK_FALSE(size_after("thelabel", "label"));
  CHECK_FALSE(size_before("labelfirst", "label"));
}

TEST_CASE("a label without a size before it is skipped", "[sizes]") {
  CHECK(size_before("notfree,butlater3.00MiBfree", "free")->count == 3 * MiB);
  CHECK_FALSE(size_before("7GiBofmemoryisfree", "free"));
}

}  // namespace oomdoctor
