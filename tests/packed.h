// Archives made by the libraries that also unpack them. tests/cli has some that other programs made.
#pragma once

#include <isa-l/igzip_lib.h>
#include <zstd.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace oomdoctor::testing {

/// One gzip member with dynamic Huffman codes, as real archives have them.
inline std::string gzipped(std::string_view text) {
  std::vector<std::uint8_t> in(text.begin(), text.end()), level(ISAL_DEF_LVL1_DEFAULT);
  std::string out(text.size() + text.size() / 100 + 1000, '\0');
  isal_zstream stream{};
  isal_deflate_init(&stream);
  stream.level = 1;
  stream.level_buf = level.data();
  stream.level_buf_size = static_cast<std::uint32_t>(level.size());
  stream.gzip_flag = IGZIP_GZIP;
  stream.end_of_stream = 1;
  stream.next_in = in.data();
  stream.avail_in = static_cast<std::uint32_t>(in.size());
  stream.next_out = reinterpret_cast<std::uint8_t*>(out.data());
  stream.avail_out = static_cast<std::uint32_t>(out.size());
  if (isal_deflate(&stream) != COMP_OK || stream.avail_in != 0) throw std::runtime_error("isal_deflate");
  out.resize(stream.total_out);
  return out;
}

/// One Zstandard frame, with a checksum.
inline std::string zstandard(std::string_view text) {
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  std::string out(ZSTD_compressBound(text.size()), '\0');
  const std::size_t size = ZSTD_compress2(context, out.data(), out.size(), text.data(), text.size());
  ZSTD_freeCCtx(context);
  if (ZSTD_isError(size) != 0) throw std::runtime_error(ZSTD_getErrorName(size));
  out.resize(size);
  return out;
}

}  // namespace oomdoctor::testing
