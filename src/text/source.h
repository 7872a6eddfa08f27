// The bytes of one input, read once from front to back: a file, standard input, or memory. Compressed text is unpacked,
// a UTF-8 byte order mark is dropped, UTF-16 becomes UTF-8, and captured screens of `watch` and JSON documents of
// records are played back. So all later stages see one kind of text.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "text/text_buffer.h"

namespace oomdoctor {

/// True if more than a twentieth of the first bytes is neither printable nor a usual control character of terminals.
bool is_binary(std::string_view first);

/// A host that has unpacked compressed files by itself names the folder of their texts, each under the name of its
/// file. Call it before the first input is opened. Files without a text there are unpacked here.
void set_folder_of_texts(std::string folder);

/// One input. Movable; owns its file descriptor.
class Source {
 public:
  /// "-" is standard input. The files of `continued` follow without a break: the pieces of a log that its writer cut.
  /// Throws Error if the input cannot be opened or is a folder.
  static Source open(const std::string& path, std::vector<std::string> continued = {});
  static Source of_text(std::string name, std::string text);
  /// Reads with a function: it fills a buffer of `size` bytes, and returns how many it filled, 0 at the end.
  using Reader = std::function<std::size_t(char* buffer, std::size_t size)>;
  static Source of_reader(std::string name, Reader reader);
  Source(Source&&) noexcept;
  ~Source();

  /// Appends about `wanted` bytes of text to `out`; false at the end. Waits for a slow writer until it has them.
  /// Different threads may call it, but not at the same time. Throws Error if the first read fails. After a later
  /// failure the input ends, and failure() is known.
  bool read(TextBuffer& out, std::size_t wanted);

  /// The first bytes, unpacked, and of UTF-16 as they are; at most 4 KiB, and less only of a shorter input. The next
  /// read() begins with them. Of an archive that is not read, its own first bytes. Call it before the first read().
  std::string_view peek();

  const std::string& name() const;
  i64 holes() const;  ///< bytes that were never written to the file; they were skipped, and bytes() contains them
  i64 bytes() const;  ///< read so far, before unpacking and decoding; at the end the size of the whole input
  /// "", "utf-8-bom", "utf-16le", "utf-16be", "screens" (of watch), "prometheus-json", "json-records",
  /// "wandb", "tfevents", "mlflow"
  const std::string& encoding() const;

  std::string_view compression() const;  ///< "", "gzip", "zstd", "xz", "bzip2", "lz4"
  // Known at the end:
  bool truncated()
      const;  ///< the text is incomplete: a read failed, or the archive ended early, was damaged or too large
  /// Why the rest of the input is missing if truncated(): "Input/output error", or a sentence about the archive.
  std::string missing_because() const;
  /// Why the input is unreadable: "empty", "packed with compress", "a binary file"; "" for text. Pieces of unreadable
  /// input may still be read.
  std::string unreadable() const;
  /// What else is odd about the archive, or its unsupported compression: a sentence without a full stop, or "".
  std::string damage() const;

 private:
  struct Impl;
  explicit Source(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace oomdoctor
