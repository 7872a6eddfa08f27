#include "read/lexicon.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace oomdoctor {
namespace {

constexpr std::size_t short_gap = 4, long_gap = 40;  ///< max words between two parts of a phrase

constexpr std::array<std::string_view, role_count> role_names{
    "trigger", "vague",      "weak",   "memory",  "victim", "device",    "host",     "shared",      "pool",
    "asked",   "sized",      "free",   "largest", "used",   "allocated", "reserved", "unallocated", "total",
    "limit",   "difference", "unreal", "other",   "idle",   "handled",   "loud",     "calm"};

std::string_view without_blanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

/// Calls `part` for each piece of `text` between separators.
template <class Part>
void split(std::string_view text, char separator, Part part) {
  while (true) {
    const std::size_t at = text.find(separator);
    part(text.substr(0, at));
    if (at == text.npos) return;
    text.remove_prefix(at + 1);
  }
}

/// Marks that end a clause. A short gap never crosses them.
bool ends_clause(const Token& token) {
  return token.kind == Token::Kind::mark && std::string_view(".;:?!,{}").find(token.text[0]) != std::string_view::npos;
}

/// 0 to 25 for a word that begins with a small letter, 26 for every other one.
std::size_t letter_index(std::string_view word) {
  return !word.empty() && word[0] >= 'a' && word[0] <= 'z' ? static_cast<std::size_t>(word[0] - 'a') : 26;
}

}  // namespace

bool Lexicon::WordPattern::fits(std::string_view word) const {
  if (!open_front && !open_back && parts.size() == 1) return word == parts.front();  // most words
  if (!open_front && !word.starts_with(parts.front())) return false;
  if (!open_back && !word.ends_with(parts.back())) return false;
  std::size_t at = 0;
  for (const std::string& part : parts) {
    at = word.find(part, at);
    if (at == word.npos) return false;
    at += part.size();
  }
  return true;
}

Lexicon::Lexicon(std::string_view text) {
  int number = 0;
  split(text, '\n', [&](std::string_view line) {
    ++number;
    if (without_blanks(line).empty() || line[0] == '#') return;
    const std::size_t name_end = std::min(line.find(' '), line.size());
    const std::string_view name = line.substr(0, name_end), rest = line.substr(std::min(name_end + 1, line.size()));
    if (name == "anchor") {
      // Anchors are in quotes because they may contain blanks.
      int part = 0;
      split(rest, '"', [&](std::string_view literal) {
        if (part++ % 2 == 1) anchors_.emplace_back(literal);
      });
      return;
    }
    const auto role = std::find(role_names.begin(), role_names.end(), name);
    if (role == role_names.end())
      throw std::invalid_argument("lexicon, line " + std::to_string(number) + ": unknown role");
    split(rest, ',',
          [&](std::string_view phrase) { add(static_cast<Role>(role - role_names.begin()), without_blanks(phrase)); });
  });
}

void Lexicon::add(Role role, std::string_view text) {
  PhraseElements phrase;
  split(text, ' ', [&](std::string_view part) {
    if (part.empty()) return;
    PhraseElement& place = phrase.emplace_back();
    if (part.starts_with("...")) {
      place.gap = part == "..." ? short_gap : long_gap;
      return;
    }
    split(part, '|', [&](std::string_view word) {
      WordPattern& w = place.words.emplace_back();
      w.open_front = word.starts_with('*');
      w.open_back = word.size() > 1 && word.ends_with('*');
      split(word.substr(w.open_front ? 1 : 0, word.size() - (w.open_front ? 1 : 0) - (w.open_back ? 1 : 0)), '*',
            [&](std::string_view piece) { w.parts.emplace_back(piece); });
    });
  });
  if (phrase.empty() || phrase.front().words.empty() || phrase.back().words.empty())
    throw std::invalid_argument("lexicon: a phrase begins and ends with a word: " + std::string(text));
  std::array<bool, std::tuple_size_v<PhrasesByLetter>> begins{};
  for (const WordPattern& word : phrase.front().words)
    if (word.open_front)
      begins.fill(true);
    else
      begins[letter_index(word.parts.front())] = true;
  const auto shared = std::make_shared<const PhraseElements>(std::move(phrase));
  PhrasesByLetter& phrases = phrases_[static_cast<std::size_t>(role)];
  for (std::size_t i = 0; i < phrases.size(); ++i)
    if (begins[i]) phrases[i].push_back(shared);
}

/// The first phrase that fits wins. After a gap, the nearest word that fits is taken, without backtracking.
std::optional<PhraseAt> Lexicon::match(Role role, std::span<const Token> tokens, std::size_t at) const {
  const auto fits = [&](const PhraseElement& place, std::size_t i) {
    return i < tokens.size() && tokens[i].kind == Token::Kind::word &&
           std::any_of(place.words.begin(), place.words.end(),
                       [&](const WordPattern& w) { return w.fits(tokens[i].name); });
  };
  if (at >= tokens.size() || tokens[at].kind != Token::Kind::word) return std::nullopt;
  for (const auto& shared : phrases_[static_cast<std::size_t>(role)][letter_index(tokens[at].name)]) {
    const PhraseElements& phrase = *shared;
    std::size_t i = at;
    bool found = true;
    for (std::size_t k = 0; found && k < phrase.size(); ++k) {
      if (!phrase[k].words.empty()) {
        found = fits(phrase[k], i++);
        continue;
      }
      std::size_t bridged_words = 0;
      const auto bridged = [&](const Token& t) { return phrase[k].gap == short_gap ? !ends_clause(t) : !t.is(';'); };
      for (; !fits(phrase[k + 1], i) && i < tokens.size() && bridged(tokens[i]); ++i)
        if (tokens[i].kind == Token::Kind::word && ++bridged_words > phrase[k].gap) break;
      found = fits(phrase[k + 1], i);
    }
    if (found) return PhraseAt{at, i};
  }
  return std::nullopt;
}

std::optional<PhraseAt> Lexicon::find(Role role, std::span<const Token> tokens, std::size_t from,
                                      std::size_t to) const {
  for (std::size_t at = from; at < to && at < tokens.size(); ++at)
    if (const auto found = match(role, tokens, at); found && found->end <= std::max(to, at + 1)) return found;
  return std::nullopt;
}

const Lexicon& failure_lexicon() {
  static const Lexicon& lexicon = *new Lexicon(shipped_lexicon());
  return lexicon;
}

}  // namespace oomdoctor
