#include "text/archive.h"

#include <isa-l/crc.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "catch.h"
#include "packed.h"
#include "scans.h"

namespace oomdoctor {
namespace {

using namespace std::string_literals;
using testing::gzipped;
using testing::zstandard;

using Pack = std::string (*)(std::string_view);
constexpr Pack packs[] = {gzipped, zstandard, testing::xz, testing::bzip2, testing::lz4};

/// Lines that repeat as much as a log does, and not more.
std::string log_of(int lines) {
  std::mt19937 random(7);
  std::string text;
  for (int i = 0; i < lines; ++i) {
    text += "step " + std::to_string(i) + " | loss " + std::to_string(random() % 10000) + " | allocated " +
            std::to_string(random() % 97) + "." + std::to_string(random() % 100) + " GiB\n";
  }
  return text;
}

struct Read {
  bool archive = false;
  std::string text;
  bool truncated = false;
  std::string damage;
  std::size_t taken = 0;
};

/// The whole text: input in pieces of `piece` bytes, output in pieces of `block` bytes.
Read read_all(const std::string& packed, std::size_t piece = 1 << 20, std::size_t block = 1 << 16,
              UnpackingLimits limits = {}) {
  Read all;
  const auto take = [&](char* to, std::size_t n) {
    n = std::min({n, piece, packed.size() - all.taken});
    std::memcpy(to, packed.data() + all.taken, n);
    all.taken += n;
    return n;
  };
  const std::string first = packed.substr(0, magic_size);
  all.taken = first.size();
  const auto archive = Archive::begin(first, take, limits);
  if (!archive) return all;
  all.archive = true;
  std::string to(block, '\0');
  while (const std::size_t made = archive->read(to.data(), block)) all.text.append(to, 0, made);
  REQUIRE(archive->read(to.data(), block) == 0);
  all.truncated = archive->truncated();
  all.damage = archive->damage();
  return all;
}

void check_whole(const Read& read, const std::string& text) {
  CHECK(read.text.size() == text.size());
  CHECK((read.text == text));  // in brackets, so that a failure does not print both
  CHECK_FALSE(read.truncated);
  CHECK(read.damage.empty());
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

}  // namespace

TEST_CASE("an archive gives its text, whatever the sizes of the pieces", "[archive]") {
  const std::string text = log_of(5000);
  for (const Pack pack : packs) {
    const std::string packed = pack(text);
    REQUIRE(packed.size() < text.size() / 2);
    for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, std::size_t{1000}, std::size_t{1} << 20})
      for (const std::size_t block : {std::size_t{1}, std::size_t{100}, std::size_t{70000}, std::size_t{1} << 20}) {
        if (piece < 1000 && block < 1000) continue;  // adds nothing, and is slow under sanitizers
        CAPTURE(packed.size(), piece, block);
        check_whole(read_all(packed, piece, block), text);
      }
  }
}

TEST_CASE("the first bytes identify an archive", "[archive]") {
  CHECK(find_packing(gzipped("x")) == Packing::gzip);
  CHECK(find_packing(zstandard("x")) == Packing::zstd);
  CHECK(find_packing("\x5A\x2A\x4D\x18\x04") == Packing::zstd);
  CHECK(find_packing(testing::xz("x")) == Packing::xz);
  CHECK(find_packing(testing::bzip2("x")) == Packing::bzip2);
  CHECK(find_packing(testing::bzip2("")) == Packing::bzip2);
  CHECK(find_packing(testing::lz4("x")) == Packing::lz4);
  CHECK(find_packing("BZh9 is not what a log begins with\n") == Packing::none);
  CHECK(find_packing("") == Packing::none);
  CHECK(find_packing("\x1F\x8B") == Packing::none);
  CHECK(find_packing("step 1 loss 2\n") == Packing::none);
  CHECK_FALSE(read_all("train.log.gz\n").archive);
}

TEST_CASE("consecutive streams are one text", "[archive]") {
  const std::string one = log_of(100), two = log_of(3000);
  for (const Pack pack : packs)
    for (const std::size_t piece : {std::size_t{1}, std::size_t{777}, std::size_t{1} << 20}) {
      CAPTURE(piece);
      check_whole(read_all(pack(one) + pack("") + pack(two) + pack("end"), piece), one + two + "end");
    }
  std::string many, text;  // as bgzip and pigz -i write them
  for (int i = 0; i < 300; ++i) many += gzipped(one), text += one;
  check_whole(read_all(many, 1000, 5000), text);
}

TEST_CASE("frames without text are skipped", "[archive]") {
  const std::string skipped = "\x50\x2A\x4D\x18\x03\x00\x00\x00xyz"s;
  for (const std::size_t piece : {std::size_t{1}, std::size_t{1} << 20})
    check_whole(read_all(skipped + zstandard("a") + skipped + zstandard("b"), piece), "ab");
}

TEST_CASE("a gzip header with every field may arrive in pieces", "[archive]") {
  const std::string plain = gzipped(log_of(50));
  std::string header = plain.substr(0, 10);
  header[3] = 0x1E;  // a header checksum, extra bytes, name, comment
  header += "\x03\x00"s + "abc" + "train.log\0"s + "no comment\0"s;
  const unsigned crc = crc32_gzip_refl(0, reinterpret_cast<const unsigned char*>(header.data()), header.size());
  header += {static_cast<char>(crc & 0xFF), static_cast<char>(crc >> 8 & 0xFF)};
  for (const std::size_t piece : {std::size_t{1}, std::size_t{2}, std::size_t{7}, std::size_t{1} << 20}) {
    CAPTURE(piece);
    check_whole(read_all(header + plain.substr(10), piece), log_of(50));
  }
}

