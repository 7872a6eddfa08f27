#include "text/decoder.h"

#include <isa-l/igzip_lib.h>
#include <zstd.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>

namespace oomdoctor {
namespace {

using namespace std::string_view_literals;

/// The identification bytes, and deflate, the only method.
constexpr std::string_view gzip_magic = "\x1F\x8B\x08"sv;
constexpr std::string_view zstd_magic = "\x28\xB5\x2F\xFD"sv;
/// Frames without text; pzstd writes one before each of its frames. The low four bits of the first byte vary.
constexpr std::string_view skippable_magic = "\x50\x2A\x4D\x18"sv;

/// Recognised, so that a log in one of these formats does not pass as a log without a failure. bzip2 at its usual
/// level.
struct Foreign {
  std::string_view packer, magic;
};
constexpr Foreign foreign[] = {{"xz", "\xFD\x37zXZ\0"sv},     {"bzip2", "BZh91AY&SY"sv},
                               {"lz4", "\x04\x22\x4D\x18"sv}, {"compress", "\x1F\x9D\x90"sv},
                               {"zip", "PK\x03\x04"sv},       {"7z", "7z\xBC\xAF\x27\x1C"sv}};

/// Log base 2 of a frame's maximum memory: 128 MiB, the most that `zstd --ultra -22` and `--long` use, and the default
/// limit of the zstd program. It is allocated only if a frame requests it.
constexpr int largest_zstd_window = 27;

class GzipDecoder final : public Decoder {
 public:
  GzipDecoder() {
    isal_inflate_init(&state_);
    restart();
  }

  void restart() override {
    isal_inflate_reset(&state_);
    state_.crc_flag = ISAL_GZIP;
    isal_gzip_header_init(&header_);
    in_header_ = true;
  }

  DecodedPiece step(std::string_view packed, char* to, std::size_t room) override {
    // ISA-L counts in 32 bits, and does not write to its input.
    constexpr std::size_t most = std::numeric_limits<std::uint32_t>::max();
    const auto offered = static_cast<std::uint32_t>(std::min(packed.size(), most));
    const auto free = static_cast<std::uint32_t>(std::min(room, most));
    state_.next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(packed.data()));
    state_.avail_in = offered;
    state_.next_out = reinterpret_cast<std::uint8_t*>(to);
    state_.avail_out = free;
    const int result = run();
    DecodedPiece step;
    // If the damage is at the very end of its input, ISA-L counts a byte or two too many.
    step.taken = state_.avail_in > offered ? offered : offered - state_.avail_in;
    step.made = free - state_.avail_out;
    if (result < 0)
      step.state = State::damaged, step.damage = words(result);
    else if (!in_header_ && state_.block_state == ISAL_BLOCK_FINISH)
      step.state = State::complete;
    return step;
  }

 private:
  /// Reads the header separately, because isal_inflate() forgets its flags if it arrives in two pieces.
  int run() {
    if (in_header_) {
      const int result = isal_read_gzip_header(&state_, &header_);
      if (result != ISAL_DECOMP_OK) return result;
      in_header_ = false;
    }
    return isal_inflate(&state_);
  }

  static std::string_view words(int result) {
    switch (result) {
      case ISAL_INVALID_WRAPPER:
      case ISAL_UNSUPPORTED_METHOD:
        return "no valid header";
      case ISAL_INCORRECT_CHECKSUM:
        return "its checksum does not hold";
      default:
        return "no valid deflate data";
    }
  }

  inflate_state state_;
  isal_gzip_header header_{};
  bool in_header_ = true;
};

class ZstdDecoder final : public Decoder {
 public:
  ZstdDecoder() : stream_(ZSTD_createDStream()) {
    if (!stream_) throw std::bad_alloc();
    ZSTD_DCtx_setParameter(stream_.get(), ZSTD_d_windowLogMax, largest_zstd_window);
  }

  void restart() override { ZSTD_DCtx_reset(stream_.get(), ZSTD_reset_session_only); }

  DecodedPiece step(std::string_view packed, char* to, std::size_t room) override {
    ZSTD_inBuffer in{packed.data(), packed.size(), 0};
    ZSTD_outBuffer out{to, room, 0};
    const std::size_t result = ZSTD_decompressStream(stream_.get(), &out, &in);
    DecodedPiece step{in.pos, out.pos, State::open, {}};
    if (ZSTD_isError(result) != 0)
      step.state = State::damaged, step.damage = ZSTD_getErrorName(result);
    else if (result == 0)
      step.state = State::complete;
    return step;
  }

 private:
  struct FreeStream {
    void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
  };
  std::unique_ptr<ZSTD_DStream, FreeStream> stream_;
};

/// Compares the common length only.
bool agree(std::string_view a, std::string_view b) {
  const std::size_t n = std::min(a.size(), b.size());
  return a.substr(0, n) == b.substr(0, n);
}

}  // namespace

bool may_begin(Packing packing, std::string_view first) {
  if (packing == Packing::gzip) return agree(first, gzip_magic);
  if (packing != Packing::zstd) return false;
  const bool skippable = first.empty() || ((first[0] ^ skippable_magic[0]) & 0xF0) == 0;
  return agree(first, zstd_magic) ||
         (skippable && (first.empty() || agree(first.substr(1), skippable_magic.substr(1))));
}

Packing find_packing(std::string_view first) {
  if (first.size() >= gzip_magic.size() && may_begin(Packing::gzip, first)) return Packing::gzip;
  if (first.size() >= zstd_magic.size() && may_begin(Packing::zstd, first)) return Packing::zstd;
  return Packing::none;
}

std::string_view find_packer(std::string_view first) {
  for (const Foreign& other : foreign)
    if (first.starts_with(other.magic)) return other.packer;
  return to_string(find_packing(first));
}

std::unique_ptr<Decoder> make_decoder(Packing packing) {
  if (packing == Packing::gzip) return std::make_unique<GzipDecoder>();
  return std::make_unique<ZstdDecoder>();
}

}  // namespace oomdoctor
