#include "text/decoder.h"

#include <bzlib.h>
#include <isa-l/igzip_lib.h>
#include <lz4frame.h>
#include <lzma.h>
#include <zstd.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>

namespace oomdoctor {
namespace {

using namespace std::string_view_literals;

struct Magic {
  Packing packing;
  std::string_view bytes;
};
constexpr Magic magics[] = {{Packing::gzip, "\x1F\x8B\x08"sv},  // with deflate, the only method
                            {Packing::zstd, "\x28\xB5\x2F\xFD"sv},
                            {Packing::xz, "\xFD\x37zXZ\0"sv},
                            {Packing::lz4, "\x04\x22\x4D\x18"sv}};
/// Frames without text; pzstd writes one before each of its frames. The low four bits of the first byte vary.
constexpr std::string_view skippable_magic = "\x50\x2A\x4D\x18"sv;

/// Recognised, so that a log in one of these formats does not pass as a log without a failure.
struct Foreign {
  std::string_view packer, magic;
};
constexpr Foreign foreign[] = {{"compress", "\x1F\x9D\x90"sv},
                               {"zip", "PK\x03\x04"sv},
                               {"zip", "PK\x05\x06"sv},  // without members
                               {"7z", "7z\xBC\xAF\x27\x1C"sv}};

/// Log base 2 of a frame's maximum memory: 128 MiB, the most that `zstd --ultra -22` and `--long` use, and the default
/// limit of the zstd program. It is allocated only if a frame requests it.
constexpr int largest_zstd_window = 27;
/// The most memory that an xz stream may request: twice that of `xz -9`.
constexpr std::uint64_t largest_xz_memory = std::uint64_t{128} << 20;

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
  struct FreeZstd {
    void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
  };
  std::unique_ptr<ZSTD_DStream, FreeZstd> stream_;
};

class XzDecoder final : public Decoder {
 public:
  XzDecoder() { restart(); }
  XzDecoder(const XzDecoder&) = delete;
  ~XzDecoder() override { lzma_end(&stream_); }

  void restart() override {
    if (lzma_stream_decoder(&stream_, largest_xz_memory, 0) != LZMA_OK) throw std::bad_alloc();
  }

  DecodedPiece step(std::string_view packed, char* to, std::size_t room) override {
    stream_.next_in = reinterpret_cast<const std::uint8_t*>(packed.data());
    stream_.avail_in = packed.size();
    stream_.next_out = reinterpret_cast<std::uint8_t*>(to);
    stream_.avail_out = room;
    const lzma_ret result = lzma_code(&stream_, LZMA_RUN);
    DecodedPiece step{packed.size() - stream_.avail_in, room - stream_.avail_out, State::open, {}};
    if (result == LZMA_MEM_ERROR) throw std::bad_alloc();
    if (result == LZMA_STREAM_END)
      step.state = State::complete;
    else if (result == LZMA_MEMLIMIT_ERROR)
      step.state = State::damaged, step.damage = "it needs more memory than xz -9 uses";
    else if (result != LZMA_OK && result != LZMA_BUF_ERROR)
      step.state = State::damaged, step.damage = "no valid xz data";
    return step;
  }

 private:
  lzma_stream stream_ = LZMA_STREAM_INIT;
};

class Bzip2Decoder final : public Decoder {
 public:
  Bzip2Decoder() { begin(); }
  Bzip2Decoder(const Bzip2Decoder&) = delete;
  ~Bzip2Decoder() override { BZ2_bzDecompressEnd(&stream_); }

  void restart() override {
    BZ2_bzDecompressEnd(&stream_);
    begin();
  }

  DecodedPiece step(std::string_view packed, char* to, std::size_t room) override {
    // libbz2 counts in 32 bits, and does not write to its input.
    constexpr std::size_t most = std::numeric_limits<unsigned>::max();
    const auto offered = static_cast<unsigned>(std::min(packed.size(), most));
    const auto free = static_cast<unsigned>(std::min(room, most));
    stream_.next_in = const_cast<char*>(packed.data());
    stream_.avail_in = offered;
    stream_.next_out = to;
    stream_.avail_out = free;
    const int result = BZ2_bzDecompress(&stream_);
    DecodedPiece step{offered - stream_.avail_in, free - stream_.avail_out, State::open, {}};
    if (result == BZ_MEM_ERROR) throw std::bad_alloc();
    if (result == BZ_STREAM_END)
      step.state = State::complete;
    else if (result != BZ_OK)
      step.state = State::damaged, step.damage = "no valid bzip2 data";
    return step;
  }

