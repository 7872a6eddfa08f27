// The words of lexicon.txt: phrases that report an out-of-memory failure, and words that give a size its role.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "read/tokens.h"

namespace oomdoctor {

/// The role of a phrase. The names are those in the file, in the same order.
enum class Role {
  trigger,
  vague,
  weak,
  memory,
  victim,
  device,
  host,
  shared,
  pool,
  asked,
  sized,  ///< a size whose role other words decide
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
inline constexpr std::size_t role_count = 26;

/// A phrase in tokens [begin, end).
struct PhraseAt {
  std::size_t begin = 0, end = 0;
};

/// A parsed lexicon. Immutable.
class Lexicon {
 public:
  /// Throws std::invalid_argument if the text is invalid; for an unknown role with the line number.
  explicit Lexicon(std::string_view text);

  /// Literals that select candidate lines, in any letter case; each has at least four bytes.
  const std::vector<std::string>& anchors() const { return anchors_; }
  /// A phrase of this role that begins at token `at`; nullopt if there is none.
  std::optional<PhraseAt> match(Role role, std::span<const Token> tokens, std::size_t at) const;
  /// The first phrase of this role that begins and ends in [from, to).
  std::optional<PhraseAt> find(Role role, std::span<const Token> tokens, std::size_t from, std::size_t to) const;

 private:
  struct WordPattern {
    std::vector<std::string> parts;              ///< the literals between the "*"
    bool open_front = false, open_back = false;  ///< begins or ends with "*"
    bool fits(std::string_view word) const;
  };
  /// One element of a phrase: alternative words, or a gap.
  struct PhraseElement {
    std::vector<WordPattern> words;  ///< empty for a gap
    std::size_t gap = 0;             ///< max words in the gap
  };
  using PhraseElements = std::vector<PhraseElement>;
  /// The phrases of a role that a word may begin, in their order: by its first letter, then those of all other words.
  using PhrasesByLetter = std::array<std::vector<std::shared_ptr<const PhraseElements>>, 27>;

  void add(Role role, std::string_view phrase);

  std::vector<std::string> anchors_;
  std::array<PhrasesByLetter, role_count> phrases_;
};

/// The lexicon of the program. Never freed.
const Lexicon& failure_lexicon();

/// The text of lexicon.txt, embedded by the build.
std::string_view shipped_lexicon();

}  // namespace oomdoctor