TEST_CASE("bytes after an archive are reported and not read", "[archive]") {
  for (const Pack pack : packs) {
    const Read padded = read_all(pack("text\n") + std::string(700000, '\0'));
    CHECK(padded.text == "text\n");
    CHECK(padded.damage == "is followed by 700000 zero bytes of padding");
    CHECK_FALSE(padded.truncated);
    const Read more = read_all(pack("text\n") + "step 2 loss 1\n", 3);
    CHECK(more.text == "text\n");
    CHECK(holds(more.damage, "is followed by 14 bytes that are no "));
    CHECK_FALSE(more.truncated);
  }
}

TEST_CASE("a truncated archive is read up to its end", "[archive]") {
  const std::string text = log_of(60);
  for (const Pack pack : packs) {
    const std::string two = pack(text) + pack(text);
    std::size_t before = 0;
    for (std::size_t cut = magic_size; cut < two.size(); ++cut) {
      CAPTURE(cut);
      const Read read = read_all(two.substr(0, cut), cut % 3 == 0 ? 1 : 1 << 20);
      const bool between = cut == two.size() / 2;  // a whole archive ends here
      REQUIRE(read.archive);
      REQUIRE(read.truncated == !between);
      REQUIRE(holds(read.damage, "ends early, after byte " + std::to_string(cut)) == !between);
      REQUIRE((text + text).compare(0, read.text.size(), read.text) == 0);
      REQUIRE(read.text.size() >= before);
      before = read.text.size();
    }
    CHECK(before == 2 * text.size());  // only the last checksum was missing
  }
}

TEST_CASE("damage ends the text and never goes unnoticed", "[archive]") {
  const std::string text = log_of(400);
  std::mt19937 random(11);
  for (const Pack pack : packs) {
    const std::string whole = pack(text);
    int damaged = 0;
    for (int i = 0; i < 1500; ++i) {
      std::string packed = whole + whole;
      for (auto flips = 1 + random() % 3; flips > 0; --flips) {
        const std::size_t at = random() % packed.size();
        packed[at] = static_cast<char>(packed[at] ^ 1 << random() % 8);
      }
      CAPTURE(i);
      const Read read = read_all(packed, 1 + random() % (i % 2 == 0 ? 50 : 4000), 1 + random() % 9000);
      if (!read.archive) continue;
      REQUIRE(read.taken == packed.size());
      if (read.damage.empty()) REQUIRE((read.text == text + text));  // a name or a time in a header
      damaged += read.truncated ? 1 : 0;
    }
    CHECK(damaged > 1000);
  }
}

TEST_CASE("the position of damage is reported", "[archive]") {
  const std::string text = log_of(2000);
  std::string packed = gzipped(text);
  packed[packed.size() - 6] ^= 1;  // in the checksum
  const Read read = read_all(packed);
  CHECK((read.text == text));
  CHECK(read.truncated);
  CHECK(read.damage == "is damaged near byte " + std::to_string(packed.size()) +
                           " of its gzip data (its checksum does not hold); the " + std::to_string(text.size()) +
                           " bytes of text before that were read");
}

TEST_CASE("oomdoctor stops reading a few bytes that unpack without end", "[archive]") {
  const std::string zeros(4 << 20, '\0'), text = log_of(4000);
  for (const Pack pack : packs) {
    const std::string packed = pack(zeros);
    const Read bomb = read_all(packed, 1 << 20, 1 << 16, {.text = 1 << 20, .ratio = 100});
    CHECK(bomb.truncated);
    CHECK(bomb.text.size() > 1 << 20);
    CHECK(bomb.text.size() < (1 << 20) + (1 << 17));
    CHECK(bomb.taken == packed.size());
    CHECK(holds(bomb.damage, "was not read to its end: the "));
    // One limit alone does not end the reading.
    check_whole(read_all(packed, 1 << 20, 1 << 16, {.text = 8 << 20, .ratio = 100}), zeros);
    check_whole(read_all(pack(text), 1 << 20, 1 << 16, {.text = 1 << 10, .ratio = 100}), text);
    check_whole(read_all(packed), zeros);
  }
}

TEST_CASE("scanning an archive gives the same result as scanning its text", "[archive]") {
  std::string text;
  for (int i = 0; i < 40000; ++i) text += "step " + std::to_string(i) + " | allocated 20.5 GiB\n";
  text += testing::torch_message() + "\n";
  REQUIRE(text.size() > 1 << 20);  // more than one block
  const ScanResult plain = testing::scan_text(text);
  REQUIRE(plain.incidents.size() == 1);
  for (const Pack pack : packs) {
    const std::string packed = pack(text);
    const ScanResult scan = testing::scan_text(packed);
    CHECK(testing::words_of(scan) == testing::words_of(plain));
    CHECK(scan.inputs[0].lines == plain.inputs[0].lines);
    CHECK(scan.inputs[0].bytes == static_cast<i64>(packed.size()));
    CHECK(scan.inputs[0].compression == to_string(find_packing(packed)));
    CHECK_FALSE(scan.inputs[0].truncated);
    const ScanResult cut = testing::scan_text(packed.substr(0, packed.size() / 2));
    CHECK(cut.inputs[0].truncated);
    CHECK(cut.notes.empty());
    REQUIRE(cut.lost.size() == 1);
    CHECK(cut.lost[0].what == "the rest of the log");
    CHECK(cut.lost[0].path == "test.log");
    CHECK(holds(cut.lost[0].why, "the archive ends early, after byte " + std::to_string(packed.size() / 2)));
  }
}

}  // namespace oomdoctor