 private:
  void begin() {
    stream_ = {};
    if (BZ2_bzDecompressInit(&stream_, 0, 0) != BZ_OK) throw std::bad_alloc();
  }

  bz_stream stream_{};
};

class Lz4Decoder final : public Decoder {
 public:
  Lz4Decoder() {
    LZ4F_dctx* stream = nullptr;
    if (LZ4F_isError(LZ4F_createDecompressionContext(&stream, LZ4F_VERSION)) != 0) throw std::bad_alloc();
    stream_.reset(stream);
  }

  void restart() override { LZ4F_resetDecompressionContext(stream_.get()); }

  DecodedPiece step(std::string_view packed, char* to, std::size_t room) override {
    std::size_t taken = packed.size(), made = room;
    const std::size_t result = LZ4F_decompress(stream_.get(), to, &made, packed.data(), &taken, nullptr);
    DecodedPiece step{taken, made, State::open, {}};
    if (LZ4F_isError(result) != 0)
      step = {0, 0, State::damaged, LZ4F_getErrorName(result)};
    else if (result == 0)
      step.state = State::complete;
    return step;
  }

 private:
  struct FreeLz4 {
    void operator()(LZ4F_dctx* stream) const { LZ4F_freeDecompressionContext(stream); }
  };
  std::unique_ptr<LZ4F_dctx, FreeLz4> stream_;
};

/// Compares the common length only.
bool agree(std::string_view a, std::string_view b) {
  const std::size_t n = std::min(a.size(), b.size());
  return a.substr(0, n) == b.substr(0, n);
}

/// "BZh", the level, and the digits of pi that begin a block, or those of its root that end a stream without one.
bool may_begin_bzip2(std::string_view first) {
  constexpr std::size_t level = 3;
  if (!agree(first, "BZh") || (first.size() > level && (first[level] < '1' || first[level] > '9'))) return false;
  const std::string_view block = first.substr(std::min(first.size(), level + 1));
  return agree(block, "\x31\x41\x59\x26\x53\x59"sv) || agree(block, "\x17\x72\x45\x38\x50\x90"sv);
}

/// True for a header of tar with the mark that POSIX and GNU put into it.
bool is_tar(std::string_view first) {
  constexpr std::size_t mark = 257;
  return first.size() >= members_head_size && first.substr(mark).starts_with("ustar") && first[0] != '\0';
}

}  // namespace

bool may_begin(Packing packing, std::string_view first) {
  if (packing == Packing::bzip2) return may_begin_bzip2(first);
  const bool skippable = first.empty() || ((first[0] ^ skippable_magic[0]) & 0xF0) == 0;
  if ((packing == Packing::zstd || packing == Packing::lz4) && skippable &&
      (first.empty() || agree(first.substr(1), skippable_magic.substr(1))))
    return true;
  return std::any_of(std::begin(magics), std::end(magics),
                     [&](const Magic& magic) { return magic.packing == packing && agree(first, magic.bytes); });
}

Packing find_packing(std::string_view first) {
  for (const Magic& magic : magics)
    if (first.starts_with(magic.bytes)) return magic.packing;
  if (first.size() >= skippable_magic.size() && may_begin(Packing::zstd, first)) return Packing::zstd;
  return first.size() >= magic_size && may_begin_bzip2(first) ? Packing::bzip2 : Packing::none;
}

std::string_view find_packer(std::string_view first) {
  for (const Foreign& other : foreign)
    if (first.starts_with(other.magic)) return other.packer;
  return is_tar(first) ? "tar" : to_string(find_packing(first));
}

bool has_members(std::string_view first) {
  const std::string_view packer = find_packer(first);
  return packer == "tar" || packer == "zip" || packer == "7z";
}

std::unique_ptr<Decoder> make_decoder(Packing packing) {
  switch (packing) {
    case Packing::gzip:
      return std::make_unique<GzipDecoder>();
    case Packing::xz:
      return std::make_unique<XzDecoder>();
    case Packing::bzip2:
      return std::make_unique<Bzip2Decoder>();
    case Packing::lz4:
      return std::make_unique<Lz4Decoder>();
    default:
      return std::make_unique<ZstdDecoder>();
  }
}

}  // namespace oomdoctor
