#include "evidence/snapshot_page.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"
#include "evidence/snapshot_problem.h"

namespace oomdoctor {
namespace {

using enum SnapshotProblemKind;

constexpr std::string_view files_name = "local_files", content_name = "\"base64\"";

/// Decodes what is between the quotes, four characters at a time.
class Base64Reader {
 public:
  explicit Base64Reader(ByteStream& page) : page_(page) {
    for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = bad;
    constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (std::size_t i = 0; i < digits.size(); ++i)
      values_[static_cast<unsigned char>(digits[i])] = static_cast<unsigned char>(i);
  }

  bool read(TextBuffer& out, std::size_t wanted) {
    if (!begun_) skip_to_content();
    std::size_t made = 0;
    while (!ended_ && made < wanted) {
      if (!page_.ensure(1)) throw SnapshotProblem{snapshot_cut, "the page is cut: it ends within its base64"};
      const std::string_view some = page_.available().substr(0, wanted - made);
      made += decode(some, out);
    }
    return made > 0;
  }

 private:
  static constexpr unsigned char bad = 0xff;

  void skip_to_content() {
    begun_ = true;
    while (page_.ensure(content_name.size())) {
      const std::string_view some = page_.available();
      const auto at = some.find(content_name);
      if (at == some.npos) {
        page_.skip(some.size() - content_name.size() + 1);
        continue;
      }
      page_.skip(at + content_name.size());
      while (page_.ensure(1) && (is_space(*page_.data()) || *page_.data() == ':')) page_.skip(1);
      if (page_.ensure(1) && *page_.data() == '"') return page_.skip(1);
      break;
    }
    throw SnapshotProblem{snapshot_malformed, "the page has no base64 text of a snapshot"};
  }

  std::size_t decode(std::string_view some, TextBuffer& out) {
    char* const to = out.room(some.size());
    std::size_t made = 0, used = 0;
    for (const char c : some) {
      ++used;
      if (c == '"') {
        ended_ = true;
        break;
      }
      if (c == '=') continue;
      const unsigned char value = values_[static_cast<unsigned char>(c)];
      if (value == bad)
        throw SnapshotProblem{snapshot_malformed, "the page's base64 has a character that is none of it"};
      bits_ = bits_ << 6 | value;
      count_ += 6;
      if (count_ < 8) continue;
      count_ -= 8;
      to[made++] = static_cast<char>(bits_ >> count_);
    }
    out.add(made);
    page_.skip(used);
    return made;
  }

  ByteStream& page_;
  std::array<unsigned char, 256> values_{};
  unsigned bits_ = 0, count_ = 0;
  bool begun_ = false, ended_ = false;
};

}  // namespace

ByteStream open_snapshot_page(ByteStream& page) {
  return ByteStream(
      [reader = Base64Reader(page)](TextBuffer& out, std::size_t wanted) mutable { return reader.read(out, wanted); });
}

bool begins_snapshot_page(std::string_view first) {
  const auto begin = std::find_if_not(first.begin(), first.end(), is_space);
  return begin != first.end() && *begin == '<' && first.find(files_name) != first.npos &&
         first.find(content_name) != first.npos;
}

}  // namespace oomdoctor
