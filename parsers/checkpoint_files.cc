// Checkpoint files in the output of "ls -l": a program that loads them reads all of their bytes into host RAM first,
// unless it maps them.
#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "base/ascii.h"
#include "base/bytes.h"
#include "read/context.h"
#include "read/parser.h"

namespace oomdoctor::parsers::checkpoint_files {
namespace {

constexpr auto endings = std::to_array<std::string_view>({".pth", ".pt", ".bin", ".safetensors", ".ckpt", ".gguf"});

/// The next word of the text, which is removed.
std::string_view take_word(std::string_view& text) {
  text = trimmed(text);
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end);
  return word;
}

/// "-rw-r--r-- 1 user users 13476839424 Jul 15  2023 consolidated.00.pth": the size of a checkpoint file; of "ls -lh",
/// "13G".
std::optional<i64> read_listed(std::string_view line) {
  static constexpr std::string_view mode = "-rwxst.+@";
  std::string_view rest = line;
  const std::string_view permissions = take_word(rest);
  if (permissions.size() < 10 || (permissions[0] != '-' && permissions[0] != 'l') || permissions[1] != 'r' ||
      permissions.substr(1).find_first_not_of(mode) != permissions.npos)
    return std::nullopt;
  if (!only_digits(take_word(rest))) return std::nullopt;
  take_word(rest), take_word(rest);  // owner and group
  const std::string_view size = take_word(rest);
  const bool checkpoint =
      std::any_of(endings.begin(), endings.end(), [&](std::string_view end) { return trimmed(rest).ends_with(end); });
  if (!checkpoint || size.empty() || !is_digit(size[0])) return std::nullopt;
  if (only_digits(size)) return leading_integer(size);
  const auto read = read_bytes(size.substr(0, size.size() - 1), size.substr(size.size() - 1));
  return read ? std::optional(read->count) : std::nullopt;
}

}  // namespace

bool is_listed(std::string_view line) { return read_listed(line).has_value(); }

/// The first file of a listing reports all of it.
void list(const Match& m, EventSink& sink) {
  constexpr int max_files = 200;
  constexpr i64 of_weights = 100 * MiB;  // smaller files are tokenizers and settings
  bool goes_on = false;
  m.cursor.backward(1, [&](const Line& line) { return goes_on = is_listed(line.text), false; });
  if (goes_on) return;
  i64 count = 0, largest = 0, sum = 0;
  const auto add = [&](std::string_view line) {
    const auto size = read_listed(line);
    if (!size) return false;
    if (*size < of_weights) return true;
    ++count;
    sum = saturated_sum(sum, *size);
    largest = std::max(largest, *size);
    return true;
  };
  add(m.cursor.line().text);
  Line list = m.cursor.line();
  m.cursor.forward(max_files, [&](const Line& line) {
    const i64 before = count;
    const bool listed = add(line.text);
    if (count > before) list.last = line.last;
    return listed;
  });
  if (count == 0) return;
  sink.cite(list);
  sink.setting("checkpoint_files", std::to_string(count));
  sink.setting("checkpoint_largest", decimal_bytes_text(largest));
  sink.setting("checkpoint_size", decimal_bytes_text(sum));
}

}  // namespace oomdoctor::parsers::checkpoint_files
