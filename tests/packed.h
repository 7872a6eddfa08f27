// Archives, most made by the libraries that also unpack them. tests/cli has some that other programs made.
#pragma once

#include <archive.h>
#include <archive_entry.h>
#include <bzlib.h>
#include <isa-l/igzip_lib.h>
#include <locale.h>
#include <lz4frame.h>
#include <lzma.h>
#include <zstd.h>

#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
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

/// One xz stream.
inline std::string xz(std::string_view text) {
  std::string out(lzma_stream_buffer_bound(text.size()), '\0');
  std::size_t size = 0;
  if (lzma_easy_buffer_encode(1, LZMA_CHECK_CRC64, nullptr, reinterpret_cast<const std::uint8_t*>(text.data()),
                              text.size(), reinterpret_cast<std::uint8_t*>(out.data()), &size, out.size()) != LZMA_OK)
    throw std::runtime_error("lzma_easy_buffer_encode");
  out.resize(size);
  return out;
}

/// One bzip2 stream, in blocks of 100 kB.
inline std::string bzip2(std::string_view text) {
  std::string in(text), out(text.size() + text.size() / 100 + 1000, '\0');
  auto size = static_cast<unsigned>(out.size());
  if (BZ2_bzBuffToBuffCompress(out.data(), &size, in.data(), static_cast<unsigned>(in.size()), 1, 0, 0) != BZ_OK)
    throw std::runtime_error("BZ2_bzBuffToBuffCompress");
  out.resize(size);
  return out;
}

/// One LZ4 frame, with a checksum.
inline std::string lz4(std::string_view text) {
  LZ4F_preferences_t how{};
  how.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
  std::string out(LZ4F_compressFrameBound(text.size(), &how), '\0');
  const std::size_t size = LZ4F_compressFrame(out.data(), out.size(), text.data(), text.size(), &how);
  if (LZ4F_isError(size) != 0) throw std::runtime_error(LZ4F_getErrorName(size));
  out.resize(size);
  return out;
}

/// Names and texts.
using Members = std::vector<std::pair<std::string, std::string>>;

/// A tar as POSIX describes it (ustar).
inline std::string tar_of(const Members& members) {
  std::string out;
  const auto put = [](std::string& header, std::size_t at, const std::string& text) {
    header.replace(at, text.size(), text);
  };
  for (const auto& [name, text] : members) {
    std::string header(512, '\0'), sizes(12, '\0');
    put(header, 0, name);
    put(header, 100, "0000600");
    std::snprintf(sizes.data(), sizes.size(), "%011zo", text.size());
    put(header, 124, sizes);
    put(header, 136, "00000000000");
    put(header, 148, std::string(8, ' '));
    put(header, 156, "0");
    put(header, 257,
        std::string("ustar\0"
                    "00",
                    8));
    unsigned sum = 0;
    for (const char c : header) sum += static_cast<unsigned char>(c);
    std::snprintf(sizes.data(), sizes.size(), "%06o", sum);
    put(header, 148, sizes.substr(0, 7));
    out += header + text;
    out.resize((out.size() + 511) / 512 * 512, '\0');
  }
  return out + std::string(1024, '\0');
}

/// A zip; each member is deflated.
inline std::string zip_of(const Members& members) {
  std::string out, directory;
  const auto number = [](std::size_t value, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i, value >>= 8) text += static_cast<char>(value & 0xFF);
    return text;
  };
  for (const auto& [name, text] : members) {
    const std::string gzip = gzipped(text);  // ten bytes, the data, the checksum and the size
    const std::string data = gzip.substr(10, gzip.size() - 18), crc = gzip.substr(gzip.size() - 8, 4);
    const std::string common = number(20, 2) + number(0x0800, 2) + number(8, 2) + number(0, 4) + crc +
                               number(data.size(), 4) + number(text.size(), 4) + number(name.size(), 2) + number(0, 2);
    directory += "PK\1\2" + number(20, 2) + common + number(0, 10) + number(out.size(), 4) + name;
    out += "PK\3\4" + common + name + data;
  }
  const std::size_t count = members.size();
  return out + directory + "PK\5\6" + number(0, 4) + number(count, 2) + number(count, 2) + number(directory.size(), 4) +
         number(out.size(), 4) + number(0, 2);
}

/// A 7z, by libarchive.
inline std::string seven_zip_of(const Members& members) {
  std::string out(1 << 22, '\0');
  std::size_t used = 0;
  const locale_t names = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr), before = ::uselocale(names);
  struct archive* const made = archive_write_new();
  archive_write_set_format_7zip(made);
  archive_write_set_bytes_per_block(made, 1);
  archive_write_open_memory(made, out.data(), out.size(), &used);
  for (const auto& [name, text] : members) {
    struct archive_entry* const entry = archive_entry_new();
    archive_entry_set_pathname_utf8(entry, name.c_str());
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, 0600);
    archive_entry_set_size(entry, static_cast<la_int64_t>(text.size()));
    archive_write_header(made, entry);
    archive_write_data(made, text.data(), text.size());
    archive_entry_free(entry);
  }
  if (archive_write_close(made) != ARCHIVE_OK) throw std::runtime_error("archive_write_close");
  archive_write_free(made);
  ::uselocale(before);
  ::freelocale(names);
  out.resize(used);
  return out;
}

}  // namespace oomdoctor::testing
