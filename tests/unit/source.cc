#include "text/source.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "catch.h"
#include "text_forms.h"

namespace oomdoctor {
namespace {

/// All of a source, the first bytes at once (they tell the encoding), the rest in pieces of `piece`.
std::string all_of(Source& source, std::size_t piece) {
  std::string out;
  bool more = source.read(out, 64);
  while (more) more = source.read(out, piece);
  return out;
}

/// A folder for one test, gone with it.
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

// One, two, three and four bytes of UTF-8; two units of UTF-16 for the last.
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
  std::string out;
  CHECK_FALSE(source.read(out, 10));
  CHECK(out.empty());
}

TEST_CASE("a UTF-8 mark is dropped", "[source]") {
  Source source = Source::of_text("name", "\xEF\xBB\xBF" + sample_utf8);
  CHECK(all_of(source, 7) == sample_utf8);
  CHECK(source.encoding() == "utf-8-bom");
  CHECK(source.bytes() == static_cast<i64>(sample_utf8.size()) + 3);
}

TEST_CASE("UTF-16 becomes UTF-8 wherever reads are cut", "[source]") {
  std::u32string long_text;
  std::string long_utf8;
  for (int i = 0; i < 9; ++i) long_text += sample, long_utf8 += sample_utf8;
  for (const bool big : {false, true}) {
    for (const std::size_t piece :
         {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{5}, std::size_t{4096}}) {
      CAPTURE(big, piece);
      Source source = Source::of_text("name", testing::utf16(long_text, big, true));
      CHECK(all_of(source, piece) == long_utf8);
      CHECK(source.encoding() == (big ? "utf-16be" : "utf-16le"));
    }
  }
}

TEST_CASE("UTF-16 without a mark is known by its zeros", "[source]") {
  for (const bool big : {false, true}) {
    Source source = Source::of_text("name", testing::utf16(U"RuntimeError: CUDA out of memory\n", big, false));
    CHECK(all_of(source, 64) == "RuntimeError: CUDA out of memory\n");
  }
}

TEST_CASE("half a surrogate pair is marked as damage", "[source]") {
  Source source = Source::of_text("name", testing::utf16(std::u32string(U"a") + char32_t{0xDC00} + U"b", false, true));
  CHECK(all_of(source, 64) ==
        "a\xEF\xBF\xBD"
        "b");
}

TEST_CASE("a file reads as its text does", "[source]") {
  const Folder folder;
  const std::string text = std::string(100000, 'x') + "\nend";
  Source source = Source::open(folder.file("train.log", text));
  CHECK(all_of(source, 777) == text);
  CHECK(source.bytes() == static_cast<i64>(text.size()));
}

TEST_CASE("a missing file is named with its neighbour", "[source]") {
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
