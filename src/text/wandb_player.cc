#include "text/wandb_player.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "base/little_endian.h"
#include "text/scalar_line.h"
#include "text/wire.h"

namespace oomdoctor {
namespace {

constexpr std::string_view magic(":W&B\xE1\xBE\0", 7);
constexpr std::size_t block_size = 32768, piece_header = 7;
/// Bytes of a record that is kept. Longer ones hold media or code.
constexpr std::size_t longest_record = 8 << 20;
/// Bytes of console output without a line end, as a progress bar prints them.
constexpr std::size_t longest_line = 1 << 16;
/// Values of one record: a run may log every weight of its model.
constexpr std::size_t most_values = 256;
/// A double holds every whole number below, and no run has more steps.
constexpr double largest_step = 1e15;

enum WandbPieceKind : unsigned { padding = 0, whole = 1, first = 2, middle = 3, last = 4 };

/// A key and its value in JSON, of a configuration, a sample or a step.
struct Item {
  std::string key;
  std::string_view json;
};

Item read_item(std::string_view message) {
  Item item;
  std::string nested;
  for (WireReader field(message); field.next();) {
    if (field.field() == 1) item.key = field.bytes();
    if (field.field() == 2) nested.append(nested.empty() ? "" : ".").append(field.bytes());
    if (field.field() == 16) item.json = field.bytes();
  }
  if (item.key.empty()) item.key = std::move(nested);
  return item;
}

std::optional<double> read_json_number(std::string_view json) {
  double value = 0;
  const auto [end, error] = std::from_chars(json.data(), json.data() + json.size(), value);
  return error == std::errc() && end == json.data() + json.size() ? std::optional(value) : std::nullopt;
}

/// Seconds since 1970 of a Timestamp.
std::optional<double> read_timestamp(std::string_view message) {
  double seconds = 0, nanoseconds = 0;
  for (WireReader field(message); field.next();) {
    if (field.field() == 1) seconds = static_cast<double>(static_cast<std::int64_t>(field.number()));
    if (field.field() == 2) nanoseconds = static_cast<double>(static_cast<std::int32_t>(field.number()));
  }
  return seconds > 0 ? std::optional(seconds + nanoseconds * 1e-9) : std::nullopt;
}

/// The values of a step. The step is a message of its own or a key.
void play_history(std::string_view message, std::string& out) {
  Scalar scalar;
  std::vector<std::pair<std::string, double>> values;
  for (WireReader field(message); field.next();) {
    if (field.field() == 2)
      for (WireReader step(field.bytes()); step.next();)
        if (step.field() == 1) scalar.step = static_cast<std::int64_t>(step.number());
    if (field.field() != 1 || values.size() >= most_values) continue;
    const Item item = read_item(field.bytes());
    const auto number = read_json_number(item.json);
    if (!number) continue;
    if (item.key == "_timestamp") scalar.time = number;
    if (item.key == "_step" && std::abs(*number) <= largest_step) scalar.step = static_cast<std::int64_t>(*number);
    if (!item.key.starts_with('_')) values.emplace_back(item.key, *number);
  }
  for (const auto& [key, value] : values) {
    scalar.value = value;
    append_scalar(scalar, key, out);
  }
}

/// The samples of the system: gpu.0.memoryAllocatedBytes, proc.memory.rssMB.
void play_stats(std::string_view message, std::string& out) {
  Scalar scalar;
  std::vector<Item> items;
  for (WireReader field(message); field.next();) {
    if (field.field() == 2) scalar.time = read_timestamp(field.bytes());
    if (field.field() == 3 && items.size() < most_values) items.push_back(read_item(field.bytes()));
  }
  for (const Item& item : items) {
    const auto number = read_json_number(item.json);
    if (!number) continue;
    scalar.value = *number;
    append_scalar(scalar, "system/" + item.key, out);
  }
}

/// The configuration as "key: value", each on its line. Objects and lists are left out.
void play_config(std::string_view message, std::string& out) {
  constexpr std::size_t longest = 120;  // bytes of a key or of a value
  std::size_t values = 0;
  for (WireReader field(message); field.next();) {
    if (field.field() != 1 || ++values > most_values) continue;
    const Item item = read_item(field.bytes());
    std::string_view json = item.json;
    if (item.key.empty() || item.key.starts_with('_') || json.empty()) continue;
    if (item.key.size() > longest || json.size() > longest) continue;
    if (json[0] == '{' || json[0] == '[') continue;
    const auto printable = [](std::string_view text) {
      return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) >= ' '; });
    };
    if (json.size() > 1 && json.front() == '"') json = json.substr(1, json.size() - 2);
    if (printable(item.key) && printable(json)) out += fmt::format("{}: {}\n", item.key, json);
  }
}

/// The record of the run itself: wandb.init() writes its configuration into it.
void play_run(std::string_view message, std::string& out) {
  enum : std::uint64_t { config = 4 };
  for (WireReader field(message); field.next();)
    if (field.field() == config) play_config(field.bytes(), out);
}

}  // namespace

