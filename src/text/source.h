// Bytes of one input, read once from front to back: a file, standard input, or memory. What was packed with gzip or
// zstd is unpacked, a UTF-8 byte order mark is dropped, UTF-16 becomes UTF-8, and the screens of a captured `watch` are
// played back on the way, so that everything behind sees one kind of text.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace oomdoctor {

class Source {
 public:
  /// "-" is standard input. Throws Error when it cannot be opened or is a folder.
  static Source open(const std::string& path);
  static Source of_text(std::string name, std::string text);
  Source(Source&&) noexcept;
  ~Source();

  /// Appends about `wanted` bytes of text to `out`; false at the end. Waits for a slow writer until it has them. May be
  /// called by one thread after the other, not by two at once. Throws Error when reading fails.
  bool read(std::string& out, std::size_t wanted);

  const std::string& name() const;
  i64 bytes() const;                    ///< read so far, before any unpacking and decoding; at the end the whole input
  const std::string& encoding() const;  ///< "", "utf-8-bom", "utf-16le", "utf-16be", "screens" (of watch)

  std::string_view compression() const;  ///< "", "gzip", "zstd"
  // Known at the end:
  bool truncated() const;  ///< the archive ended early, was damaged or too much: its text is not all of it
  /// Why there is nothing to be read in it: "empty", "packed with xz", "a binary file"; "" where it is text. Of what is no text
  /// pieces may be read all the same.
  std::string unreadable() const;
  /// What was wrong with the archive, or that it is one which is not read: a sentence without its full stop, or "".
  std::string damage() const;

 private:
  struct Impl;
  explicit Source(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace oomdoctor
