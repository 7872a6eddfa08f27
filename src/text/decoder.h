// One compressed stream, unpacked piece by piece in a fixed amount of memory by the library that is fastest at it:
// ISA-L for gzip, libzstd for Zstandard. What stands between, before and behind such streams is the business of
// Archive.
#pragma once

#include <memory>
#include <string_view>

namespace oomdoctor {

enum class Packing { none, gzip, zstd };

/// "", "gzip", "zstd": the names of the report's contract.
std::string_view to_string(Packing packing);

/// What begins with these bytes, by its magic number. A name says nothing: logs are renamed, and a pipe has none.
Packing packing_of(std::string_view first);

/// The program that made what begins with these bytes, where it is an archive: one of those above, or one that is not
/// read; "" for text.
std::string_view packer_of(std::string_view first);

/// The longest magic number of a Packing, in bytes.
inline constexpr std::size_t magic_size = 4;

/// True when `first` begins a stream of this packing, or is too short to tell.
bool may_begin(Packing packing, std::string_view first);

class Decoder {
 public:
  enum class State { open, complete, damaged };

  struct Step {
    std::size_t taken = 0;  ///< bytes from the front of what was packed
    std::size_t made = 0;   ///< bytes of text
    State state = State::open;
    std::string_view damage;  ///< what is wrong, in a few words; text that was made before it is good
  };

  virtual ~Decoder() = default;

  /// Unpacks from the front of `packed` to `to`, which has room for `room` bytes. Takes nothing and makes nothing only
  /// when it needs more of either. `complete` comes once, when the last byte of the stream was taken and its checksums
  /// hold; then, and after `damaged`, only restart() may follow. Never throws for what the bytes are.
  virtual Step step(std::string_view packed, char* to, std::size_t room) = 0;

  /// Gets ready for another stream of the same packing.
  virtual void restart() = 0;
};

/// Not for Packing::none.
std::unique_ptr<Decoder> make_decoder(Packing packing);

}  // namespace oomdoctor
