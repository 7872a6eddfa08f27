#include "render/layout.h"

#include <algorithm>

#include "report/utf8.h"

namespace oomdoctor {
namespace {

/// The length of the longest prefix that takes at most `columns`. At least one character, so that the caller makes
/// progress.
std::size_t prefix_within(std::string_view text, int columns) {
  std::size_t size = 0;
  int used = 0;
  while (size < text.size()) {
    const std::string_view rest = text.substr(size);
    if (rest.starts_with("\x1b[")) {
      const auto end = rest.find('m');
      size += end == std::string_view::npos ? rest.size() : end + 1;
      continue;
    }
    const Utf8Char c = first_character(rest);
    used += count_columns(c.code);
    if (used > columns && size > 0) break;
    size += c.size;
  }
  return size;
}

/// Words that need the number before them on the same line.
bool is_unit(std::string_view word) {
  for (const std::string_view unit : {"KiB", "MiB", "GiB", "TiB", "bytes", "%", "±"})
    if (word.starts_with(unit)) return true;
  return false;
}

/// The end of the unbreakable piece that starts at `from`: a word, a number with its unit, or a citation in brackets.
std::size_t piece_end(std::string_view text, std::size_t from) {
  constexpr std::size_t max_citation = 60;
  if (text.substr(from).starts_with('[')) {
    const auto close = text.find(']', from);
    if (close != std::string_view::npos && close - from < max_citation) from = close;
  }
  auto end = std::min(text.find_first_of(" \n", from), text.size());
  while (end > from && end < text.size() && text[end] == ' ') {
    const bool after_sign = text.substr(from, end - from).ends_with("±");
    if (!is_unit(text.substr(end + 1)) && !after_sign) break;
    end = std::min(text.find_first_of(" \n", end + 1), text.size());
  }
  return end;
}

}  // namespace

std::string Paint::colourize(std::string_view code, std::string_view text) const {
  if (!on || text.empty()) return std::string(text);
  return "\x1b[" + std::string(code) + 'm' + std::string(text) + "\x1b[0m";
}

// Greedy: a line takes as many pieces as fit. Report texts are short, so that better breaks would not be visible.
std::vector<std::string> wrap(std::string_view first, std::string_view text, int width, int hang) {
  if (count_columns(first) > width / 2) {  // there is no room after it: it becomes part of the text
    const auto indent = std::min(first.find_first_not_of(' '), first.size());
    const std::string blanks(std::min(indent, static_cast<std::size_t>(width / 4)), ' ');
    return wrap(blanks, std::string(first.substr(indent)) + std::string(text), width,
                static_cast<int>(blanks.size()) + 2);
  }
  hang = std::min(hang < 0 ? count_columns(first) : hang, width / 2);
  const std::string blank(static_cast<std::size_t>(hang), ' ');
  std::vector<std::string> lines;
  std::string line(first);
  int used = count_columns(first);
  bool empty = true;  // nothing after the indent yet
  const auto next_line = [&] {
    while (!line.empty() && line.back() == ' ') line.pop_back();
    lines.push_back(std::move(line));
    line = blank;
    used = hang;
    empty = true;
  };
  while (!text.empty()) {
    if (text.front() == '\n') {
      next_line();
      text.remove_prefix(1);
      continue;
    }
    const auto blanks = std::min(text.find_first_not_of(' '), text.size());
    const auto end = piece_end(text, blanks);
    std::string_view word = text.substr(blanks, end - blanks);
    text.remove_prefix(end);
    if (word.empty()) continue;
    // Keep blanks inside a line, because they may align columns of a table.
    const int gap = static_cast<int>(empty && !lines.empty() ? 0 : blanks);
    if (used + gap + count_columns(word) > width && !empty)
      next_line();
    else {
      line.append(static_cast<std::size_t>(gap), ' ');
      used += gap;
    }
    while (used + count_columns(word) > width && width > hang) {
      const auto size = prefix_within(word, width - used);
      line += word.substr(0, size);
      word.remove_prefix(size);
      next_line();
    }
    line += word;
    used += count_columns(word);
    empty = false;
  }
  lines.push_back(std::move(line));
  return lines;
}

std::string clip_end(std::string_view text, int width) {
  if (count_columns(text) <= width) return std::string(text);
  return std::string(text.substr(0, prefix_within(text, width - 1))) + "…";
}

std::string clip_middle(std::string_view text, int width) {
  if (count_columns(text) <= width) return std::string(text);
  const int end = (width - 1) / 3;
  std::string_view last = text;
  while (count_columns(last) > end && !last.empty()) last.remove_prefix(first_character(last).size);
  return clip_end(text, width - count_columns(last)).append(last);
}

std::string clip_front(std::string_view text, int width) {
  if (count_columns(text) <= width) return std::string(text);
  while (count_columns(text) > width - 1 && !text.empty()) text.remove_prefix(first_character(text).size);
  return "…" + std::string(text);
}

std::string pad(std::string_view text, int width) {
  const int missing = std::max(0, width - count_columns(text));
  return std::string(text) + std::string(static_cast<std::size_t>(missing), ' ');
}

void Page::heading(std::string_view title) {
  if (!empty()) blank();
  text("", paint.bold(title));
}

std::string Page::str() const {
  std::string out;
  for (const auto& line : lines_) out += line + '\n';
  return paint.ascii ? in_ascii(out) : out;
}

}  // namespace oomdoctor
