// The words of lexicon.txt: in which programs say that memory ran out, and what the words around a size make of it.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "parse/tokens.h"

namespace oomdoctor {

/// What a phrase means; the names in the file are these.
enum class Role {
  trigger,
  weak,
  memory,
  victim,
  device,
  host,
  shared,
  pool,
  asked,
  sized,  ///< the size of what other words may tell
  free,
  largest,
  used,
  allocated,
  reserved,
  unallocated,
  total,
  limit,
  difference,
  unreal,
  other,
  idle,
  handled,
  loud,
  calm,
};
inline constexpr std::size_t role_count = 25;

/// A phrase found among tokens [begin, end).
struct PhraseAt {
  std::size_t begin = 0, end = 0;
};

class Lexicon {
 public:
  /// Throws std::invalid_argument, with the line, where the text is none.
  explicit Lexicon(std::string_view text);

  /// Literal texts that lead to a statement, at least four bytes each, in any letter case.
  const std::vector<std::string>& anchors() const { return anchors_; }
  /// A phrase of this role that begins at token `at`.
  std::optional<PhraseAt> match(Role role, std::span<const Token> tokens, std::size_t at) const;
  /// The first one that begins in [from, to).
  std::optional<PhraseAt> find(Role role, std::span<const Token> tokens, std::size_t from, std::size_t to) const;

 private:
  struct Word {
    std::vector<std::string> parts;              ///< between the "*"
    bool open_front = false, open_back = false;  ///< a "*" there
    bool fits(std::string_view word) const;
  };
  /// One place of a phrase: any of the words, or a gap.
  struct Place {
    std::vector<Word> words;  ///< empty: a gap
    std::size_t gap = 0;      ///< words that it may bridge
  };
  using Phrase = std::vector<Place>;

  void add(Role role, std::string_view phrase);

  std::vector<std::string> anchors_;
  std::vector<std::vector<Phrase>> phrases_;  ///< by role
};

/// The shipped one.
const Lexicon& failure_lexicon();

/// Written by the build from lexicon.txt.
std::string_view shipped_lexicon();

}  // namespace oomdoctor
