#include "text/digest.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/descriptor.h"
#include "base/error.h"
#include "text/sparse_file.h"

#define XXH_INLINE_ALL  // header-only, so there is nothing to link
#include <xxhash.h>

namespace oomdoctor {
namespace {

constexpr std::size_t piece_size = 1 << 16;

std::string hexadecimal(const XXH128_hash_t& hash) {
  constexpr std::string_view digits = "0123456789abcdef";
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes, hash);
  std::string text;
  for (const unsigned char byte : bytes.digest) text += {digits[byte >> 4], digits[byte & 15]};
  return text;
}

/// Hashes a stream of bytes, cut into pieces of `piece_size` bytes at their positions. A piece of zeros only counts
/// with its length.
class PieceHash {
 public:
  PieceHash() { XXH3_128bits_reset(&state_); }

  /// All pieces but the last one have `piece_size` bytes.
  void add(std::string_view piece) {
    if (std::all_of(piece.begin(), piece.end(), [](char c) { return c == '\0'; })) return add_zeros(piece.size());
    end_zeros();
    XXH3_128bits_update(&state_, piece.data(), piece.size());
  }
  void add_zeros(std::uint64_t bytes) { zeros_ += bytes; }

  std::string digits() {
    end_zeros();
    return hexadecimal(XXH3_128bits_digest(&state_));
  }

 private:
  void end_zeros() {
    if (zeros_ > 0) XXH3_128bits_update(&state_, &zeros_, sizeof zeros_);
    zeros_ = 0;
  }

  XXH3_state_t state_;
  std::uint64_t zeros_ = 0;  ///< of the pieces before the next one
};

/// Fills the piece; less only at the end of the file. A hole becomes zeros without being read.
class PieceReader {
 public:
  PieceReader(int file, const std::string& path) : file_(file), path_(path), sparse_(file) {}

  /// Adds the file to `hash`.
  void add_to(PieceHash& hash) {
    while (true) {
      hole_ += sparse_.skip_hole();
      if (used_ == 0 && hole_ >= i64{piece_size}) {
        const i64 whole = hole_ / i64{piece_size} * i64{piece_size};
        hash.add_zeros(static_cast<std::uint64_t>(whole));
        hole_ -= whole;
      }
      if (hole_ > 0) {
        const std::size_t zeros = bytes_of_piece(hole_, piece_size - used_);
        std::fill_n(piece_.data() + used_, zeros, '\0');
        hole_ -= static_cast<i64>(zeros), used_ += zeros;
      } else if (!read_more()) {
        break;
      }
      if (used_ == piece_size) hash.add({piece_.data(), std::exchange(used_, 0)});
    }
    if (used_ > 0) hash.add({piece_.data(), used_});
  }

 private:
  /// False at the end of the file.
  bool read_more() {
    const auto most = bytes_of_piece(sparse_.readable(), piece_size - used_);
    const ssize_t got = uninterrupted([&] { return ::read(file_, piece_.data() + used_, most); });
    if (got < 0) throw FileError("cannot read '" + path_ + "'", std::strerror(errno));
    sparse_.advance(got);
    used_ += static_cast<std::size_t>(got);
    return got > 0;
  }

  int file_;
  const std::string& path_;
  SparseFile sparse_;
  i64 hole_ = 0;  ///< zeros that come before the next read
  std::array<char, piece_size> piece_;
  std::size_t used_ = 0;
};

void add_file(PieceHash& hash, const std::string& path) {
  const auto refuse = [&] {
    throw Error("a part cannot be made of '" + path + "': it cannot be read twice", "", "write it to a file first");
  };
  if (path == "-") refuse();
  const Descriptor file(uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); }));
  if (!file.is_open()) throw FileError("cannot open '" + path + "'", std::strerror(errno));
  struct stat status {};
  if (::fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode)) refuse();
  PieceReader(file.number(), path).add_to(hash);
}

}  // namespace

std::string digest_of_text(std::string_view text) {
  PieceHash hash;
  for (; !text.empty(); text.remove_prefix(std::min(piece_size, text.size()))) hash.add(text.substr(0, piece_size));
  return hash.digits();
}

std::string digest_of_bytes(const std::function<std::size_t(char* buffer, std::size_t size)>& read) {
  PieceHash hash;
  std::string piece(piece_size, '\0');
  for (std::size_t used = 0;;) {
    const std::size_t got = read(piece.data() + used, piece_size - used);
    used += got;
    if (used == piece_size || got == 0) hash.add(std::string_view(piece).substr(0, std::exchange(used, 0)));
    if (got == 0) return hash.digits();
  }
}

std::string digest_of_file(const std::string& path, const std::vector<std::string>& continued) {
  PieceHash hash;
  add_file(hash, path);
  for (const std::string& more : continued) add_file(hash, more);
  return hash.digits();
}

}  // namespace oomdoctor
