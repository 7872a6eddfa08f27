#include "parse/rank_in_path.h"

#include <charconv>
#include <string>
#include <vector>

namespace oomdoctor {
namespace {

constexpr std::size_t most_digits = 6;  ///< more is a date or a job's number

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// A run of letters (in lower case) or digits of one component of a path, and what stands between it and the next one.
struct Token {
  std::string text, gap;
  bool number = false;
};

std::vector<Token> tokens_in(std::string_view component) {
  std::vector<Token> tokens;
  for (std::size_t at = 0; at < component.size();) {
    const auto same = is_digit(component[at]) ? is_digit : is_letter;
    if (!same(component[at])) {
      if (!tokens.empty()) tokens.back().gap += component[at];
      ++at;
      continue;
    }
    Token token;
    token.number = is_digit(component[at]);
    for (; at < component.size() && same(component[at]); ++at)
      token.text += token.number ? component[at] : static_cast<char>(component[at] | 0x20);
    tokens.push_back(std::move(token));
  }
  return tokens;
}

std::optional<int> number_in(std::string_view digits) {
  int value = 0;
  if (digits.size() > most_digits) return std::nullopt;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return error == std::errc{} && end == digits.data() + digits.size() ? std::optional(value) : std::nullopt;
}

/// A word and its numbers in one component. Two different ones are as good as none.
struct Said {
  bool any = false;
  std::optional<int> number;
};

bool counts_something_else(const Token& before) {
  return before.text == "node" || before.text == "local" || before.text == "group" || before.text == "machine" ||
         before.text == "host";
}

Said said_by(const std::vector<Token>& tokens, std::string_view word) {
  Said said;
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    const Token& number = tokens[i + 1];
    if (tokens[i].text != word || !number.number || tokens[i].gap.size() > 1) continue;
    if (i > 0 && !tokens[i - 1].number && counts_something_else(tokens[i - 1])) continue;
    const bool range = number.gap == "-" && i + 2 < tokens.size() && tokens[i + 2].number;
    const auto value = range ? std::nullopt : number_in(number.text);
    if (said.any && said.number != value) return {true, std::nullopt};
    said = {true, value};
  }
  return said;
}

std::vector<std::string_view> components_of(std::string_view path) {
  std::vector<std::string_view> out;
  while (true) {
    const auto slash = path.find('/');
    out.push_back(path.substr(0, slash));
    if (slash == path.npos) return out;
    path.remove_prefix(slash + 1);
  }
}

/// The agent of torchrun writes attempt_N/RANK/stdout.log.
std::optional<int> elastic_rank(const std::vector<std::string_view>& components) {
  if (components.size() < 3) return std::nullopt;
  const std::string_view file = components.back(), attempt = components[components.size() - 3];
  if (!file.starts_with("stdout") && !file.starts_with("stderr") && !file.starts_with("error")) return std::nullopt;
  return attempt.starts_with("attempt_") ? number_in(components[components.size() - 2]) : std::nullopt;
}

}  // namespace

std::optional<int> rank_in_path(std::string_view path) {
  const auto components = components_of(path);
  for (const std::string_view word : {"rank", "globalrank"})
    for (auto component = components.rbegin(); component != components.rend(); ++component)
      if (const Said said = said_by(tokens_in(*component), word); said.any) return said.number;
  if (const auto rank = elastic_rank(components)) return rank;
  for (auto component = components.rbegin(); component != components.rend(); ++component)
    if (const Said said = said_by(tokens_in(*component), "worker"); said.any) return said.number;
  return std::nullopt;
}

}  // namespace oomdoctor
