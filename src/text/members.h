// The members of an archive (tar in any compression that oomdoctor unpacks, zip, 7z), by libarchive; the only user of
// it. An archive is read once from front to back, and nothing in it is ever written to a disk: the name of a member is
// a text. Memory is bounded for any archive.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "text/source.h"

namespace oomdoctor {

/// True for a regular file that has members. False if it cannot be read.
bool is_archive(const std::string& path);

/// A regular file in an archive.
struct Member {
  std::size_t index = 0;   ///< among all entries of the archive
  std::string name;        ///< "logs/rank0.log": relative, without "." and ".."
  std::string_view first;  ///< its first bytes; valid during the visit
  std::string unreadable;  ///< "encrypted", or what is wrong with its data; "" if it can be read
};

/// Visits the members in the order of the archive; `take` returns false to end the visit. Throws FileError where the
/// archive is damaged, after the visits of the members before that.
void visit_members(const std::string& path, const std::function<bool(const Member&)>& take);

/// Opens members as inputs. Thread-safe. Members that are read in their order cost one pass over their archive.
class OpenArchives {
 public:
  OpenArchives();
  ~OpenArchives();

  /// The bytes of the member `index` of the archive at `path`. Waits while too many members are open; a thread that
  /// holds one must not open another. OpenArchives must outlive the reader. It and the reader throw FileError.
  Source::Reader reader(const std::string& path, std::size_t index);
  /// The same as the input `name`.
  Source open(const std::string& path, std::size_t index, std::string name) {
    return Source::of_reader(std::move(name), reader(path, index));
  }

 private:
  struct Bookmark;
  struct Loan;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::list<std::unique_ptr<Bookmark>> waiting_;  ///< no longer in use, the longest unused first
  std::size_t open_ = 0;                          ///< in use
};

}  // namespace oomdoctor
