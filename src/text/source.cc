#include "text/source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/descriptor.h"
#include "base/edit_distance.h"
#include "base/error.h"
#include "text/archive.h"
#include "text/json_player.h"
#include "text/record_player.h"
#include "text/screen.h"
#include "text/sparse_file.h"

namespace oomdoctor {
namespace {

std::string folder_of_texts;  ///< "" on a host that unpacks nothing

/// At most this much decides about the kind of input; `watch` shows its first screen at once.
constexpr std::size_t head_size = 4096;
constexpr int pipe_size = 1 << 20;  ///< the maximum for unprivileged users of Linux; by default a pipe holds 64 KiB

/// Converts UTF-16 code units to UTF-8. Keeps half a unit or a first surrogate for the next call.
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

/// Suggests a similar name from the folder of a missing file.
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

/// Opens a file for reading. Throws FileError.
int open_file(const std::string& path) {
  const int file = uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); });
  if (file < 0)
    throw FileError("cannot open '" + path + "'", std::strerror(errno), errno == ENOENT ? missing_file_help(path) : "");
  return file;
}

}  // namespace

bool is_binary(std::string_view first) {
  constexpr std::size_t look = 4096, least = 32;
  static constexpr auto is_odd = [] {
    std::array<bool, 256> odd{};
    std::fill_n(odd.begin(), 0x20, true);
    odd[0x7F] = true;
    for (const char usual : {'\t', '\n', '\r', '\x1B', '\b', '\f', '\a'})
      odd[static_cast<unsigned char>(usual)] = false;
    return odd;
  }();
  first = first.substr(0, look);
  const auto count = [&](std::string_view part) {
    return std::count_if(part.begin(), part.end(), [&](char c) { return is_odd[static_cast<unsigned char>(c)]; });
  };
  auto odd = count(first);
  // A machine that crashed, or a program that reserves room for its header, leaves one hole of zeros in a text.
  constexpr std::size_t least_hole = 512;
  if (const std::size_t hole = first.find(std::string(least_hole, '\0')); hole != first.npos && hole >= least) {
    const std::size_t end = std::min(first.find_first_not_of('\0', hole), first.size());
    odd -= static_cast<std::ptrdiff_t>(end - hole);
    first.remove_suffix(end - hole);
  }
  return first.size() >= least && static_cast<std::size_t>(odd) * 20 > first.size();
}

struct Source::Impl {
  std::string name;
  int fd = -1;
  bool owned = false;
  std::string text;  // of_text
  std::size_t taken = 0;
  Reader reader;                       // of_reader
  std::vector<std::string> continued;  ///< files that are still to be read
  SparseFile sparse;
  i64 bytes = 0, holes = 0;
  std::string failure;      ///< of a read after the first one
  std::optional<i64> size;  ///< size of a file when it was opened, after those before it
  bool begun = false, ended = false, binary = false;
  std::unique_ptr<Archive> archive;
  int text_file = -1;      ///< the text of the archive, where the host has unpacked it
  std::string_view inner;  ///< the packer of the unpacked text, or of an unsupported compression
  bool dropped = false;    ///< the content is not text of one log
  std::string encoding;
  std::unique_ptr<Utf16Decoder> utf16;
  std::unique_ptr<ScreenPlayer> screens;
  std::unique_ptr<JsonPlayer> json;
  std::unique_ptr<RecordPlayer> records;
  std::string head;   ///< the first bytes, kept for peek()
  TextBuffer peeked;  ///< text that peek() has read

  ~Impl() {
    if (owned && fd >= 0) ::close(fd);
    if (text_file >= 0) ::close(text_file);
  }

