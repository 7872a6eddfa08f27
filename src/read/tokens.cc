#include "read/tokens.h"

#include <algorithm>

#include "base/ascii.h"
#include "text/lines.h"
#include "text/number_spans.h"

namespace oomdoctor {
namespace {

constexpr std::size_t max_tokens = 200;

/// The end of the blocks of a bar that begin at `at`, "████▌" or "########"; `at` if there are none. A bar may be as
/// wide as any terminal.
std::size_t end_of_blocks(std::string_view line, std::size_t at) {
  constexpr std::string_view block = "\xE2\x96";  // U+2580 to U+259F have three bytes
  constexpr std::size_t min_hashes = 8;           // "##" may begin a heading
  std::size_t end = at;
  while (end + 3 <= line.size() && line.substr(end, block.size()) == block) end += 3;
  if (end > at) return end;
  while (end < line.size() && line[end] == '#') ++end;
  return end - at >= min_hashes ? end : at;
}

}  // namespace

std::optional<Token> TokenReader::next() {
  while (at_ < line_.size() && is_blank(line_[at_])) ++at_;
  if (at_ == line_.size() || read_ == max_tokens) return std::nullopt;
  ++read_;
  Token t;
  t.begin = at_;
  if (is_letter_or_underscore(line_[at_])) {
    while (at_ < line_.size() && is_word_char(line_[at_])) ++at_;
    t.kind = Token::Kind::word;
  } else if (const auto number = is_digit(line_[at_]) ? read_number(line_, at_) : std::nullopt) {
    t.kind = Token::Kind::number;
    t.number = *number;
  } else {
    at_ = std::max(at_ + 1, end_of_blocks(line_, at_));
  }
  t.end = at_;
  t.text = line_.substr(t.begin, t.end - t.begin);
  t.name = lowered_.substr(t.begin, t.end - t.begin);
  return t;
}

bool one_of(std::string_view word, std::initializer_list<std::string_view> list) {
  for (const std::string_view x : list)
    if (x.size() == word.size() && (x.empty() || x[0] == word[0]) && x == word) return true;
  return false;
}

std::optional<Unit> read_unit(std::string_view word, bool glued) {
  const std::string w = lower(word);
  const bool apart = !glued && one_of(word, {"G", "M"});  // "Mem: 1.96 G"
  if (w.size() == 1 && !apart && (!glued || !one_of(w, {"g", "m", "k", "b"}))) return std::nullopt;
  if (w == "gbs" || w == "mbs" || w == "t") return std::nullopt;
  const auto bytes = unit_bytes(w);
  if (!bytes) return std::nullopt;
  return Unit{static_cast<double>(*bytes), word, *bytes > 1 && w.find('i') == w.npos};
}

namespace {

/// "[it 50", "[epoch 3, batch 40", "[40/2000": a position in the run, not the name of a logger. "[before epochs" names
/// a moment.
bool names_position(std::string_view inside) {
  for (const std::string_view moment : {"[before ", "[after "})
    if (inside.starts_with(moment) && inside.find_first_of("0123456789") == inside.npos) return false;
  for (const std::string_view word : {"step", "epoch", "iter"})
    if (inside.find(word) != inside.npos) return true;
  if (inside.find('/') != inside.npos && inside.find(':') == inside.npos) return true;
  for (std::size_t at = 0; at < inside.size();) {
    std::size_t end = at;
    while (end < inside.size() && is_lower(inside[end])) ++end;
    const std::size_t number = std::min(inside.find_first_not_of(" :=#", end), inside.size());
    if (one_of(inside.substr(at, end - at), {"it", "itr", "batch", "update", "ep"}) && number < inside.size() &&
        is_digit(inside[number]))
      return true;
    at = std::max(end, at + 1);
  }
  return false;
}

}  // namespace

/// Skips up to six brackets and time stamps, then a "… INFO … - " or "… DEBUG … - ". Records how many bytes it
/// examined, because a template applies only to lines that agree in them.
LogHead log_head(std::string_view line) {
  constexpr std::size_t window = 80, max_time_bytes = 40;
  const LinePrefix prefix = peel_prefix(line);
  LogHead head{.length = std::min(prefix.length, line.size()), .bytes_examined = prefix.bytes_examined};
  std::string_view rest = line.substr(head.length);
  const auto advance = [&](std::size_t size) {
    rest.remove_prefix(std::min(size, rest.size()));
    head.length = line.size() - rest.size();
  };
  const auto examine = [&](std::size_t most) {
    head.bytes_examined = std::max(head.bytes_examined, head.length + most);
  };
  const auto skip = [&] { advance(rest.find_first_not_of(" \t-:|,")); };
  for (int i = 0; i < 6; ++i) {
    skip();
    examine(!rest.empty() && is_digit(rest[0]) ? max_time_bytes : 1);
    if (rest.starts_with('[')) {
      const std::size_t close = rest.substr(0, window).find(']');
      examine(close == rest.npos ? window : close + 1);
      const std::string inside = lower(rest.substr(0, close));
      if (close == rest.npos || names_position(inside)) break;
      head.tag = rest.substr(1, close - 1);
      advance(close + 1);
    } else if (looks_like_time(rest)) {
      head.by_time = true;
      const auto time = read_time(rest);
      if (!time) break;
      advance(time->length);
    } else {
      break;
    }
  }
  const std::string_view front = line.substr(0, line_front);
  std::size_t level = front.npos, after = 0;
  for (const std::string_view word : {"INFO", "DEBUG"})
    if (const std::size_t at = front.find(word, head.length); at < level) level = at, after = at + word.size();
  if (level == front.npos) return head;
  const std::size_t dash = front.find(" - ", level);
  advance((dash == front.npos ? after : dash + 3) - head.length);
  skip();
  return head;
}

}  // namespace oomdoctor
