// The rules' texts with the numbers of this log: "of {oom.capacity} only {oom.free} was free". An unknown number is
// never printed as a blank: the sentence or the whole text is dropped.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/lazy.h"
#include "judge/expr.h"

namespace oomdoctor {

/// A placeholder is {expression} or {expression:format}. It begins with a small letter or "("; any other brace is plain
/// text, and "{{" is a brace before a small letter. Formats: "G" and "M" are whole gibi- and mebibytes, rounded up; "n"
/// is a whole number, ".1" and ".2" are decimals, "%" is a share. Without a format, a fact prints in its own unit.
///
/// A gap that the reader fills is <WORD>, printed as WORD: "sstat -j <JOB>".
///
/// A phrase is checked when it is loaded, and parsed again when it is first filled: a log needs only a few of the
/// rules' many phrases. It keeps that parse, because a survey fills the same phrases for each job. Any thread may fill
/// it.
class Phrase {
 public:
  /// A piece of plain text, or a placeholder.
  struct Piece {
    std::string text;  ///< plain text, or the format of a placeholder
    std::optional<Expr> expression;
  };
  using PhrasePieces = std::vector<Piece>;

  Phrase() = default;
  /// Throws ExprError. Its column counts from the start of the text.
  static Phrase parse(std::string_view text);

  /// Fills all placeholders; nullopt if one is unknown.
  std::optional<std::string> fill(const Facts& facts) const;
  /// Fills only the sentences with known placeholders; "" if there is none.
  std::string fill_sentences(const Facts& facts) const;

  /// The names of the facts in the sentences that fill_sentences() fills.
  std::vector<std::string> list_facts(const Facts& facts) const;

  /// Replaces the numbers with letters, for use without a log: "tensors fill X% of the GPU". It drops later sentences
  /// with words that come only from a log.
  std::string with_letters() const;

  /// Whether its code has a gap or "…": then nobody can paste it as it is.
  bool has_gap() const;

  const std::string& text() const { return text_; }
  bool empty() const { return text_.empty(); }

 private:
  template <typename Archive>
  friend void fields(Archive& archive, Phrase& phrase);

  const std::vector<PhrasePieces>& sentences() const;

  std::string text_;
  Lazy<std::vector<PhrasePieces>> sentences_;
};

/// The lines of code in a text, without their comments.
std::vector<std::string_view> list_code(std::string_view text);

}  // namespace oomdoctor
