#include "text/members.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <locale.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "base/error.h"
#include "text/archive.h"

namespace oomdoctor {
namespace {

constexpr std::size_t feed_size = std::size_t{1} << 16;  ///< bytes that libarchive gets at a time
constexpr std::size_t first_size = 4096;  ///< of a member; as many bytes show what a file without a known name is

constexpr std::string_view without_end = "the archive unpacks to more than logs pack";

/// The names of members in UTF-8, whatever the locale of the program: libarchive converts them to that of the thread.
class Utf8Locale {
 public:
  Utf8Locale() {
    static const locale_t utf8 = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    if (utf8 != nullptr) before_ = ::uselocale(utf8);
  }
  Utf8Locale(const Utf8Locale&) = delete;
  ~Utf8Locale() {
    if (before_ != nullptr) ::uselocale(before_);
  }

 private:
  locale_t before_ = nullptr;
};

/// A name as a path below the archive. What would lead out of a folder means nothing here, and misleads a reader.
std::string inert_name(std::string_view printed, std::size_t index) {
  std::string name;
  while (!printed.empty()) {
    const std::string_view part = printed.substr(0, printed.find('/'));
    printed.remove_prefix(std::min(part.size() + 1, printed.size()));
    if (part.empty() || part == "." || part == "..") continue;
    name.append(name.empty() ? "" : "/").append(part);
  }
  return name.empty() ? "member " + std::to_string(index) : name;
}

/// A file, and what unpacks it if it is compressed as a whole.
class ArchiveFile {
 public:
  explicit ArchiveFile(const std::string& path)
      : path_(path), file_(uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); })) {
    struct stat status {};
    if (!file_.is_open() || ::fstat(file_.number(), &status) != 0)
      throw FileError("cannot open '" + path + "'", std::strerror(errno));
    if (!S_ISREG(status.st_mode)) throw FileError("cannot read '" + path + "'", "no regular file");
    size_ = status.st_size;
    std::string first(magic_size, '\0');
    first.resize(take(first.data(), first.size()));
    unpacker_ = Archive::begin(first, [this](char* to, std::size_t n) { return take(to, n); });
    if (!unpacker_) ::lseek(file_.number(), 0, SEEK_SET);
  }
  ArchiveFile(const ArchiveFile&) = delete;

  bool compressed() const { return unpacker_ != nullptr; }
  int descriptor() const { return file_.number(); }
  i64 size() const { return size_; }

  /// The unpacked bytes; less only at the end.
  std::size_t read(char* to, std::size_t n) { return unpacker_ ? unpacker_->read(to, n) : take(to, n); }
  /// Why its bytes end early; "" if they do not.
  std::string damage() const { return unpacker_ && unpacker_->truncated() ? "the archive " + unpacker_->damage() : ""; }

 private:
  std::size_t take(char* to, std::size_t n) {
    std::size_t got = 0;
    while (got < n) {
      const ssize_t more = uninterrupted([&] { return ::read(file_.number(), to + got, n - got); });
      if (more < 0) throw FileError("cannot read '" + path_ + "'", std::strerror(errno));
      if (more == 0) break;
      got += static_cast<std::size_t>(more);
    }
    return got;
  }

  std::string path_;
  Descriptor file_;
  i64 size_ = 0;
  std::unique_ptr<Archive> unpacker_;
};

/// Walks through an archive: next(), then read() the member until it returns 0, or go on.
class MemberReader {
 public:
  explicit MemberReader(const std::string& path);
  MemberReader(const MemberReader&) = delete;

  /// Goes to the next entry; false at the end. Throws FileError.
  bool next();
  /// Of the entry that next() will go to.
  std::size_t next_index() const { return next_; }
  const std::string& path() const { return path_; }
  bool is_file() const;
  Member member() const;
  /// Fills `to`; less only at the end of the member, or where it cannot be read further: the next call then throws
  /// FileError. Holes are left out, as Source does.
  std::size_t read(char* to, std::size_t n);

