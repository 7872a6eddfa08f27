#include "text/source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "base/edit_distance.h"
#include "base/error.h"
#include "text/screen.h"

namespace oomdoctor {
namespace {

constexpr std::size_t screen_head = 4096;  ///< `watch` shows its first screen at once

/// Turns UTF-16 code units to UTF-8; keeps a half unit or a first surrogate for the next call.
class Utf16Decoder {
 public:
  explicit Utf16Decoder(bool big_endian) : big_endian_(big_endian) {}

  void feed(std::string_view raw, std::string& out) {
    for (const char c : raw) {
      const auto byte = static_cast<unsigned char>(c);
      if (!have_byte_) {
        byte_ = byte;
        have_byte_ = true;
        continue;
      }
      have_byte_ = false;
      unit(big_endian_ ? static_cast<unsigned>(byte_ << 8 | byte) : static_cast<unsigned>(byte << 8 | byte_), out);
    }
  }

 private:
  void unit(unsigned u, std::string& out) {
    if (u >= 0xD800 && u < 0xDC00) {
      high_ = u;
      return;
    }
    if (u >= 0xDC00 && u < 0xE000) {
      append(high_ != 0 ? 0x10000 + ((high_ - 0xD800) << 10) + (u - 0xDC00) : 0xFFFD, out);
    } else {
      append(u, out);
    }
    high_ = 0;
  }

  static void append(unsigned c, std::string& out) {
    const auto put = [&](unsigned b) { out.push_back(static_cast<char>(b)); };
    if (c < 0x80) {
      put(c);
    } else if (c < 0x800) {
      put(0xC0 | c >> 6), put(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
      put(0xE0 | c >> 12), put(0x80 | (c >> 6 & 0x3F)), put(0x80 | (c & 0x3F));
    } else {
      put(0xF0 | c >> 18), put(0x80 | (c >> 12 & 0x3F)), put(0x80 | (c >> 6 & 0x3F)), put(0x80 | (c & 0x3F));
    }
  }

  bool big_endian_;
  bool have_byte_ = false;
  unsigned char byte_ = 0;
  unsigned high_ = 0;
};

std::string missing_file_help(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path p(path);
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(p.has_parent_path() ? p.parent_path() : fs::path("."), ignored)) {
    names.push_back(entry.path().filename().string());
    if (names.size() >= 2000) break;
  }
  const std::string near = did_you_mean(p.filename().string(), names);
  return near.empty() ? "" : "did you mean '" + (p.has_parent_path() ? (p.parent_path() / near).string() : near) + "'?";
}

}  // namespace

struct Source::Impl {
  std::string name;
  int fd = -1;
  bool owned = false;
  std::string text;  // of_text
  std::size_t taken = 0;
  i64 bytes = 0;
  bool started = false;
  std::string encoding;
  std::unique_ptr<Utf16Decoder> utf16;
  std::unique_ptr<ScreenPlayer> screens;

  ~Impl() {
    if (owned && fd >= 0) ::close(fd);
  }

  std::size_t raw(char* to, std::size_t n) {
    if (fd < 0) {
      n = std::min(n, text.size() - taken);
      std::memcpy(to, text.data() + taken, n);
      taken += n;
      return n;
    }
    while (true) {
      const ssize_t got = ::read(fd, to, n);
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno != EINTR) throw Error("cannot read '" + name + "': " + std::strerror(errno));
    }
  }

  /// Looks at the first bytes: a byte order mark, or every second byte zero.
  std::string_view sniff(std::string_view first) {
    const auto begins = [&](std::string_view mark) { return first.substr(0, mark.size()) == mark; };
    if (begins("\xEF\xBB\xBF")) {
      encoding = "utf-8-bom";
      return first.substr(3);
    }
    using namespace std::string_view_literals;
    std::size_t skip = 0;
    if (begins("\xFF\xFE"sv))
      encoding = "utf-16le", skip = 2;
    else if (begins("\xFE\xFF"sv))
      encoding = "utf-16be", skip = 2;
    else if (first.size() >= 16) {
      std::size_t even = 0, odd = 0;
      const std::size_t look = std::min<std::size_t>(first.size() & ~std::size_t{1}, 64);
      for (std::size_t i = 0; i < look; ++i) (i % 2 == 0 ? even : odd) += first[i] == '\0';
      if (odd == look / 2 && even == 0) encoding = "utf-16le";
      if (even == look / 2 && odd == 0) encoding = "utf-16be";
    }
    if (!encoding.empty()) utf16 = std::make_unique<Utf16Decoder>(encoding == "utf-16be");
    return first.substr(skip);
  }
};

Source::Source(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Source::Source(Source&&) noexcept = default;
Source::~Source() = default;

Source Source::open(const std::string& path) {
  auto impl = std::make_unique<Impl>();
  impl->name = path == "-" ? "<stdin>" : path;
  if (path == "-") {
    impl->fd = STDIN_FILENO;
    return Source(std::move(impl));
  }
  impl->fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  impl->owned = true;
  if (impl->fd < 0)
    throw Error("cannot open '" + path + "': " + std::strerror(errno), {},
                errno == ENOENT ? missing_file_help(path) : "");
  struct stat about {};
  if (::fstat(impl->fd, &about) == 0 && S_ISDIR(about.st_mode))
    throw Error("'" + path + "' is a folder", {}, "name the log files in it, for example " + path + "/*.log");
  return Source(std::move(impl));
}

Source Source::of_text(std::string name, std::string text) {
  auto impl = std::make_unique<Impl>();
  impl->name = std::move(name);
  impl->text = std::move(text);
  return Source(std::move(impl));
}

bool Source::read(std::string& out, std::size_t wanted) {
  std::string block(wanted, '\0');
  std::size_t got = impl_->raw(block.data(), wanted);
  while (!impl_->started && got > 0 && got < 64) {  // enough to know the encoding, also from a slow pipe
    const std::size_t more = impl_->raw(block.data() + got, wanted - got);
    if (more == 0) break;
    got += more;
  }
  if (got == 0) {
    const std::size_t before = out.size();
    if (impl_->screens) impl_->screens->finish(out);
    return out.size() > before;
  }
  impl_->bytes += static_cast<i64>(got);
  std::string_view view(block.data(), got);
  if (!impl_->started) {
    view = impl_->sniff(view);
    if (!impl_->utf16 && ScreenPlayer::wanted(view.substr(0, screen_head))) {
      impl_->screens = std::make_unique<ScreenPlayer>();
      impl_->encoding = "screens";
    }
  }
  impl_->started = true;
  if (impl_->screens)
    impl_->screens->feed(view, out);
  else if (impl_->utf16)
    impl_->utf16->feed(view, out);
  else
    out.append(view);
  return true;
}

const std::string& Source::name() const { return impl_->name; }
i64 Source::bytes() const { return impl_->bytes; }
const std::string& Source::encoding() const { return impl_->encoding; }

}  // namespace oomdoctor
