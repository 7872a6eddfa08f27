// Pieces of binary record files: checksums, and the fields of a protobuf message. All of it is bounded by the bytes at
// hand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace oomdoctor {

/// The checksum of zlib and gzip.
std::uint32_t crc32(std::string_view bytes);
/// The checksum of TFRecord and others (Castagnoli).
std::uint32_t crc32c(std::string_view bytes);

/// The fields of one protobuf message, in their order. Messages inside it are bytes, for a reader of their own.
class WireReader {
 public:
  explicit WireReader(std::string_view message) : rest_(message) {}

  /// Moves to the next field. False at the end, and for what is not a field: the rest of the message is then not read.
  bool next();

  std::uint64_t field() const { return field_; }
  std::uint64_t number() const { return number_; }   ///< of a varint or a fixed number; 0 for bytes
  std::string_view bytes() const { return bytes_; }  ///< of a field of bytes; "" for numbers
  double as_double() const;                          ///< of 8 fixed bytes
  float as_float() const;                            ///< of 4 fixed bytes
  /// The number of a repeated field with one element, which may be packed into bytes; nullopt for several.
  std::optional<double> only_double() const;
  std::optional<float> only_float() const;
  std::optional<std::int64_t> only_integer() const;

 private:
  bool read_varint(std::uint64_t& out);

  std::string_view rest_, bytes_;
  std::uint64_t field_ = 0, number_ = 0;
  bool packed_ = false;  ///< the field is one of bytes
};

}  // namespace oomdoctor