  /// Hints for the kernel, which may ignore them.
  void prepare(const struct stat& about) {
    if (S_ISREG(about.st_mode)) ::posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL), size = bytes + about.st_size;
    if (S_ISFIFO(about.st_mode)) ::fcntl(fd, F_SETPIPE_SZ, pipe_size);
    sparse = SparseFile(fd);
  }

  /// Goes on with the next file; false if there is none.
  bool open_next() {
    if (continued.empty()) return false;
    const std::string path = std::move(continued.front());
    continued.erase(continued.begin());
    const int next = open_file(path);
    if (owned) ::close(fd);
    fd = next;
    owned = true;
    struct stat about {};
    if (::fstat(fd, &about) == 0) prepare(about);
    return true;
  }

  /// Fills `to`; less only at the end. A terminal or pipe returns what it has, and ends only once.
  std::size_t take(char* to, std::size_t n) {
    std::size_t got = 0;
    while (got < n && !ended) {
      const std::size_t more = take_or_fail(to + got, n - got);
      ended = more == 0;
      got += more;
      bytes += static_cast<i64>(more);
    }
    return got;
  }

  /// What was read before a failure counts.
  std::size_t take_or_fail(char* to, std::size_t n) {
    try {
      return take_some(to, n);
    } catch (const FileError& error) {
      if (bytes == 0) throw;
      failure = error.reason();
      return 0;
    }
  }

  std::size_t take_some(char* to, std::size_t n) {
    if (reader) return reader(to, n);
    if (fd < 0) {
      n = std::min(n, text.size() - taken);
      std::memcpy(to, text.data() + taken, n);
      taken += n;
      return n;
    }
    do {
      const i64 hole = sparse.skip_hole();
      holes += hole, bytes += hole;
      const std::size_t room = bytes_of_piece(sparse.readable(), n);
      const ssize_t got = uninterrupted([&] { return ::read(fd, to, room); });
      if (got < 0) throw FileError("cannot read '" + name + "'", std::strerror(errno));
      if (got > 0) return sparse.advance(got), static_cast<std::size_t>(got);
    } while (open_next());
    return 0;
  }

  std::size_t unpacked(char* to, std::size_t n) {
    if (text_file >= 0) return take_text(to, n);
    return archive ? archive->read(to, n) : take(to, n);
  }

  /// The same bytes as archive->read() of an undamaged archive, from the host's file.
  std::size_t take_text(char* to, std::size_t n) {
    const ssize_t got = uninterrupted([&] { return ::read(text_file, to, n); });
    if (got > 0) return static_cast<std::size_t>(got);
    if (got < 0) failure = std::strerror(errno);
    bytes = size.value_or(bytes);
    return 0;
  }

  /// Detects the kind of input from its first bytes.
  bool begin(TextBuffer& out, std::size_t wanted) {
    begun = true;
    char* const to = out.room(wanted);
    const bool alone = continued.empty();
    std::size_t got = take(to, wanted);
    archive = Archive::begin({to, got}, [this](char* at, std::size_t n) { return take(at, n); });
    if (archive && alone && !folder_of_texts.empty())
      text_file = ::open((folder_of_texts + "/" + name).c_str(), O_RDONLY | O_CLOEXEC);
    if (archive) got = unpacked(to, wanted);
    std::string_view first(to, got);
    head = first.substr(0, head_size);
    inner = find_packer(first);
    if (!inner.empty() && (!archive || has_members(first))) return drop_packed();
    first.remove_prefix(sniff(first));
    binary = !is_converted() && is_binary(first);
    if (is_converted()) {
      convert(first, out);
    } else {
      if (first.data() != to) std::memmove(to, first.data(), first.size());
      out.add(first.size());
    }
    return got > 0;
  }

  /// Drops data of an unsupported packer, and archives, whose members are inputs of their own: it is not text, even if
  /// it contains words.
  bool drop_packed() {
    if (size) bytes = *size;
    ended = dropped = true;
    return false;
  }

  /// The buffer size for the next read. Allocating a megabyte takes longer than reading a short log. One byte more than
  /// the file's size shows whether it has grown.
  std::size_t room_for(std::size_t wanted) const {
    if (!size || archive) return wanted;
    const i64 rest = std::max<i64>(*size - bytes, 0) + (continued.empty() ? 0 : static_cast<i64>(wanted));
    return bytes_of_piece(rest + 1, wanted);
  }

  bool read(TextBuffer& out, std::size_t wanted) {
    wanted = room_for(wanted);
    if (!begun) return begin(out, std::max(wanted, head_size));
    if (dropped) return false;
    if (!is_converted()) {
      const std::size_t got = unpacked(out.room(wanted), wanted);
      out.add(got);
      return got > 0;
    }
    std::string block(wanted, '\0');
    block.resize(unpacked(block.data(), wanted));
    return convert(block, out);
  }

  bool is_converted() const { return utf16 || screens || json || records; }

  /// Appends the text of a piece of the input; of an empty one, what is left at the end. False if there is none.
  bool convert(std::string_view from, TextBuffer& out) const {
    std::string decoded;
    if (utf16)
      utf16->feed(from, decoded);
    else if (json)
      json->feed(from, decoded);
    else if (records)
      from.empty() ? records->finish(decoded) : records->feed(from, decoded);
    else
      from.empty() ? screens->finish(decoded) : screens->feed(from, decoded);
    out.append(decoded);
    return !from.empty() || !decoded.empty();
  }

  /// Detects a byte order mark, zeros in every second byte, a captured screen, or JSON to play. Returns the length of
  /// the mark.
  std::size_t sniff(std::string_view first) {
    const auto begins = [&](std::string_view mark) { return first.substr(0, mark.size()) == mark; };
    using namespace std::string_view_literals;
    std::size_t mark = 0;
    if (begins("\xEF\xBB\xBF"sv))
      encoding = "utf-8-bom", mark = 3;
    else if (begins("\xFF\xFE"sv))
      encoding = "utf-16le", mark = 2;
    else if (begins("\xFE\xFF"sv))
      encoding = "utf-16be", mark = 2;
    else if (first.size() >= 16) {
      std::size_t even = 0, odd = 0;
      const std::size_t look = std::min<std::size_t>(first.size() & ~std::size_t{1}, 64);
      for (std::size_t i = 0; i < look; ++i) (i % 2 == 0 ? even : odd) += first[i] == '\0';
      if (odd == look / 2 && even == 0) encoding = "utf-16le";
      if (even == look / 2 && odd == 0) encoding = "utf-16be";
    }
    if ((records = RecordPlayer::make(name, first.substr(mark, head_size)))) {
      encoding = records->kind();
    } else if (encoding.starts_with("utf-16")) {
      utf16 = std::make_unique<Utf16Decoder>(encoding == "utf-16be");
    } else if (ScreenPlayer::wanted(first.substr(mark, head_size))) {
      screens = std::make_unique<ScreenPlayer>();
      encoding = "screens";
    } else if (const auto kind = JsonPlayer::kind_of(first.substr(mark, head_size)); kind != JsonPlayer::Played::none) {
      json = std::make_unique<JsonPlayer>(kind);
      encoding = kind == JsonPlayer::Played::records ? "json-records" : "prometheus-json";
    }
    return mark;
  }
};

