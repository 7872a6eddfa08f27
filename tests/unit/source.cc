#include "text/source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/error.h"
#include "catch.h"
#include "packed.h"
#include "text/digest.h"
#include "text_forms.h"

namespace oomdoctor {
namespace {

/// The whole source: the first bytes at once (they identify the encoding), the rest in pieces of `piece` bytes.
std::string all_of(Source& source, std::size_t piece) {
  TextBuffer out;
  bool more = source.read(out, 64);
  while (more) more = source.read(out, piece);
  return std::string(out.text());
}

/// A folder for one test, deleted at its end.
class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / ("oomdoctor-source-" + std::to_string(::getpid()))) {
    std::filesystem::create_directory(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return (path_ / name).string();
  }
  std::string at(const std::string& name) const { return (path_ / name).string(); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

// One, two, three and four bytes of UTF-8. The last character needs two units of UTF-16.
const std::u32string sample = U"Killed: é € 𝄞 𐍈 end\n";
const std::string sample_utf8 = "Killed: \xC3\xA9 \xE2\x82\xAC \xF0\x9D\x84\x9E \xF0\x90\x8D\x88 end\n";

}  // namespace

TEST_CASE("plain bytes pass unchanged", "[source]") {
  const std::string text = "a\r\nb\0c\xFF\n";
  Source source = Source::of_text("name", text);
  CHECK(all_of(source, 1) == text);
  CHECK(source.bytes() == static_cast<i64>(text.size()));
  CHECK(source.encoding().empty());
  CHECK(source.name() == "name");
  TextBuffer out;
  CHECK_FALSE(source.read(out, 10));
  CHECK(out.text().empty());
}

TEST_CASE("a buffer keeps its text when it grows", "[source]") {
  TextBuffer buffer;
  CHECK(buffer.text().empty());
  buffer.append("abc");
  std::memset(buffer.room(9000), 'x', 9000);
  buffer.add(2);
  CHECK(buffer.text() == "abcxx");
  const std::string kept(5000, 'y');
  buffer.restart(kept);
  CHECK(buffer.text() == kept);
  buffer.append("z");
  CHECK(buffer.text() == kept + "z");
  buffer.room(1 << 20);
  CHECK(buffer.text() == kept + "z");
  buffer.cut(2);
  CHECK(buffer.text() == "yy");
}

TEST_CASE("a UTF-8 byte order mark is dropped", "[source]") {
  Source source = Source::of_text("name", "\xEF\xBB\xBF" + sample_utf8);
  CHECK(all_of(source, 7) == sample_utf8);
  CHECK(source.encoding() == "utf-8-bom");
  CHECK(source.bytes() == static_cast<i64>(sample_utf8.size()) + 3);
}

TEST_CASE("UTF-16 becomes UTF-8 wherever reads are cut", "[source]") {
  std::u32string long_text;
  std::string long_utf8;
  for (int i = 0; i < 300; ++i) long_text += sample, long_utf8 += sample_utf8;
  for (const bool big : {false, true}) {
    for (const std::size_t piece :
         {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{5}, std::size_t{4096}}) {
      CAPTURE(big, piece);
      const std::string raw = testing::utf16(long_text, big, true);
      REQUIRE(raw.size() > 10000);  // the first read takes the bytes that identify the encoding
      Source source = Source::of_text("name", raw);
      CHECK(all_of(source, piece) == long_utf8);
      CHECK(source.encoding() == (big ? "utf-16be" : "utf-16le"));
    }
  }
}

TEST_CASE("zero bytes identify UTF-16 without a byte order mark", "[source]") {
  for (const bool big : {false, true}) {
    Source source = Source::of_text("name", testing::utf16(U"RuntimeError: CUDA out of memory\n", big, false));
    CHECK(all_of(source, 64) == "RuntimeError: CUDA out of memory\n");
  }
}

TEST_CASE("one hole of zeros makes no text a binary file", "[source]") {
  const std::string header(200, 'h'), row = "12:00:01, 8120 MiB\n";
  CHECK_FALSE(is_binary(header + std::string(4000, '\0') + row));
  CHECK(is_binary(header + std::string(100, '\0') + row));  // as between the fields of an archive
  CHECK(is_binary(std::string(600, '\0') + header));
  CHECK(is_binary(header + std::string(600, '\0') + std::string(40, '\x01')));
}

TEST_CASE("half a surrogate pair is marked as damage", "[source]") {
  Source source = Source::of_text("name", testing::utf16(std::u32string(U"a") + char32_t{0xDC00} + U"b", false, true));
  CHECK(all_of(source, 64) ==
        "a\xEF\xBF\xBD"
        "b");
}

TEST_CASE("a file gives the same text as memory does", "[source]") {
  const Folder folder;
  const std::string text = std::string(100000, 'x') + "\nend";
  Source source = Source::open(folder.file("train.log", text));
  CHECK(all_of(source, 777) == text);
  CHECK(source.bytes() == static_cast<i64>(text.size()));
}

TEST_CASE("an archive gives its text, whatever its name", "[source]") {
  const Folder folder;
  std::string text;
  for (int i = 0; i < 60000; ++i) text += "line " + std::to_string(i * 7919) + "\n";
  const std::string gzip = testing::gzipped(text);
  Source named = Source::open(folder.file("train.log", gzip));
  CHECK((all_of(named, 50000) == text));
  CHECK(named.compression() == "gzip");
  CHECK(named.bytes() == static_cast<i64>(gzip.size()));
  CHECK_FALSE(named.truncated());
  CHECK(named.damage().empty());
  Source plain = Source::open(folder.file("train.log.gz", text));
  CHECK((all_of(plain, 50000) == text));
  CHECK(plain.compression().empty());
  Source moved = std::move(named);  // its archive still reads through it
  CHECK(moved.compression() == "gzip");
}

TEST_CASE("what the host has unpacked is read in place of the archive", "[source]") {
  const Folder folder;
  const std::string gzip = testing::gzipped(sample_utf8);
  const std::string archive = folder.file("train.log.gz", gzip);
  std::filesystem::create_directories(folder.at("texts") + folder.path());
  std::ofstream(folder.at("texts") + archive, std::ios::binary) << "by the host\n";  // another text, to see it here
  set_folder_of_texts(folder.at("texts"));
  Source source = Source::open(archive);
  Source joined = Source::open(archive, {folder.file("next", gzip)});
  Source other = Source::open(folder.file("other.log.gz", gzip));
  CHECK(all_of(source, 5) == "by the host\n");
  CHECK(source.compression() == "gzip");
  CHECK(source.bytes() == static_cast<i64>(gzip.size()));
  CHECK_FALSE(source.truncated());
  CHECK(all_of(joined, 5) == sample_utf8 + sample_utf8);
  CHECK(all_of(other, 5) == sample_utf8);
  set_folder_of_texts("");
}

TEST_CASE("packed text is decoded like plain text", "[source]") {
  std::u32string text;
  std::string utf8;
  for (int i = 0; i < 300; ++i) text += sample, utf8 += sample_utf8;
  Source utf16 = Source::of_text("name", testing::zstandard(testing::utf16(text, true, true)));
  CHECK(all_of(utf16, 333) == utf8);
  CHECK(utf16.encoding() == "utf-16be");
  CHECK(utf16.compression() == "zstd");
  Source marked = Source::of_text("name", testing::gzipped("\xEF\xBB\xBF" + utf8));
  CHECK(all_of(marked, 333) == utf8);
  Source inner = Source::of_text("name", testing::gzipped(testing::gzipped(utf8)));
  CHECK(all_of(inner, 333) == testing::gzipped(utf8));
  CHECK(inner.damage() == "name holds an archive of gzip, which is not unpacked");
}

TEST_CASE("an unsupported archive is reported by name", "[source]") {
  using namespace std::string_literals;
  Source old = Source::of_text("a.Z", "\x1F\x9D\x90\0\0\x04 and so on"s);
  CHECK(all_of(old, 100).empty());  // compressed bytes are not text, whatever they look like
  CHECK(old.unreadable() == "packed with compress");
  CHECK(old.damage() == "a.Z is packed with compress, which is not read here: unpack it first");
  CHECK(old.compression().empty());
  CHECK_FALSE(old.truncated());
  Source tar = Source::of_text("-", testing::gzipped(testing::tar_of({{"a.log", "step 1\n"}})));
  CHECK(all_of(tar, 100).empty());  // its headers are not text
  CHECK(tar.unreadable() == "packed with tar");
  Source text = Source::of_text("a.log", "BZh91: no archive\n");
  all_of(text, 100);
  CHECK(text.damage().empty());
}

TEST_CASE("what was read before a failure counts", "[source]") {
  int calls = 0;
  Source source = Source::of_reader("nfs.log", [&](char* to, std::size_t) -> std::size_t {
    if (++calls > 2) throw FileError("cannot read 'nfs.log'", "Stale file handle");
    std::memcpy(to, "line\n", 5);
    return 5;
  });
  CHECK(all_of(source, 5) == "line\nline\n");
  CHECK(source.truncated());
  CHECK(source.missing_because() == "Stale file handle");

  Source nothing = Source::of_reader("nfs.log", [](char*, std::size_t) -> std::size_t {
    throw FileError("cannot read 'nfs.log'", "Stale file handle");
  });
  CHECK_THROWS_WITH(all_of(nothing, 5), "cannot read 'nfs.log': Stale file handle");
}

TEST_CASE("the pieces of a log are one text", "[source]") {
  const Folder folder;
  const std::string first = folder.file("a", "step 1\nste"), second = folder.file("b", "p 2\n");
  Source source = Source::open(first, {second, folder.file("c", "end")});
  CHECK(all_of(source, 3) == "step 1\nstep 2\nend");
  CHECK(source.bytes() == 17);
  CHECK_FALSE(source.truncated());
  Source missing = Source::open(first, {folder.at("gone"), second});
  CHECK(all_of(missing, 3) == "step 1\nste");
  CHECK(missing.missing_because() == "No such file or directory");
}

TEST_CASE("the holes of a file are skipped, and zeros that are stored are not", "[source]") {
  const Folder folder;
  constexpr i64 far = i64{1} << 34;
  const std::string path = folder.file("holes", "begin\n");
  const int file = ::open(path.c_str(), O_WRONLY);
  REQUIRE(file >= 0);
  REQUIRE(::pwrite(file, std::string(70000, '\0').c_str(), 70000, far) == 70000);
  REQUIRE(::pwrite(file, "end\n", 4, far + 70000) == 4);
  REQUIRE(::ftruncate(file, 2 * far) == 0);
  struct stat about {};
  REQUIRE(::fstat(file, &about) == 0);
  ::close(file);
  if (about.st_blocks * 512 > far) return;  // a file system without holes
  Source source = Source::open(path);
  const std::string text = all_of(source, 1 << 20);
  CHECK(text.size() < 1 << 20);  // holes end at blocks of the file system
  CHECK(text.starts_with("begin\n"));
  CHECK(text.find(std::string(70000, '\0') + "end\n") != text.npos);
  CHECK(source.bytes() == 2 * far);
  CHECK(source.holes() == 2 * far - static_cast<i64>(text.size()));
}

TEST_CASE("a digest does not depend on holes", "[source]") {
  const Folder folder;
  const std::string zeros(200000, '\0'), text = "begin\n" + zeros + "middle" + zeros;
  const std::string stored = folder.file("stored", text), sparse = folder.file("sparse", "begin\n");
  const int file = ::open(sparse.c_str(), O_WRONLY);
  REQUIRE(file >= 0);
  REQUIRE(::pwrite(file, "middle", 6, static_cast<off_t>(6 + zeros.size())) == 6);
  REQUIRE(::ftruncate(file, static_cast<off_t>(text.size())) == 0);
  ::close(file);
  CHECK(digest_of_file(sparse) == digest_of_file(stored));
  CHECK(digest_of_file(stored) == digest_of_text(text));
  CHECK(digest_of_text(text) != digest_of_text("begin\n" + zeros + "\0middle" + zeros));
  CHECK(digest_of_text(text) != digest_of_text(text.substr(1)));
  const std::string one = folder.file("a", "one"), two = folder.file("b", "two");
  CHECK(digest_of_file(one, {two}) != digest_of_file(one));
}

TEST_CASE("a damaged archive reports its size and its damage", "[source]") {
  std::string text;
  for (int i = 0; i < 60000; ++i) text += "line " + std::to_string(i * 7919) + "\n";
  std::string packed = testing::gzipped(text);
  for (std::size_t i = packed.size() / 2; i < packed.size() / 2 + 100; ++i) packed[i] = '\xFF';
  Source source = Source::of_text("a.gz", packed);
  const std::string read = all_of(source, 1 << 16);
  CHECK(read.size() > text.size() / 4);
  CHECK(read.size() < text.size());
  CHECK(source.truncated());
  CHECK(source.missing_because().find("the archive is damaged near byte ") == 0);
  CHECK(source.damage().empty());
  CHECK(source.bytes() == static_cast<i64>(packed.size()));
}

TEST_CASE("a pipe is read to its end, whatever the sizes of its writes", "[source]") {
  const Folder folder;
  REQUIRE(::mkfifo(folder.at("pipe").c_str(), 0600) == 0);
  std::thread writer([&] {
    const int fd = ::open(folder.at("pipe").c_str(), O_WRONLY);
    for (int i = 0; i < 2000; ++i)
      if (::write(fd, "0123456789\n", 11) != 11) break;
    ::close(fd);
  });
  Source source = Source::open(folder.at("pipe"));
  TextBuffer out;
  const bool some = source.read(out, 9000);
  const std::size_t first = out.size();
  while (source.read(out, 9000)) continue;
  writer.join();
  CHECK(some);
  CHECK(first == 9000);
  CHECK(out.size() == 22000);
}

TEST_CASE("an error about a missing file names a similar one", "[source]") {
  const Folder folder;
  folder.file("train.log", "");
  try {
    Source::open(folder.at("trian.log"));
    FAIL("opened a file that is not there");
  } catch (const Error& e) {
    CHECK(std::string(e.what()).find("trian.log") != std::string::npos);
    CHECK(e.help().find("did you mean '" + folder.at("train.log") + "'") != std::string::npos);
  }
  try {
    Source::open(folder.at("nothing-like-it"));
    FAIL("opened a file that is not there");
  } catch (const Error& e) {
    CHECK(e.help().empty());
  }
}

TEST_CASE("a folder is no log", "[source]") {
  const Folder folder;
  try {
    Source::open(folder.path());
    FAIL("opened a folder");
  } catch (const Error& e) {
    CHECK(std::string(e.what()).find("is a folder") != std::string::npos);
    CHECK(e.help().find("*.log") != std::string::npos);
  }
}

}  // namespace oomdoctor
