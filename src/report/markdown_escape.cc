// Markdown that shows a text and does nothing else. A renderer first resolves the escapes, and then GitHub and GitLab
// look for references in what is left: "#12", "@user", "group/project!7", "%12", "~label", "GH-12", commit hashes. So
// no escape stops them. A gap does: an empty comment, which is not visible and separates two pieces of text.
#include <fmt/format.h>

#include <algorithm>

#include "base/ascii.h"
#include "report/escape.h"

namespace oomdoctor {
namespace {

constexpr std::string_view gap = "<!-- -->";

/// The first byte of what a reference names, after its sign: a number, a name, a quoted name, a character of UTF-8.
bool starts_name(char c) {
  return is_dashed_name_char(c) || c == '"' || c == '[' || static_cast<unsigned char>(c) >= 0x80;
}

/// Whether the character at byte `at` is the last of "www", as in an address without a scheme.
bool is_www(std::string_view text, std::size_t at) { return at >= 2 && lower(text.substr(at - 2, 3)) == "www"; }

/// Whether the ":" at byte `at` begins the name of an emoji: ":bug:". The ":" that ends it may come
/// after the text.
bool is_emoji(std::string_view text, std::size_t at) {
  std::size_t end = at + 1;
  while (end < text.size() && (is_dashed_name_char(text[end]) || text[end] == '+')) ++end;
  return end > at + 1 && (end == text.size() || text[end] == ':');
}

/// Whether the "-" at byte `at` is inside the number of a ticket or of an advisory: "GH-12", "PROJ-12", "GHSA-4xqq-…".
bool is_ticket(std::string_view text, std::size_t at) {
  std::size_t begin = at;
  while (begin > 0 && is_word_char(text[begin - 1])) --begin;
  const std::string_view prefix = text.substr(begin, at - begin);
  const char next = at + 1 < text.size() ? text[at + 1] : ' ';
  if (prefix.empty() || !is_letter(prefix[0])) return false;
  if (lower(prefix) == "ghsa") return is_alnum(next);
  const bool issue = lower(prefix) == "gh" || lower(prefix) == "gl";
  return is_digit(next) && (issue || std::none_of(prefix.begin(), prefix.end(), is_lower));
}

/// Whether the renderer must not see the characters at `at` and `at + 1` in one piece of text.
bool needs_gap(std::string_view text, std::size_t at) {
  const std::string_view rest = text.substr(at + 1);
  const char next = rest.empty() ? ' ' : rest[0];
  switch (text[at]) {
    case '@':
      return true;
    case '#':
      return at == 0 || starts_name(next);  // a heading, a reference
    case '!':
    case '$':
    case '%':
    case '&':
    case '*':
      return starts_name(next);
    case '~':
      return next != ' ';  // the name of a label may begin with any character
    case '[':
    case '{':
      return starts_name(next) || next == '+';
    case ':':
      return rest.starts_with("//") || is_emoji(text, at);
    case '-':
      return is_ticket(text, at);
    default:
      return (is_word_char(text[at]) && next == '>') || (next == '.' && is_www(text, at));  // "group/project>"
  }
}

/// Finds the words that may be hashes of commits while a text is read from left to right.
class CommitHashes {
 public:
  explicit CommitHashes(std::string_view text) : text_(text) {}

  /// Whether byte `at` ends a piece of a hash, which is shorter than what a reference needs.
  bool ends_piece(std::size_t at) {
    constexpr std::size_t min_hash = 7, piece = min_hash - 1;
    if (at >= end_) {
      begin_ = at;
      end_ = at + 1;
      if (is_word_char(text_[at]))
        while (end_ < text_.size() && is_word_char(text_[end_])) ++end_;
      const std::string_view word = text_.substr(begin_, end_ - begin_);
      is_hash_ = word.size() >= min_hash && std::all_of(word.begin(), word.end(), is_hex_digit);
    }
    return is_hash_ && (at - begin_) % piece == piece - 1 && at + 1 < end_;
  }

 private:
  std::string_view text_;
  std::size_t begin_ = 0, end_ = 0;
  bool is_hash_ = false;
};

/// Whether the character at byte `at` would make the line an item of a list, a rule, the underline of a heading, or a
/// command of GitLab such as "/close".
bool begins_block(std::string_view text, std::size_t at) {
  const char c = text[at];
  const bool ends = at + 1 == text.size() || text[at + 1] == ' ';
  if (c == '.' || c == ')') return ends && at > 0 && only_digits(text.substr(0, at));
  if (at > 0) return false;
  constexpr std::string_view lowercase = "abcdefghijklmnopqrstuvwxyz_";
  if (c == '/')
    return std::min(text.find_first_not_of(lowercase, 1), text.size()) == std::min(text.find(' '), text.size());
  return c == '=' || ((c == '-' || c == '+') && (ends || text[1] == c));
}

/// The character at byte `at` so that it is not markup.
std::string markdown_character(std::string_view text, std::size_t at) {
  const char c = text[at];
  if (c == '<') return "&lt;";
  if (c == '>') return "&gt;";
  if (c == '&') return "&amp;";
  const bool escape = begins_block(text, at) || std::string_view("\\`*_[]|~$").find(c) != std::string_view::npos;
  return (escape ? "\\" : "") + std::string(1, c);
}

std::size_t longest_run(std::string_view text, char of) {
  std::size_t longest = 0, run = 0;
  for (const char c : text) {
    run = c == of ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return longest;
}

}  // namespace

std::string markdown_inline(std::string_view text) {
  std::string out;
  const std::string whole = plain_line(text);
  const std::string_view safe = trimmed(whole);
  CommitHashes hashes(safe);
  for (std::size_t i = 0; i < safe.size(); ++i) {
    out += markdown_character(safe, i);
    if (hashes.ends_piece(i) || needs_gap(safe, i)) out += gap;
  }
  return out;
}

std::string markdown_code(std::string_view text) {
  const std::string safe = plain_line(text);
  const std::string ticks(longest_run(safe, '`') + 1, '`');
  if (safe.empty()) return "` `";
  const bool pad = safe.front() == '`' || safe.back() == '`';
  return ticks + (pad ? " " : "") + safe + (pad ? " " : "") + ticks;
}

std::string markdown_fence(std::string_view text, std::string_view language) {
  const std::string safe = plain_block(text);
  const std::string fence(std::max<std::size_t>(3, longest_run(safe, '`') + 1), '`');
  return fmt::format("{}{}\n{}\n{}\n", fence, language, safe, fence);
}

}  // namespace oomdoctor
