// A compressed input as its unpacked text. It reads one stream after the other, as logrotate, pigz, bgzip and pzstd
// write them and as `cat a.gz b.gz` joins them. Memory is bounded for any archive. A damaged archive is read up to the
// damage, with a message. An archive inside an archive is not unpacked.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "text/decoder.h"

namespace oomdoctor {

/// A few bytes can unpack to petabytes. That costs no memory, but endless time. So reading stops if the text is longer
/// than `text` bytes and more than `ratio` times as long as its packed form. Both must hold, because honest logs repeat
/// themselves: one repeated line packs 400:1 with gzip and 10 000:1 with zstd.
struct UnpackingLimits {
  i64 text = i64{4} << 30;  ///< a few seconds of work, which any archive may cost
  i64 ratio = 1000;         ///< about the maximum of deflate, 1032:1; a real log of 4 GiB needs more than 4 MiB
};

/// One compressed input. Not thread-safe.
class Archive {
 public:
  /// Writes up to `n` compressed bytes to `to`, in order; returns 0 only at the end. May throw Error.
  using ReadPacked = std::function<std::size_t(char* to, std::size_t n)>;

  /// `first` is the beginning of the input, which was already read. Returns nullptr if it is not an archive.
  static std::unique_ptr<Archive> begin(std::string_view first, ReadPacked take, UnpackingLimits limits = {});

  /// Fills `to` with up to `n` bytes of text; fewer only at the end, then 0. After damage it reads and drops the rest
  /// of the input, so that its size is known and its writer does not get an error. Throws what `take` throws.
  std::size_t read(char* to, std::size_t n);

  Packing packing() const { return packing_; }
  /// The text is incomplete: the archive ended early, was damaged, or was too large.
  bool truncated() const { return truncated_; }
  /// The damage, as the end of a sentence that begins with the name of the input; "" for none. Known after read()
  /// returned 0.
  const std::string& damage() const { return damage_; }

 private:
  Archive(Packing packing, std::string_view first, ReadPacked take, UnpackingLimits limits);
  bool refill();
  void next_stream();
  void look_behind();
  void stop(std::string damage);
  std::string text_so_far() const;

  struct FreeBlock {
    void operator()(char* block) const;
  };

  Packing packing_;
  ReadPacked take_;
  UnpackingLimits limits_;
  std::unique_ptr<Decoder> decoder_;
  std::unique_ptr<char, FreeBlock> block_;
  std::string_view rest_;      ///< the part of the block that is not yet unpacked
  i64 packed_ = 0, text_ = 0;  ///< bytes so far
  bool ended_ = false, done_ = false, truncated_ = false;
  std::string damage_;
};

}  // namespace oomdoctor
