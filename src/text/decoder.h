// One compressed stream, unpacked piece by piece in bounded memory by the library for it: ISA-L for gzip, libzstd for
// Zstandard, liblzma for xz, libbz2, liblz4. Archive handles the bytes before, between and after such streams.
#pragma once

#include <memory>
#include <string_view>

#include "base/enum_names.h"

namespace oomdoctor {

/// The compressions that oomdoctor reads.
enum class Packing { none, gzip, zstd, xz, bzip2, lz4 };

// The names in the JSON report.
template <>
inline constexpr auto enum_names<Packing> = names_up_to<Packing::lz4>("", "gzip", "zstd", "xz", "bzip2", "lz4");

/// The compression of data with these first bytes, by its magic number. File names do not count: logs are renamed, and
/// a pipe has none.
Packing find_packing(std::string_view first);

/// The program that packed data with these first bytes: one of the compressions above, or another one, such as "tar";
/// "" for text.
std::string_view find_packer(std::string_view first);

/// True if data with these first bytes has members, each with a name of its own: tar, zip, 7z.
bool has_members(std::string_view first);
/// As many bytes decide about it.
inline constexpr std::size_t members_head_size = 512;

/// The longest magic number of a Packing, in bytes.
inline constexpr std::size_t magic_size = 10;

/// True when `first` begins a stream of this compression, or is too short to decide.
bool may_begin(Packing packing, std::string_view first);

/// The interface of a decompressor.
class Decoder {
 public:
  enum class State { open, complete, damaged };

  struct DecodedPiece {
    std::size_t taken = 0;  ///< bytes consumed from the front of `packed`
    std::size_t made = 0;   ///< bytes of text written
    State state = State::open;
    std::string_view damage;  ///< a short description; text written before the damage is valid
  };

  virtual ~Decoder() = default;

  /// Unpacks from the front of `packed` to `to`, which has room for `room` bytes. Consumes and writes nothing only if
  /// it needs more of either. Returns `complete` once, after the last byte of the stream, if its checksums are correct.
  /// After `complete` and `damaged`, only restart() may follow. Never throws because of the data.
  virtual DecodedPiece step(std::string_view packed, char* to, std::size_t room) = 0;

  /// Prepares for another stream of the same compression.
  virtual void restart() = 0;
};

/// `packing` must not be Packing::none.
std::unique_ptr<Decoder> make_decoder(Packing packing);

}  // namespace oomdoctor
