#include "text/wire.h"

#include <array>
#include <bit>

#include "base/little_endian.h"

namespace oomdoctor {
namespace {

using ChecksumTable = std::array<std::uint32_t, 256>;

constexpr ChecksumTable make_table(std::uint32_t polynomial) {
  ChecksumTable table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ ((value & 1) != 0 ? polynomial : 0);
    table[byte] = value;
  }
  return table;
}

constexpr ChecksumTable zlib_table = make_table(0xEDB88320), castagnoli_table = make_table(0x82F63B78);

std::uint32_t checksum(std::string_view bytes, const ChecksumTable& table) {
  std::uint32_t value = ~std::uint32_t{0};
  for (const char c : bytes) value = table[(value ^ static_cast<unsigned char>(c)) & 0xFF] ^ value >> 8;
  return ~value;
}

}  // namespace

std::uint32_t crc32(std::string_view bytes) { return checksum(bytes, zlib_table); }
std::uint32_t crc32c(std::string_view bytes) { return checksum(bytes, castagnoli_table); }

bool WireReader::read_varint(std::uint64_t& out) {
  constexpr std::size_t longest = 10;  // bytes of 64 bits
  out = 0;
  for (std::size_t i = 0; i < longest && i < rest_.size(); ++i) {
    const auto byte = static_cast<unsigned char>(rest_[i]);
    out |= static_cast<std::uint64_t>(byte & 0x7F) << 7 * i;
    if ((byte & 0x80) != 0) continue;
    rest_.remove_prefix(i + 1);
    return true;
  }
  return false;
}

bool WireReader::next() {
  std::uint64_t key = 0, size = 0;
  bytes_ = {};
  number_ = 0;
  packed_ = false;
  if (rest_.empty() || !read_varint(key)) return false;
  field_ = key >> 3;
  switch (key & 7) {
    case 0:
      return read_varint(number_);
    case 1:
      size = 8;
      break;
    case 5:
      size = 4;
      break;
    case 2:
      if (!read_varint(size)) return false;
      break;
    default:
      return false;
  }
  if (size > rest_.size()) return false;
  const auto length = static_cast<std::size_t>(size);
  packed_ = (key & 7) == 2;
  if (packed_)
    bytes_ = rest_.substr(0, length);
  else
    number_ = length == 8 ? read_little_endian<std::uint64_t>(rest_) : read_little_endian<std::uint32_t>(rest_);
  rest_.remove_prefix(length);
  return true;
}

double WireReader::as_double() const { return std::bit_cast<double>(number_); }
float WireReader::as_float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(number_)); }

std::optional<double> WireReader::only_double() const {
  if (!packed_) return as_double();
  if (bytes_.size() != sizeof(double)) return std::nullopt;
  return std::bit_cast<double>(read_little_endian<std::uint64_t>(bytes_));
}

std::optional<float> WireReader::only_float() const {
  if (!packed_) return as_float();
  if (bytes_.size() != sizeof(float)) return std::nullopt;
  return std::bit_cast<float>(read_little_endian<std::uint32_t>(bytes_));
}

std::optional<std::int64_t> WireReader::only_integer() const {
  WireReader packed(bytes_);
  std::uint64_t number = number_;
  if (packed_ && (!packed.read_varint(number) || !packed.rest_.empty())) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

}  // namespace oomdoctor
