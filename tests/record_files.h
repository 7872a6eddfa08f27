// Writers of trackers' files: the run file of Weights & Biases and the event file of TensorBoard, byte by byte.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include "text/wire.h"

namespace oomdoctor::testing {

inline std::string little_endian(std::uint64_t value, std::size_t size) {
  std::string out;
  for (std::size_t i = 0; i < size; ++i) out += static_cast<char>(value >> 8 * i & 0xFF);
  return out;
}

inline std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}

// Fields of protobuf messages.
inline std::string number_field(unsigned field, std::uint64_t value) { return varint(field << 3) + varint(value); }
inline std::string bytes_field(unsigned field, std::string_view bytes) {
  return varint(field << 3 | 2) + varint(bytes.size()) + std::string(bytes);
}
inline std::string double_field(unsigned field, double value) {
  return varint(field << 3 | 1) + little_endian(std::bit_cast<std::uint64_t>(value), 8);
}
inline std::string float_field(unsigned field, float value) {
  return varint(field << 3 | 5) + little_endian(std::bit_cast<std::uint32_t>(value), 4);
}

/// A record of an event file.
inline std::string tf_record(std::string_view data) {
  const auto masked = [](std::uint32_t sum) { return (sum >> 15 | sum << 17) + 0xA282EAD8; };
  const std::string length = little_endian(data.size(), 8);
  return length + little_endian(masked(crc32c(length)), 4) + std::string(data) + little_endian(masked(crc32c(data)), 4);
}

inline std::string tf_version() { return tf_record(double_field(1, 1741082400) + bytes_field(3, "brain.Event:2")); }

/// An event with one value.
inline std::string tf_scalar(double time, std::uint64_t step, std::string_view tag, float value) {
  return tf_record(double_field(1, time) + number_field(2, step) +
                   bytes_field(5, bytes_field(1, bytes_field(1, tag) + float_field(2, value))));
}

/// Adds a record to a run file, cut into pieces that do not cross its blocks.
inline void add_wandb_record(std::string& file, std::string_view record) {
  constexpr std::size_t block = 32768, header = 7;
  for (bool first = true;; first = false) {
    if (block - file.size() % block < header) file.append(block - file.size() % block, '\0');
    const std::size_t left = block - file.size() % block;
    const std::size_t size = std::min(left - header, record.size());
    const bool last = size == record.size();
    const char kind = static_cast<char>(first ? last ? 1 : 2 : last ? 4 : 3);
    const std::string data = kind + std::string(record.substr(0, size));
    file += little_endian(crc32(data), 4) + little_endian(size, 2) + data;
    if (last) return;
    record.remove_prefix(size);
  }
}

inline std::string wandb_header() { return std::string(":W&B\xE1\xBE\0", 7); }

inline std::string wandb_timestamp(std::uint64_t seconds) { return number_field(1, seconds); }
inline std::string wandb_item(std::string_view key, std::string_view json) {
  return bytes_field(1, key) + bytes_field(16, json);
}
inline std::string wandb_console(std::string_view text) { return bytes_field(13, bytes_field(3, text)); }
inline std::string wandb_stats(std::uint64_t seconds, std::string_view key, std::string_view json) {
  return bytes_field(7, bytes_field(2, wandb_timestamp(seconds)) + bytes_field(3, wandb_item(key, json)));
}
inline std::string wandb_exit(std::uint64_t code) { return bytes_field(18, code == 0 ? "" : number_field(1, code)); }

}  // namespace oomdoctor::testing