 private:
  struct Free {
    void operator()(struct archive* opened) const { archive_read_free(opened); }
  };
  static la_ssize_t feed(struct archive* opened, void* self, const void** bytes);
  bool refill();
  bool skips_by_seeking() const {
    return (archive_format(opened_.get()) & ARCHIVE_FORMAT_BASE_MASK) != ARCHIVE_FORMAT_7ZIP;
  }
  std::string why() const;
  [[noreturn]] void fail(std::string reason) const {
    throw FileError("cannot read '" + path_ + "'", std::move(reason));
  }

  std::string path_;
  ArchiveFile file_;
  std::vector<char> block_;  ///< unpacked bytes on their way to libarchive
  std::string failure_;      ///< of reading the file
  std::unique_ptr<struct archive, Free> opened_;
  struct archive_entry* entry_ = nullptr;
  std::size_t next_ = 0;
  std::string_view rest_;  ///< of the member, already unpacked
  bool ended_ = true;      ///< the member has no more bytes
  std::string lost_;       ///< why it has no more, if that is not its end
  i64 text_ = 0;           ///< bytes of all members so far
};

MemberReader::MemberReader(const std::string& path) : path_(path), file_(path), opened_(archive_read_new()) {
  if (!opened_) throw std::bad_alloc();
  // No filter of libarchive: the decoders of a log unpack a tar as well, with the same limits.
  archive_read_support_format_tar(opened_.get());
  archive_read_support_format_zip(opened_.get());
  archive_read_support_format_7zip(opened_.get());
  int result = 0;
  if (file_.compressed()) {
    block_.resize(feed_size);
    result = archive_read_open2(opened_.get(), this, nullptr, feed, nullptr, nullptr);
  } else {
    result = archive_read_open_fd(opened_.get(), file_.descriptor(), feed_size);
  }
  if (result < ARCHIVE_WARN) fail(why());
}

la_ssize_t MemberReader::feed(struct archive* opened, void* self, const void** bytes) {
  auto& reader = *static_cast<MemberReader*>(self);
  *bytes = reader.block_.data();
  try {
    return static_cast<la_ssize_t>(reader.file_.read(reader.block_.data(), reader.block_.size()));
  } catch (const FileError& error) {  // no exception may pass through libarchive
    reader.failure_ = error.reason();
  } catch (const std::bad_alloc&) {
    reader.failure_ = std::strerror(ENOMEM);
  }
  archive_set_error(opened, EIO, "%s", "the file cannot be read");
  return -1;
}

/// The reason of libarchive's last failure, or the one after it.
std::string MemberReader::why() const {
  if (!failure_.empty()) return failure_;
  if (const std::string damage = file_.damage(); !damage.empty()) return damage;
  const char* const told = archive_error_string(opened_.get());
  return "the archive is damaged" + (told != nullptr ? ": " + std::string(told) : "");
}

bool MemberReader::next() {
  // libarchive would unpack the rest of a solid block without a limit.
  if (!skips_by_seeking())
    while (entry_ != nullptr && !ended_) refill();
  if (lost_ == without_end) fail(lost_);
  rest_ = {};
  lost_.clear();
  const Utf8Locale names;
  const int result = archive_read_next_header(opened_.get(), &entry_);
  if (result == ARCHIVE_EOF) {
    if (!file_.damage().empty()) fail(why());
    return false;
  }
  if (result < ARCHIVE_WARN) fail(why());
  ended_ = false;
  ++next_;
  return true;
}

bool MemberReader::is_file() const {
  return archive_entry_filetype(entry_) == AE_IFREG && archive_entry_hardlink(entry_) == nullptr;
}

Member MemberReader::member() const {
  const Utf8Locale names;
  const char* name = archive_entry_pathname_utf8(entry_);
  if (name == nullptr) name = archive_entry_pathname(entry_);
  const std::size_t index = next_ - 1;
  const bool encrypted = archive_entry_is_data_encrypted(entry_) != 0;
  return {index, inert_name(name != nullptr ? name : "", index), {}, encrypted ? "encrypted" : ""};
}

/// Unpacks the next piece of the member; false at its end.
bool MemberReader::refill() {
  constexpr UnpackingLimits limits;
  const void* bytes = nullptr;
  std::size_t size = 0;
  la_int64_t offset = 0;
  rest_ = {};
  const int result = archive_read_data_block(opened_.get(), &bytes, &size, &offset);
  if (result == ARCHIVE_OK) {
    rest_ = {static_cast<const char*>(bytes), size};
    text_ += static_cast<i64>(size);
    if (!file_.compressed() && text_ > limits.text && text_ / limits.ratio > file_.size()) lost_ = without_end;
  } else if (result != ARCHIVE_EOF) {
    lost_ = why();  // a wrong checksum as well, which is only a warning to libarchive
  }
  ended_ = result != ARCHIVE_OK || !lost_.empty();
  return !ended_;
}

