#include "redact/secret_values.h"

#include <algorithm>
#include <string>

#include "base/ascii.h"

namespace oomdoctor {
namespace {

constexpr std::size_t max_name = 80, min_value = 6, max_value = 4000;

/// Ends of secret names, in lower case and with "_" for "-". `token` is also a word of language models, see
/// is_random().
struct Ending {
  std::string_view word, kind;
  bool whole = false;  ///< the word must be the whole name
};
constexpr Ending endings[] = {
    {"password", "password"}, {"passwd", "password"},    {"passphrase", "password"}, {"_pwd", "password"},
    {"secret", "secret"},     {"credentials", "secret"}, {"api_key", "key"},         {"apikey", "key"},
    {"access_key", "key"},    {"accesskey", "key"},      {"access_key_id", "key"},   {"accesskeyid", "key"},
    {"secret_key", "key"},    {"secretkey", "key"},      {"secretaccesskey", "key"}, {"account_key", "key"},
    {"accountkey", "key"},    {"private_key", "key"},    {"auth_key", "key"},        {"encryption_key", "key"},
    {"signing_key", "key"},   {"kaggle_key", "key"},     {"token", "token"},         {"_auth", "token"},
    {"auth", "token", true},
};

std::string normal(std::string_view name) {
  std::string out(name);
  for (char& c : out) c = c == '-' ? '_' : lower(c);
  return out;
}

const Ending* find_ending(std::string_view name) {
  // The last letters of all endings, in both cases. Most words fail here, so this check is cheap.
  if (std::string_view("dehsyntDEHSYNT").find(name.back()) == std::string_view::npos) return nullptr;
  const std::string small = normal(name);
  for (const Ending& ending : endings)
    if (ending.whole ? small == ending.word : small.ends_with(ending.word)) return &ending;
  return nullptr;
}

std::size_t skip_blanks(std::string_view text, std::size_t at) {
  while (at < text.size() && is_blank(text[at])) ++at;
  return at;
}

bool is_quote(char c) { return c == '"' || c == '\'' || c == '`'; }

/// The start of the value after a name: after "=" or ":", after a blank if the name is an option or the value is
/// quoted, or inside an element.
std::optional<std::size_t> find_value_start(std::string_view text, std::size_t at, bool option, bool element) {
  if (element && at < text.size() && text[at] == '>') return at + 1;
  if (const std::size_t next = skip_blanks(text, at); next > at && next < text.size() && is_quote(text[next]))
    return next;
  if (at < text.size() && is_quote(text[at])) ++at;
  const std::size_t sign = skip_blanks(text, at);
  if (sign < text.size() && (text[sign] == '=' || text[sign] == ':'))
    return skip_blanks(text,
                       sign + (text.substr(sign).starts_with("=>") || text.substr(sign).starts_with(":=") ? 2 : 1));
  if (option && sign > at) return sign;
  return std::nullopt;
}

/// The characters that end a value in shells, URLs, JSON and Python.
bool ends_value(char c) {
  switch (c) {
    case ' ':
    case '\t':
    case '\r':
    case '\n':
    case '"':
    case '\'':
    case '`':
    case ',':
    case ';':
    case '&':
    case ')':
    case '}':
    case ']':
    case '<':
    case '>':
      return true;
    default:
      return false;
  }
}

/// The value between quotation marks, or up to the character that ends it.
std::string_view read_value(std::string_view text, std::size_t at) {
  if (at >= text.size()) return {};
  const bool quoted = is_quote(text[at]);
  const std::size_t begin = quoted ? at + 1 : at;
  std::size_t end = begin;
  while (end < text.size() && end - begin < max_value &&
         (quoted ? text[end] != text[at] && !ends_line(text[end]) : !ends_value(text[end])))
    ++end;
  return text.substr(begin, end - begin);
}

bool is_number(std::string_view value) {
  return value.find_first_not_of("0123456789.,_+-eE%") == std::string_view::npos;
}

/// Source code in a traceback: "args.password", "os.environ[", "get_token(".
bool is_code(std::string_view value) {
  if (value.find_first_of("([{") != std::string_view::npos) return true;
  const bool name = std::all_of(value.begin(), value.end(), is_dotted_name_char);
  const std::size_t point = value.find('.');
  return name && point != std::string_view::npos && point > 0 && !is_digit(value[0]) && !is_digit(value[point - 1]);
}

bool is_placeholder(std::string_view value) {
  constexpr std::string_view open = "<${[";  // <TOKEN>, ${TOKEN}, {{ token }}, [redacted
  return open.find(value[0]) != std::string_view::npos || value.starts_with("%(") ||
         value.find_first_not_of('*') == std::string_view::npos || value == "undefined" || value == "unknown" ||
         value == "default" || value == "required" || value == "disabled";
}

/// In the log of a language model, `token` is usually followed by a word, or by a word and its number. A secret mixes
/// letters and digits.
bool is_random(std::string_view value) {
  constexpr int min_changes = 3;
  int changes = 0;
  char before = 0;
  for (const char c : value) {
    if (!is_alnum(c)) continue;
    changes += before != 0 && is_digit(c) != is_digit(before);
    before = c;
  }
  return changes >= min_changes;
}

}  // namespace

std::optional<Secret> secret_value(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && end - at < max_name && is_dashed_name_char(text[end])) ++end;
  const std::string_view name = text.substr(at, end - at);
  const Ending* ending = name.size() < 4 ? nullptr : find_ending(name);
  if (!ending) return std::nullopt;
  const bool option = at >= 2 && text.substr(at - 2, 2) == "--", element = at >= 1 && text[at - 1] == '<';
  const auto begin = find_value_start(text, end, option, element);
  if (!begin) return std::nullopt;
  const std::string_view value = read_value(text, *begin);
  const bool password = ending->kind == "password";
  if (value.size() < min_value || (is_number(value) && !password) || is_placeholder(value)) return std::nullopt;
  const bool environment = std::none_of(name.begin(), name.end(), is_lower);
  if (!environment && !is_quote(text[*begin]) && is_code(value)) return std::nullopt;
  if (!environment && ending->kind == "token" && !is_random(value)) return std::nullopt;
  const auto from = static_cast<std::size_t>(value.data() - text.data());
  return Secret{from, from + value.size(), ending->kind};
}

}  // namespace oomdoctor
