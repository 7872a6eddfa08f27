// A name ends where its run of letters, digits, "_", "-" and "." ends. Then follows one of the notations of shells,
// programs, JSON, YAML, headers and URLs, and the value. A notation that prose has as well, demands more of the value.
#include "redact/secret_values.h"

#include <algorithm>

#include "base/ascii.h"
#include "redact/secret_names.h"
#include "redact/value_forms.h"

namespace oomdoctor {
namespace {

constexpr std::size_t max_name = 400, min_value = 6, max_value = 4000;

/// Where a value begins, and what its notation demands of it.
struct ValueStart {
  std::size_t at;
  Demand demand = Demand::any;
};

std::size_t skip_blanks(std::string_view text, std::size_t at) {
  while (at < text.size() && is_blank(text[at])) ++at;
  return at;
}

bool is_quote(char c) { return c == '"' || c == '\'' || c == '`'; }

/// The size of a quotation mark at byte `at`, with the backslashes before it, or as HTML and URLs write it; 0 if there
/// is none.
std::size_t quote_size(std::string_view text, std::size_t at) {
  constexpr std::size_t max_escapes = 7;  // a text in a text in a text
  const std::string_view rest = text.substr(std::min(at, text.size()));
  for (const std::string_view written : {"&quot;", "&#34;", "&#39;", "%22", "%27"})
    if (rest.starts_with(written)) return written.size();
  std::size_t escapes = 0;
  while (escapes < max_escapes && escapes < rest.size() && rest[escapes] == '\\') ++escapes;
  const bool pairs = ((escapes + 1) & escapes) != 0;  // a mark has 0, 1, 3 or 7; others end with an escaped backslash
  return !pairs && escapes < rest.size() && is_quote(rest[escapes]) ? escapes + 1 : 0;
}

/// The size of the sign between a name and its value; 0 if there is none. "::" is a sign only before a blank, as in
/// LDIF.
std::size_t sign_size(std::string_view text, std::size_t at) {
  const std::string_view rest = text.substr(std::min(at, text.size()));
  for (const std::string_view sign : {"===", "==", "=>", ":=", "->", ":: ", "%3D", "%3d", "%3A", "%3a"})
    if (rest.starts_with(sign)) return sign.size();
  if (rest.starts_with("::")) return 0;
  return rest.starts_with('=') || rest.starts_with(':') ? 1 : 0;
}

/// Skips a string's prefix (b"…", u'…'), a tag of YAML, and the bracket of a list of strings.
std::size_t skip_prefix(std::string_view text, std::size_t at) {
  if (text.substr(at).starts_with("!!str ")) at = skip_blanks(text, at + 6);
  if (at < text.size() && (text[at] == '[' || text[at] == '(') && quote_size(text, at + 1) > 0) ++at;
  std::size_t end = at;
  while (end < text.size() && end - at < 2 && std::string_view("bBuUrRfF").find(text[end]) != std::string_view::npos)
    ++end;
  return end > at && end < text.size() && is_quote(text[end]) ? end : at;
}

/// The start of a value after its sign. A wrapped value, SecretStr("…"), may be a name: get_secret("name").
ValueStart value_start(std::string_view text, std::size_t at) {
  constexpr std::size_t max_function = 40;
  at = skip_prefix(text, skip_blanks(text, at));
  std::size_t end = at;
  while (end < text.size() && end - at < max_function && (is_dotted_name_char(text[end]) || text[end] == ':')) ++end;
  if (end == at || end >= text.size()) return {at};
  if (text[end] == '(')
    if (const std::size_t inner = skip_prefix(text, end + 1); quote_size(text, inner) > 0)
      return {inner, Demand::unlike_word};
  // A declaration: "key: str = …".
  for (const std::string_view type : {"str", "string", "String", "bytes", "Optional[str]", "SecretStr"})
    if (text.substr(at).starts_with(type))
      if (const std::size_t sign = skip_blanks(text, at + type.size()); sign < text.size() && text[sign] == '=')
        return {skip_prefix(text, skip_blanks(text, sign + 1))};
  return {at};
}

/// The start of the value in a pair of fields: {"name": "API_KEY", "value": "…"}, <add key="ApiKey" value="…"/>, or of
/// elements: <name>api_key</name><value>…</value>.
std::optional<ValueStart> paired_start(std::string_view text, std::size_t at) {
  constexpr std::size_t max_gap = 40;
  constexpr std::string_view element = "</name>", value = "<value>";
  if (text.substr(at).starts_with(element)) {
    at += element.size();
    while (at < text.size() && is_blank_or_line_end(text[at])) ++at;
    return text.substr(at).starts_with(value) ? std::optional(ValueStart{at + value.size()}) : std::nullopt;
  }
  const std::size_t begin = at;
  const auto is_gap = [](char c) { return is_blank_or_line_end(c) || c == ','; };
  while (at < text.size() && at - begin < max_gap && is_gap(text[at])) ++at;
  if (at == begin) return std::nullopt;
  at += quote_size(text, at);
  if (lower(text.substr(std::min(at, text.size()), 5)) != "value") return std::nullopt;
  at += 5;
  at = skip_blanks(text, at + quote_size(text, at));
  const std::size_t sign = sign_size(text, at);
  return sign > 0 ? std::optional(value_start(text, at + sign)) : std::nullopt;
}

/// What precedes a name.
struct Before {
  NamePlace place = NamePlace::text;
  bool element = false;   ///< <password>
  bool setter = false;    ///< setenv NAME value
  std::string_view word;  ///< over one blank; "" if there is none
};

Before read_before(std::string_view text, std::size_t at) {
  constexpr std::size_t max_word = 20;
  Before before;
  if (at == 0) return before;
  const char c = text[at - 1];
  before.element = c == '<';
  if (c == '?' || c == '&') before.place = NamePlace::parameter;
  if (c == '-' && (at < 2 || text[at - 2] == '-' || !is_word_char(text[at - 2]))) before.place = NamePlace::option;
  if (!is_blank(c)) return before;
  std::size_t begin = at - 1;
  while (begin > 0 && at - begin < max_word && is_word_char(text[begin - 1])) --begin;
  before.word = text.substr(begin, at - 1 - begin);
  const bool fish = before.word == "x" || before.word == "gx";  // set -x NAME value
  before.setter = before.word == "setenv" || before.word == "ENV" || (fish && begin > 0 && text[begin - 1] == '-');
  return before;
}

/// The start of the value after a name that ends at byte `at`.
std::optional<ValueStart> find_value_start(std::string_view text, std::size_t at, const Before& before) {
  if (at >= text.size()) return std::nullopt;
  if (before.element && text[at] == '>') return ValueStart{at + 1};
  const std::size_t closing = quote_size(text, at);
  std::size_t after = at + closing;
  if (closing > 0 && after < text.size() && text[after] == ']') ++after;  // environ["NAME"] = …
  const std::size_t next = skip_blanks(text, after);
  if (const std::size_t sign = sign_size(text, next); sign > 0) return value_start(text, next + sign);
  if (const auto paired = paired_start(text, at + closing)) return paired;
  if (next >= text.size()) return std::nullopt;
  const bool call = closing == 0 && text[at] == '(';
  if (call || (closing > 0 && text[next] == ',')) {  // set_token("…"), ("token", "…")
    const std::size_t value = skip_prefix(text, skip_blanks(text, (call ? at : next) + 1));
    return quote_size(text, value) > 0 ? std::optional(ValueStart{value, Demand::unlike_word}) : std::nullopt;
  }
  if (next == after) return std::nullopt;
  const bool another_option = text.substr(next).starts_with("--");
  if ((before.place == NamePlace::option && !another_option) || before.setter || quote_size(text, next) > 0)
    return ValueStart{next};
  const std::size_t cell = text[next] == '|' ? skip_blanks(text, next + 1) : next;  // of a table
  return ValueStart{cell, Demand::opaque};
}

/// The characters that end a value without quotation marks, in shells, URLs, JSON and Python.
bool ends_value(char c) { return is_space(c) || std::string_view("\"'`,;&<>").find(c) != std::string_view::npos; }

/// Whether the closing bracket at byte `at` belongs to what surrounds the value: nothing of the value follows.
bool closes_structure(std::string_view text, std::size_t at) {
  if (std::string_view(")]}").find(text[at]) == std::string_view::npos) return false;
  if (at + 1 >= text.size()) return true;
  const char next = text[at + 1];
  return ends_value(next) || std::string_view(")]}.:\\").find(next) != std::string_view::npos;
}

/// Whether a backslash at byte `at` begins an escape of the text around the value.
bool begins_escape(std::string_view text, std::size_t at) {
  if (text[at] != '\\') return false;
  if (at + 1 >= text.size()) return true;
  const char next = text[at + 1];
  return next == 'n' || next == 'r' || next == 't' || is_quote(next) || is_blank_or_line_end(next);
}

std::string_view bare_value(std::string_view text, std::size_t at) {
  std::size_t end = at;
  const std::size_t limit = std::min(text.size(), at + max_value);
  for (; end < limit; ++end) {
    const char c = text[end];
    if (is_word_char(c)) continue;  // most characters
    if (ends_value(c) || closes_structure(text, end) || begins_escape(text, end)) break;
    if (c == '%' && text.substr(end).starts_with("%22")) break;
    if (c == '\\' && end + 1 < limit && text[end + 1] == c) ++end;
  }
  return text.substr(at, std::min(end, text.size()) - at);
}

/// Whether a quotation mark after `backslashes` ends a text whose own marks have `escapes` of them, or a text around
/// it.
bool ends_quoted(std::size_t backslashes, std::size_t escapes) {
  for (; escapes > 0; escapes /= 2, backslashes /= 2)
    if (backslashes % 2 == 0) return true;
  return backslashes % 2 == 0;
}

/// The value up to the quotation mark that began it. `in_string`: the value is in a text between other marks ("), which
/// end it as well.
std::string_view quoted_value(std::string_view text, std::size_t begin, char quote, std::size_t escapes,
                              bool in_string) {
  std::size_t end = begin, backslashes = 0;  // the backslashes directly before `end`
  for (; end < text.size() && end - begin < max_value && !ends_line(text[end]); ++end) {
    const char c = text[end];
    const bool outer = in_string && escapes == 0 && quote != '"';
    if (outer && backslashes % 2 == 1 && (c == 'n' || c == 'r' || c == '"')) return text.substr(begin, end - 1 - begin);
    if (outer && c == '"') break;
    if (c == quote && ends_quoted(backslashes, escapes))
      return text.substr(begin, end - begin - (escapes == 0 ? 0 : backslashes));
    backslashes = c == '\\' ? backslashes + 1 : 0;
  }
  // Without an end mark, a backslash at the end may escape what follows.
  return text.substr(begin, end - begin - std::min(backslashes, end - begin));
}

std::string_view read_value(std::string_view text, std::size_t at, bool in_string) {
  const std::size_t mark = quote_size(text, at);
  if (mark == 0) return bare_value(text, at);
  const char quote = text[at + mark - 1];
  if (mark == 1 && in_string && ends_string(text, at)) return {};  // of the text that contains the name
  if (!is_quote(quote)) return bare_value(text, at + mark);        // &quot;
  const bool triple = text.substr(at, 3) == std::string(3, quote);
  return quoted_value(text, at + (triple ? 3 : mark), quote, mark - 1, in_string);
}

bool meets(std::string_view value, Demand demand) {
  switch (demand) {
    case Demand::any:
      return true;
    case Demand::unlike_word:
      return is_unlike_word(value);
    case Demand::opaque:
      return is_opaque(value);
  }
  return false;
}

/// A bare number stays where its name is quoted: JSON cannot contain a replacement there.
bool is_secret(std::string_view value, const SecretName& name, Demand demand, bool quoted, bool quoted_name) {
  const bool password = name.kind == "password";
  if (value.size() < min_value || is_placeholder(value)) return false;
  if (is_number(value) && (!password || (quoted_name && !quoted))) return false;
  if (!quoted && is_code(value)) return false;
  if (!password && is_path(value)) return false;
  return meets(value, std::max(name.demand, demand));
}

/// Java's options for properties have a D before the name: -Dapi_key=….
std::optional<SecretName> read_name(std::string_view name, const Before& before) {
  if (before.place == NamePlace::option && name.starts_with('D'))
    if (const auto property = read_secret_name(name.substr(1), before.word, before.place)) return property;
  return read_secret_name(name, before.word, before.place);
}

}  // namespace

bool ends_string(std::string_view text, std::size_t at) {
  if (text[at] != '"' || at + 1 >= text.size()) return text[at] == '"';
  return is_space(text[at + 1]) || std::string_view(",:}]").find(text[at + 1]) != std::string_view::npos;
}

bool is_in_string(std::string_view text, std::size_t from, std::size_t at, bool in_string) {
  for (; from < at; ++from) {
    if (text[from] == '\\')
      ++from;
    else if (text[from] == '"')
      in_string = !in_string;
  }
  return in_string;
}

std::string_view within_structure(std::string_view text, std::size_t begin, std::size_t end, bool in_string,
                                  bool has_escapes) {
  std::size_t backslashes = 0, at = begin;
  for (; at < end; ++at) {
    if (in_string && text[at] == '"' && backslashes % 2 == 0) break;
    if (!has_escapes && (begins_escape(text, at) || closes_structure(text, at))) break;
    backslashes = text[at] == '\\' ? backslashes + 1 : 0;
  }
  if (at < text.size()) at -= std::min(backslashes, at - begin);  // they may escape what follows
  return text.substr(begin, at - begin);
}

bool begins_name(std::string_view text, std::size_t at) {
  if (!is_word_char(text[at])) return false;
  if (at == 0) return true;
  if (is_word_char(text[at - 1])) return false;
  return (text[at - 1] != '-' && text[at - 1] != '.') || at == 1 || !is_word_char(text[at - 2]);
}

std::optional<Secret> secret_value(std::string_view text, std::size_t at, bool in_string) {
  std::size_t end = at;
  while (end < text.size() && end - at < max_name && (is_dashed_name_char(text[end]) || text[end] == '.')) ++end;
  while (end > at && !is_word_char(text[end - 1])) --end;
  const std::string_view name = text.substr(at, end - at);
  const Before before = read_before(text, at);
  const auto read = read_name(name, before);
  if (!read || (read->only_called && (end >= text.size() || text[end] != '('))) return std::nullopt;
  const auto start = find_value_start(text, end, before);
  if (!start || start->at >= text.size()) return std::nullopt;
  const std::string_view value = read_value(text, start->at, is_in_string(text, at, start->at, in_string));
  const bool quoted = quote_size(text, start->at) > 0, quoted_name = quote_size(text, end) > 0;
  // The shell's variables PWD and OLDPWD are folders.
  const bool folder = lower(name).ends_with("pwd") && is_path(value);
  const bool variable = !quoted && value == name;  // connect(password=password)
  if (value.empty() || folder || variable || !is_secret(value, *read, start->demand, quoted, quoted_name))
    return std::nullopt;
  const auto from = static_cast<std::size_t>(value.data() - text.data());
  return Secret{from, from + value.size(), read->kind};
}

}  // namespace oomdoctor