/// The last byte of the header is the version of the format: another version is played as well, as far as it is whole.
bool WandbPlayer::wanted(std::string_view head) { return head.starts_with(magic.substr(0, magic.size() - 1)); }

/// Keeps the text after the last line end of each stream: a value of another record may come before its rest.
void WandbPlayer::play_output(std::string_view message, bool whole_lines, std::string& out) {
  std::size_t stream = 0;
  std::string_view text;
  for (WireReader field(message); field.next();) {
    if (field.field() == 1) stream = field.number() == 0 ? 0 : 1;
    if (field.field() == 3) text = field.bytes();
  }
  std::string& open = console_[stream];
  open.append(text);
  if (whole_lines && !text.ends_with('\n')) open += '\n';
  std::size_t end = open.find_last_of("\r\n");
  if (end == open.npos && open.size() > longest_line) open += '\n', end = open.size() - 1;
  if (end == open.npos) return;
  out.append(open, 0, end + 1);
  if (open[end] == '\r') out += '\n';
  open.erase(0, end + 1);
}

void WandbPlayer::flush_console(std::string& out) {
  for (std::string& open : console_) {
    if (!open.empty()) out.append(open) += '\n';
    open.clear();
  }
}

void WandbPlayer::play_record(std::string_view message, std::string& out) {
  enum : std::uint64_t { history = 2, output = 4, config = 5, stats = 7, raw_output = 13, run = 17, exit = 18 };
  for (WireReader field(message); field.next();) switch (field.field()) {
      case history:
        play_history(field.bytes(), out);
        break;
      case stats:
        play_stats(field.bytes(), out);
        break;
      case config:
        play_config(field.bytes(), out);
        break;
      case run:
        play_run(field.bytes(), out);
        break;
      case output:
      case raw_output:
        play_output(field.bytes(), field.field() == output, out);
        break;
      case exit: {
        std::int64_t code = 0;  // protobuf leaves a zero out
        for (WireReader part(field.bytes()); part.next();)
          if (part.field() == 1) code = static_cast<std::int32_t>(part.number());
        flush_console(out);
        out += fmt::format("oomdoctor wandb exit {}\n", code);
        break;
      }
      default:
        break;
    }
}

void WandbPlayer::add_piece(unsigned kind, std::string_view data, std::string& out) {
  if (kind == whole) return play_record(data, out);
  if (kind == first) record_.clear(), in_record_ = true;
  if (!in_record_) return;  // its first piece is damaged
  if (record_.size() + data.size() > longest_record) {
    in_record_ = false;
    record_.clear();
    ++long_;
    return;
  }
  record_.append(data);
  if (kind != last) return;
  in_record_ = false;
  play_record(record_, out);
}

/// Plays the piece at the front of `bytes`. Returns its size with the padding after it; 0 if it needs more bytes.
std::size_t WandbPlayer::take_piece(std::string_view bytes, std::string& out) {
  if (offset_ == 0) return bytes.size() < magic.size() ? 0 : magic.size();
  const std::size_t left = block_size - static_cast<std::size_t>(offset_ % block_size);
  const auto rest_of_block = [&] { return bytes.size() < left ? 0 : left; };
  if (left < piece_header) return rest_of_block();
  if (bytes.size() < piece_header) return 0;
  const std::size_t size = read_little_endian<std::uint16_t>(bytes, 4);
  const unsigned kind = static_cast<unsigned char>(bytes[6]);
  if (kind == padding && size == 0) return rest_of_block();
  const std::size_t needed = piece_header + size;
  const bool fits = kind <= last && needed <= left;
  if (fits && bytes.size() < needed) return 0;
  if (!fits || crc32(bytes.substr(6, 1 + size)) != read_little_endian<std::uint32_t>(bytes)) {
    // The next block begins with a piece of its own. At the end of the file, nothing follows.
    if (bytes.size() < left) return 0;
    ++damaged_;
    in_record_ = false;
    return left;
  }
  add_piece(kind, bytes.substr(piece_header, size), out);
  return needed;
}

void WandbPlayer::feed(std::string_view raw, std::string& out) {
  rest_.append(raw);
  std::size_t done = 0;
  while (const std::size_t taken = take_piece(std::string_view(rest_).substr(done), out))
    done += taken, offset_ += taken;
  rest_.erase(0, done);
}

void WandbPlayer::finish(std::string& out) {
  // A run that still writes, or was killed, leaves a piece unfinished, or zeros.
  cut_ = in_record_ || rest_.find_first_not_of('\0') != rest_.npos;
  flush_console(out);
}

std::string WandbPlayer::damage() const {
  std::string words;
  const auto add = [&](std::string more) { words += (words.empty() ? "" : ", and it ") + more; };
  if (cut_) add("ends in the middle of a record");
  if (damaged_ > 0)
    add(fmt::format("is damaged in {} of its blocks of 32 KiB, which oomdoctor left out from there on", damaged_));
  if (long_ > 0)
    add(fmt::format("has {} {} over 8 MiB, which oomdoctor left out", long_, long_ == 1 ? "record" : "records"));
  return words;
}

}  // namespace oomdoctor