Source::Source(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Source::Source(Source&&) noexcept = default;
Source::~Source() = default;

void set_folder_of_texts(std::string folder) { folder_of_texts = std::move(folder); }

Source Source::open(const std::string& path, std::vector<std::string> continued) {
  auto impl = std::make_unique<Impl>();
  impl->name = path == "-" ? "<stdin>" : path;
  impl->continued = std::move(continued);
  struct stat about {};
  if (path == "-") {
    impl->fd = STDIN_FILENO;
    if (::fstat(impl->fd, &about) == 0) impl->prepare(about);
    return Source(std::move(impl));
  }
  impl->fd = open_file(path);
  impl->owned = true;
  if (::fstat(impl->fd, &about) == 0 && S_ISDIR(about.st_mode))
    throw Error("'" + path + "' is a folder", {}, "name the log files in it, for example " + path + "/*.log");
  impl->prepare(about);
  return Source(std::move(impl));
}

Source Source::of_text(std::string name, std::string text) {
  auto impl = std::make_unique<Impl>();
  impl->name = std::move(name);
  impl->text = std::move(text);
  return Source(std::move(impl));
}

Source Source::of_reader(std::string name, Reader reader) {
  auto impl = std::make_unique<Impl>();
  impl->name = std::move(name);
  impl->reader = std::move(reader);
  return Source(std::move(impl));
}

bool Source::read(TextBuffer& out, std::size_t wanted) {
  if (impl_->peeked.size() == 0) return impl_->read(out, wanted);
  out.append(impl_->peeked.text());
  const std::size_t had = impl_->peeked.size();
  impl_->peeked = {};
  if (wanted > had) impl_->read(out, wanted - had);
  return true;
}

std::string_view Source::peek() {
  if (!impl_->begun) impl_->read(impl_->peeked, head_size);
  return impl_->head;
}

const std::string& Source::name() const { return impl_->name; }
i64 Source::holes() const { return impl_->holes; }
i64 Source::bytes() const { return impl_->bytes; }
const std::string& Source::encoding() const { return impl_->encoding; }
std::string_view Source::compression() const {
  return to_string(impl_->archive ? impl_->archive->packing() : Packing::none);
}
bool Source::truncated() const {
  return !impl_->failure.empty() || (!impl_->dropped && impl_->archive && impl_->archive->truncated());
}
std::string Source::missing_because() const {
  if (!impl_->failure.empty()) return impl_->failure;
  return truncated() ? "the archive " + impl_->archive->damage() : "";
}
std::string Source::unreadable() const {
  if (impl_->dropped) return "packed with " + std::string(impl_->inner);
  if (impl_->begun && impl_->bytes == 0) return "empty";
  return impl_->binary ? "a binary file" : "";
}
std::string Source::damage() const {
  const Impl& in = *impl_;
  if (in.records && !in.records->damage().empty()) return in.name + " " + in.records->damage();
  if (in.archive && !in.archive->damage().empty() && !truncated()) return in.name + " " + in.archive->damage();
  if (in.inner.empty()) return "";
  const std::string inner(in.inner);
  if (in.dropped) return in.name + " is packed with " + inner + ", which is not read here: unpack it first";
  return in.name + " holds an archive of " + inner + ", which is not unpacked";
}

}  // namespace oomdoctor
