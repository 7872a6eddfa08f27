// Bytes of one input, read once from front to back: a file, standard input, or memory. A UTF-8 byte order mark is
// dropped, UTF-16 becomes UTF-8, and the screens of a captured `watch` are played back on the way, so that everything
// behind sees one kind of text.
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

  /// Appends up to `wanted` bytes of text to `out`; false at the end. Throws Error when reading fails.
  bool read(std::string& out, std::size_t wanted);

  const std::string& name() const;
  i64 bytes() const;                    ///< read so far, before any decoding
  const std::string& encoding() const;  ///< "", "utf-8-bom", "utf-16le", "utf-16be", "screens" (of watch)

 private:
  struct Impl;
  explicit Source(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace oomdoctor
