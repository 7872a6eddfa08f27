#include "parse/tokens.h"

#include <algorithm>

#include "text/lines.h"

namespace oomdoctor {
namespace {

constexpr std::size_t max_tokens = 200;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

}  // namespace

std::vector<Token> tokens_of(std::string_view line, std::string_view lowered) {
  std::vector<Token> out;
  out.reserve(64);
  for (std::size_t i = 0; i < line.size() && out.size() < max_tokens;) {
    const std::size_t begin = i;
    Token t;
    if (is_letter(line[i])) {
      while (i < line.size() && (is_letter(line[i]) || is_digit(line[i]))) ++i;
      t.kind = Token::Kind::word;
    } else if (is_digit(line[i])) {
      if (auto n = read_number(line, i))
        t.kind = Token::Kind::number, t.number = *n;
      else
        ++i;
    } else if (line[i] == ' ' || line[i] == '\t') {
      ++i;
      continue;
    } else {
      ++i;
    }
    t.text = line.substr(begin, i - begin);
    t.name = lowered.substr(begin, i - begin);
    t.begin = begin;
    t.end = i;
    out.push_back(t);
  }
  return out;
}

std::string lower(std::string_view s) {
  std::string out(s);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

bool one_of(std::string_view word, std::initializer_list<std::string_view> list) {
  for (const std::string_view x : list)
    if (x.size() == word.size() && (x.empty() || x[0] == word[0]) && x == word) return true;
  return false;
}

std::optional<Unit> unit_of(std::string_view word, bool glued) {
  const std::string w = lower(word);
  if (w.size() == 1 && (!glued || !one_of(w, {"g", "m", "k", "b"}))) return std::nullopt;
  if (w == "gbs" || w == "mbs" || w == "t") return std::nullopt;
  const auto bytes = unit_bytes(w);
  if (!bytes) return std::nullopt;
  return Unit{static_cast<double>(*bytes), word, *bytes > 1 && w.find('i') == w.npos};
}

std::string_view without_log_head(std::string_view line, bool* by_time) {
  line.remove_prefix(std::min(peel_prefix(line).length, line.size()));
  const auto skip = [&] { line.remove_prefix(std::min(line.find_first_not_of(" \t-:|,"), line.size())); };
  for (int i = 0; i < 6; ++i) {
    skip();
    if (line.starts_with('[')) {
      const std::size_t close = line.substr(0, 80).find(']');
      const std::string inside = lower(line.substr(0, close));
      if (close == line.npos || inside.find("step") != inside.npos || inside.find("epoch") != inside.npos ||
          inside.find("iter") != inside.npos || (inside.find('/') != inside.npos && inside.find(':') == inside.npos))
        break;
      line.remove_prefix(close + 1);
    } else if (has_form_of_time(line)) {
      if (by_time != nullptr) *by_time = true;
      const auto time = read_time(line);
      if (!time) break;
      line.remove_prefix(time->length);
    } else {
      break;
    }
  }
  const std::size_t level = line.substr(0, 80).find("INFO");
  if (level == line.npos) return line;
  const std::size_t dash = line.substr(level, 80).find(" - ");
  line.remove_prefix(level + (dash == line.npos ? 4 : dash + 3));
  skip();
  return line;
}

}  // namespace oomdoctor
