#include "text/event_player.h"

#include <algorithm>
#include <bit>
#include <vector>

#include <fmt/format.h>

#include "base/little_endian.h"
#include "text/scalar_line.h"
#include "text/wire.h"

namespace oomdoctor {
namespace {

constexpr std::size_t header_size = 12, trailer_size = 4;
/// Bytes. Longer records are pictures, sounds and graphs, never a few numbers.
constexpr std::uint64_t longest_record = 1 << 20;
/// Bytes. A length beyond is damaged, whatever its checksum says.
constexpr std::uint64_t longest_length = std::uint64_t{1} << 40;

/// TFRecord stores a checksum rotated and with a constant added, because data may contain checksums.
std::uint32_t masked(std::uint32_t checksum) { return (checksum >> 15 | checksum << 17) + 0xA282EAD8; }

/// The only element of a tensor; nullopt if it has none or several.
std::optional<double> read_tensor(std::string_view message) {
  enum : std::uint64_t { float_type = 1, double_type = 2, int_type = 3, long_type = 9 };
  std::uint64_t type = 0;
  std::optional<double> value;
  std::string_view content;
  for (WireReader field(message); field.next();) switch (field.field()) {
      case 1:
        type = field.number();
        break;
      case 4:
        content = field.bytes();
        break;
      case 5:
        value = field.only_float();
        break;
      case 6:
        value = field.only_double();
        break;
      case 7:
      case 10:
        if (const auto number = field.only_integer()) value = static_cast<double>(*number);
        break;
      default:
        break;
    }
  if (content.empty()) return value;
  const std::size_t size = content.size();
  if (type == float_type && size == 4) return std::bit_cast<float>(read_little_endian<std::uint32_t>(content));
  if (type == double_type && size == 8) return std::bit_cast<double>(read_little_endian<std::uint64_t>(content));
  if (type == int_type && size == 4) return read_little_endian<std::int32_t>(content);
  if (type == long_type && size == 8) return static_cast<double>(read_little_endian<std::int64_t>(content));
  return std::nullopt;
}

/// Plays one event: its scalars, in their order.
void play_event(std::string_view message, std::string& out) {
  Scalar scalar;
  std::vector<std::string_view> summaries;
  for (WireReader field(message); field.next();) {
    if (field.field() == 1) scalar.time = field.as_double();
    if (field.field() == 2) scalar.step = static_cast<std::int64_t>(field.number());
    if (field.field() == 5) summaries.push_back(field.bytes());
  }
  if (!scalar.step) scalar.step = 0;  // protobuf leaves a zero out
  for (const std::string_view summary : summaries)
    for (WireReader value(summary); value.next();) {
      if (value.field() != 1) continue;
      std::string_view tag;
      std::optional<double> number;
      for (WireReader part(value.bytes()); part.next();) {
        if (part.field() == 1) tag = part.bytes();
        if (part.field() == 2) number = part.as_float();
        if (part.field() == 8) number = read_tensor(part.bytes());
      }
      if (!number || tag.empty()) continue;
      scalar.value = *number;
      append_scalar(scalar, tag, out);
    }
}

}  // namespace

bool EventPlayer::wanted(std::string_view head) {
  constexpr std::size_t look = 64;  // the first record is the version of the file, and nothing else
  return head.size() >= header_size &&
         masked(crc32c(head.substr(0, 8))) == read_little_endian<std::uint32_t>(head, 8) &&
         head.substr(header_size, look).find("brain.Event:") != head.npos;
}

/// Plays the record at the front of `bytes`. Returns its size; 0 if it needs more bytes or is damaged.
std::uint64_t EventPlayer::take_record(std::string_view bytes, std::string& out) {
  if (bytes.size() < header_size) return 0;
  const std::uint64_t length = read_little_endian<std::uint64_t>(bytes);
  if (length > longest_length || masked(crc32c(bytes.substr(0, 8))) != read_little_endian<std::uint32_t>(bytes, 8)) {
    stopped_ = offset_;
    return 0;
  }
  const std::uint64_t whole = header_size + length + trailer_size;
  if (length > longest_record) return whole;
  if (bytes.size() < whole) return 0;
  const std::string_view data = bytes.substr(header_size, static_cast<std::size_t>(length));
  if (masked(crc32c(data)) == read_little_endian<std::uint32_t>(bytes, header_size + data.size()))
    play_event(data, out);
  else
    ++damaged_;
  return whole;
}

void EventPlayer::feed(std::string_view raw, std::string& out) {
  if (stopped_) return;
  rest_.append(raw);
  std::size_t done = 0;
  while (!stopped_) {
    const std::uint64_t dropped = std::min<std::uint64_t>(skip_, rest_.size() - done);
    done += static_cast<std::size_t>(dropped), skip_ -= dropped, offset_ += dropped;
    if (skip_ > 0) break;
    skip_ = take_record(std::string_view(rest_).substr(done), out);
    if (skip_ == 0) break;
  }
  rest_.erase(0, stopped_ ? rest_.npos : done);
}

void EventPlayer::finish(std::string&) { cut_ = !stopped_ && (!rest_.empty() || skip_ > 0); }

std::string EventPlayer::damage() const {
  std::string words;
  if (stopped_) words = fmt::format("is damaged at byte {}, and its rest was not read", *stopped_);
  if (cut_) words = "ends in the middle of an event";
  if (damaged_ > 0)
    words += fmt::format("{}has {} {} with a wrong checksum, which oomdoctor left out",
                         words.empty() ? "" : ", and it ", damaged_, damaged_ == 1 ? "event" : "events");
  return words;
}

}  // namespace oomdoctor