std::size_t MemberReader::read(char* to, std::size_t n) {
  std::size_t made = 0;
  while (made < n) {
    if (rest_.empty() && (ended_ || !refill())) break;
    const std::size_t piece = rest_.copy(to + made, n - made);
    rest_.remove_prefix(piece);
    made += piece;
  }
  if (made == 0 && !lost_.empty()) fail(lost_);
  return made;
}

}  // namespace

bool is_archive(const std::string& path) {
  try {
    ArchiveFile file(path);
    std::string first(members_head_size, '\0');
    first.resize(file.read(first.data(), first.size()));
    return has_members(first);
  } catch (const FileError&) {
    return false;
  }
}

void visit_members(const std::string& path, const std::function<bool(const Member&)>& take) {
  MemberReader reader(path);
  std::string first(first_size, '\0');
  while (reader.next()) {
    if (!reader.is_file()) continue;
    Member member = reader.member();
    try {
      if (member.unreadable.empty())
        member.first = std::string_view(first).substr(0, reader.read(first.data(), first.size()));
    } catch (const FileError& error) {  // the others may be readable
      member.unreadable = error.reason();
    }
    if (!take(member)) return;
  }
}

/// An archive that is read up to some member.
struct OpenArchives::Bookmark {
  explicit Bookmark(const std::string& path) : reader(path) {}
  MemberReader reader;
};

/// The right to hold a Bookmark, which goes back with the last copy of the Source's reader.
struct OpenArchives::Loan {
  explicit Loan(OpenArchives& owner) : from(owner) {
    // Each open member of a tar unpacks all of it again, in up to 64 MiB.
    constexpr std::size_t max_open = 4;
    std::unique_lock lock(from.mutex_);
    from.returned_.wait(lock, [&] { return from.open_ < max_open; });
    ++from.open_;
  }
  Loan(const Loan&) = delete;
  ~Loan() {
    constexpr std::size_t max_waiting = 4;
    {
      const std::lock_guard lock(from.mutex_);
      --from.open_;
      if (place) from.waiting_.push_back(std::move(place));
      if (from.waiting_.size() > max_waiting) from.waiting_.pop_front();
    }
    from.returned_.notify_one();
  }

  /// Takes the place nearest before the member, if one is waiting.
  void take_waiting(const std::string& path, std::size_t index) {
    const std::lock_guard lock(from.mutex_);
    auto best = from.waiting_.end();
    for (auto it = from.waiting_.begin(); it != from.waiting_.end(); ++it) {
      const MemberReader& reader = (*it)->reader;
      const bool usable = reader.path() == path && reader.next_index() <= index;
      if (usable && (best == from.waiting_.end() || reader.next_index() > (*best)->reader.next_index())) best = it;
    }
    if (best == from.waiting_.end()) return;
    place = std::move(*best);
    from.waiting_.erase(best);
  }

  std::size_t read(char* to, std::size_t n) {
    try {
      return place->reader.read(to, n);
    } catch (...) {
      place.reset();  // libarchive goes no further, but a new start may
      throw;
    }
  }

  OpenArchives& from;
  std::unique_ptr<Bookmark> place;
};

OpenArchives::OpenArchives() = default;
OpenArchives::~OpenArchives() = default;

Source::Reader OpenArchives::reader(const std::string& path, std::size_t index) {
  const auto loan = std::make_shared<Loan>(*this);
  loan->take_waiting(path, index);
  if (!loan->place) loan->place = std::make_unique<Bookmark>(path);
  MemberReader& members = loan->place->reader;
  try {
    while (members.next_index() <= index)
      if (!members.next()) throw FileError("cannot read '" + path + "'", "the archive has changed");
  } catch (...) {
    loan->place.reset();
    throw;
  }
  return [loan](char* to, std::size_t n) { return loan->read(to, n); };
}

}  // namespace oomdoctor
