// Texts of the rules with the numbers of this log filled in: "of {oom.capacity} only {oom.free} was free". A place that
// cannot be filled is never printed as a blank: the sentence, or the whole text, is dropped instead.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "judge/expr.h"

namespace oomdoctor {

/// A place is {expression} or {expression:format}: it begins with a small letter or "(", any other brace is plain text,
/// and
/// "{{" is a brace before a small letter. Formats: "G" and "M" are whole gibi- and mebibytes rounded up, "n" a whole
/// number, ".2" two decimals, "%" a share; without a format a fact speaks in its own unit.
class Phrase {
 public:
  Phrase() = default;
  /// Throws ExprError; its column counts from the start of the text.
  static Phrase parse(std::string_view text);

  /// nullopt when a place is unknown.
  std::optional<std::string> fill(const Facts& facts) const;
  /// Only the sentences whose places are all known; "" when there is none.
  std::string fill_sentences(const Facts& facts) const;

  const std::string& text() const { return text_; }
  bool empty() const { return text_.empty(); }
  std::vector<std::string> names() const;

 private:
  struct Piece {
    std::string text;  ///< plain text, or the format of a place
    std::optional<Expr> place;
  };
  using Sentence = std::vector<Piece>;

  std::string text_;
  std::vector<Sentence> sentences_;
};

}  // namespace oomdoctor
