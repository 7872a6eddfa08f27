// A compressed input as the text that was packed: one stream after the other, as logrotate, pigz, bgzip and pzstd write
// them and as `cat a.gz b.gz` joins them. Memory is fixed, whatever the archive claims. What is damaged is read up to
// the damage, and says so; an archive inside of the archive is not unpacked.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "text/decoder.h"

namespace oomdoctor {

/// A few bytes can be made to unpack to petabytes. Memory is safe from that, time is not: where the text is longer than
/// `text` bytes and more than `ratio` times as long as what it was packed in, reading ends. Both must hold, because
/// honest logs repeat themselves: one line over and over packs 400:1 with gzip and 10 000:1 with zstd.
struct UnpackingLimits {
  i64 text = i64{4} << 30;  ///< a few seconds of work, which any archive may ask for
  i64 ratio = 1000;         ///< about the most that deflate can do, 1032:1; a log of 4 GiB says more than 4 MiB
};

class Archive {
 public:
  /// Writes up to `n` compressed bytes to `to`, in order; 0 only at the end. May throw Error.
  using TemplateMatch = std::function<std::size_t(char* to, std::size_t n)>;

  /// `first`: the beginning of the input, already taken. Nothing where that is no archive's.
  static std::unique_ptr<Archive> begin(std::string_view first, TemplateMatch take, UnpackingLimits limits = {});

  /// Fills `to` with up to `n` bytes of text; fewer only at the end, 0 behind it. What is left of the input after
  /// damage is taken and thrown away, so that its size is known and its writer need not break off. Throws what `Take`
  /// throws.
  std::size_t read(char* to, std::size_t n);

  Packing packing() const { return packing_; }
  /// The text is not all that was packed: the archive ended early, was damaged, or was too much.
  bool truncated() const { return truncated_; }
  /// What was wrong, to be read behind the name of the input; "" where nothing was. Known when read() has given 0.
  const std::string& damage() const { return damage_; }

 private:
  Archive(Packing packing, std::string_view first, TemplateMatch take, UnpackingLimits limits);
  bool refill();
  void next_stream();
  void look_behind();
  void stop(std::string damage);
  std::string text_so_far() const;

  struct Free {
    void operator()(char* block) const;
  };

  Packing packing_;
  TemplateMatch take_;
  UnpackingLimits limits_;
  std::unique_ptr<Decoder> decoder_;
  std::unique_ptr<char, Free> block_;
  std::string_view rest_;      ///< of the block: not yet unpacked
  i64 packed_ = 0, text_ = 0;  ///< bytes so far
  bool ended_ = false, done_ = false, truncated_ = false;
  std::string damage_;
};

}  // namespace oomdoctor
